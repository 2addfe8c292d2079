import type { Arms, Fields, LocalClient, ShuffleClient } from "./index.js";

type Client = LocalClient | ShuffleClient;

/** The device's own limit on its reports in a week. */
export class TooManyReports extends Error {}

/** The device's own limit on all that it ever tells. */
export class LifetimeSpent extends TooManyReports {}

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

/** So many reports, or displayed arms, of the same cost each. */
export interface Entry {
  server: string;
  what: "report" | "display";
  batch: string | null;
  epsilon: number;
  delta: number;
  count: number;
}

/** The most that a device ever tells. */
export interface Lifetime {
  epsilon: number;
  delta: number;
}

/** What this device has told in its life: epsilon and delta are added up. */
export interface Spent extends Lifetime {
  entries: Entry[];
}

/** For the person: what left, what that adds up to, and what is left. */
export interface Account {
  /** That left or will leave, in the device's life. */
  reports: number;
  /** Of them: not acknowledged, or not made. */
  waiting: number;
  spent: Spent;
  lifetime: Lifetime;
  /** What may still be told. */
  left: Lifetime;
  floor: number;
  /** How often somebody who sees all of it is right about something that was as likely as not. */
  certainty: number;
  /** All of it in words. */
  lines: string[];
}

/** Where all outboxes of a device keep what they keep. work changes all records without waiting for anything, and nothing
 * else changes them meanwhile; once the promise is fulfilled they are on the disc; if work throws, nothing is changed.
 * Keys are texts, values are JSON. */
export interface Storage {
  change<Out>(work: (records: Map<string, unknown>) => Out): Promise<Out>;
}

/** One report for every choice, at a public deadline plus jitter, kept until it is acknowledged or a week is over. */
export class Outbox {
  constructor(options: {
    open: (billboard: Uint8Array) => Client | Promise<Client>;
    /** true: taken; false: refused for good; a rejected promise: later again. */
    send: (report: Uint8Array) => Promise<boolean>;
    wait: number;
    jitter: number;
    weekly: number;
    /** The most that this device ever tells, to all servers together; what is not given is 0. */
    lifetime: Partial<Lifetime>;
    /** The probability with which a choice is a uniformly drawn arm. */
    floor?: number;
    /** Whether this program runs by itself. If not, a report leaves in the first visit (one page) after its time. */
    resident?: boolean;
    /** IndexedDB by default; elsewhere, as in Node, the application's own. */
    storage?: Storage;
    /** Of the server, in the ledger. */
    name?: string;
  });
  /** Throws TooManyReports, LifetimeSpent or BadBillboard: then nothing is sent. */
  choose(billboard: Uint8Array, arms: Arms | Fields, actions?: string[] | Record<string, Fields>): Promise<Ticket>;
  reward(id: string, reward: number): Promise<void>;
  /** Once in a visit, when it begins; a resident program calls it by a timer. */
  flush(): Promise<void>;
  shown(): Promise<Shown[]>;
  spent(): Promise<Spent>;
  account(): Promise<Account>;
  /** Deletes all choices and reports; what was told stays in the ledger. */
  forget(): Promise<void>;
}

/** A billboard by fetch, past all caches. */
export function get(url: string): Promise<Uint8Array>;

/** All that could be displayed, fetched ahead, for everybody the same: {name: url} to {name: an address in the page}. */
export function prefetch(urls: Record<string, string>): Promise<Record<string, string>>;

/** A `send` for Outbox by fetch. */
export function post(url: string): (report: Uint8Array) => Promise<boolean>;

/** A `send` for Outbox that seals each report to its batch's key, which the shuffler of the pinned identity (32 bytes)
 * has signed and the relay passes on at `url`; `send` takes what is sealed. */
export function sealing(
  identity: Uint8Array,
  url: string,
  send: (sealed: Uint8Array) => Promise<boolean>,
): (report: Uint8Array) => Promise<boolean>;
