import type { Schema } from "./features.js";

/** Rows of numbers of norm at most 1: a list, or by name. */
export type Arms = ArrayLike<number>[] | Record<string, ArrayLike<number>>;
export type Fields = Record<string, unknown>;

/** A public document that a device does not act by: damaged, hostile, or with less protection than it claims. */
export class BadBillboard extends Error {}

/** What was chosen for one person. It holds raw data and stays on the device. */
export interface Choice {
  readonly index: number;
  readonly name: string | null;
  /** Whether there is a report of it: of a person's choices in one shuffled batch, the first. */
  readonly reported: boolean;
  /** The epsilon of what is displayed, where a floor was asked for. */
  readonly displayed: number | null;
}

/** What the report of a choice costs the person, as the device has worked it out or checked it. */
export interface Cost {
  readonly epsilon: number;
  readonly delta: number;
}

interface Device {
  readonly dim: number;
  readonly rewards: [number, number];
  readonly cost: Cost;
  /** The number of the batch that reports go to; null where each is private by itself. */
  readonly batch: string | null;
  /** The arm for this person. With a schema: the person's fields, and the actions as Schema.rows takes them. floor: the
   * probability with which an arm is drawn uniformly, so that what is displayed is private by itself. */
  choose(arms: Arms | Fields, actions?: string[] | Record<string, Fields>, floor?: number): Choice;
  /** The report of a choice, the same bytes however often it is asked for; null: no reward came. */
  randomize(choice: Choice, reward: number | null): Uint8Array;
}

/** Other options are refused. */
export interface Own {
  /** The application's range of rewards: a billboard with another one is refused. */
  rewards?: [number, number];
  /** The application's schema: a billboard for another one is refused. */
  features?: Schema;
}

/** The device of the local model. Throws BadBillboard. */
export class LocalClient implements Device {
  constructor(
    billboard: Uint8Array,
    options?: Own & {
      epsilon?: number;
      delta?: number;
      /** Whether arms may be sent in the clear. */ publicArms?: boolean;
    },
  );
  readonly dim: number;
  readonly rewards: [number, number];
  readonly cost: Cost;
  readonly batch: string | null;
  /** What a report protects: "replace" (arms and reward), or "replace rewards" (arms are sent as they are). */
  readonly relation: string;
  choose(arms: Arms | Fields, actions?: string[] | Record<string, Fields>, floor?: number): Choice;
  randomize(choice: Choice, reward: number | null): Uint8Array;
}

/** The device of the shuffle model. Throws BadBillboard. */
export class ShuffleClient implements Device {
  constructor(
    billboard: Uint8Array,
    options?: Own & ({ /** Its own limits. */ epsilon: number; delta: number } | { epsilon?: never; delta?: never }),
  );
  readonly dim: number;
  readonly rewards: [number, number];
  readonly cost: Cost;
  readonly batch: string | null;
  /** What a report protects: "replace" (arms and reward), or "replace rewards" (arms are sent as they are). */
  readonly relation: string;
  choose(arms: Arms | Fields, actions?: string[] | Record<string, Fields>, floor?: number): Choice;
  randomize(choice: Choice, reward: number | null): Uint8Array;
}
