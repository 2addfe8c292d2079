import type { Fields } from "./index.js";

/** strict: not on devices, where a choice that fails would tell without noise. */
export type Column = { weight?: number; strict?: false } & (
  | { kind: "Number"; low: number; high: number; bins?: number }
  | { kind: "Category" | "Tags"; values: string[] }
  | { kind: "Hashed"; slots: number; salt?: string }
);

/** What Schema.to_dict() of Python writes. */
export interface Settings {
  context?: Record<string, Column>;
  action?: Record<string, Column>;
  arms?: "shared" | "disjoint";
  actions?: string[];
  cross?: [string, string][];
  public?: string;
}

/** The same as TypeScript reads it from a JSON file, where texts are any and pairs are lists. */
export interface Document {
  context?: Record<string, { kind: string }>;
  action?: Record<string, { kind: string }>;
  arms?: string;
  actions?: string[];
  cross?: string[][];
  public?: string;
}

/** From raw fields to vectors of norm at most 1, by the application's public bounds. */
export class Schema {
  constructor(settings: Settings | Document);
  readonly dim: number;
  readonly digest: string;
  rows(context: Fields, actions?: string[] | Record<string, Fields>): { names: string[]; rows: number[][] };
}
