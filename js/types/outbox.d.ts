import type { Arms, Fields, LocalClient, ShuffleClient } from "./index.js";

/** The device's own limit on its reports in a week. */
export class TooManyReports extends Error {}

/** Milliseconds of a week. */
export const WEEK: number;

export interface Ticket {
  id: string;
  index: number;
  name: string | null;
  /** Whether there is a report of it: of the choices in one shuffled batch, the first. */
  reported: boolean;
}

/** One reported choice of the last week; times in milliseconds. */
export interface Shown {
  at: number;
  due: number;
  sent: number | null;
  /** null: not yet acknowledged; false: refused for good. */
  taken: boolean | null;
  /** The bytes that were or will be sent; null before the report is made. */
  report: Uint8Array | null;
}

/** One report for every choice, at a public deadline plus jitter, kept until it is acknowledged. */
export class Outbox {
  constructor(options: {
    open: (billboard: Uint8Array) => LocalClient | ShuffleClient;
    /** true: taken; false: refused for good; a rejected promise: later again. */
    send: (report: Uint8Array) => Promise<boolean>;
    wait: number;
    jitter: number;
    weekly: number;
    /** localStorage by default; elsewhere, as in Node, the application's own. */
    storage?: { getItem(name: string): string | null; setItem(name: string, text: string): void };
    name?: string;
  });
  /** Throws TooManyReports or BadBillboard: then nothing is sent. */
  choose(billboard: Uint8Array, arms: Arms | Fields, actions?: string[] | Record<string, Fields>): Promise<Ticket>;
  reward(id: string, reward: number): Promise<void>;
  flush(): Promise<void>;
  shown(): Promise<Shown[]>;
}

/** A `send` for Outbox by fetch. */
export function post(url: string): (report: Uint8Array) => Promise<boolean>;

/** A `send` for Outbox that seals each report to its batch's key, which the shuffler of the pinned identity (65 bytes)
 * has signed and the relay passes on at `url`; `send` takes what is sealed. */
export function sealing(
  identity: Uint8Array,
  url: string,
  send: (sealed: Uint8Array) => Promise<boolean>,
): (report: Uint8Array) => Promise<boolean>;
