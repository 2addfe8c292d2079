// Reports in the world. Whether and when a report leaves must tell nothing of the reward: every choice sends exactly
// one, at a public deadline plus a jitter that is drawn when the choice is made, whether or not a reward came, in the
// first visit that begins after that: whoever clicks leaves the page. The finished report is on the disc before its
// first byte leaves, and only those bytes are ever sent, until they are acknowledged or a week is over. The sum of a
// shuffled batch is private for one choice of a person: the first one is reported, whatever comes of it, and no other,
// so the batches that were answered are kept.
export { LifetimeSpent, TooManyReports } from "./ledger.js";
export { sealing } from "./sealed.js";
import { accountOf } from "./account.js";
import { hex, joined, utf8 } from "./bytes.js";
import { TooManyReports, charged, composed, refunded } from "./ledger.js";
import { quiet } from "./quiet.js";
import { octets, uniforms } from "./random.js";
import { hmac, sha256 } from "./sha256.js";
import { indexed } from "./storage.js";

export const WEEK = 7 * 86400e3; // milliseconds, as all times here
const LABEL = utf8("reticent report id 1");

const unhex = (text) => Uint8Array.from(text.match(/../g), (two) => parseInt(two, 16));
const unsent = (one) => one.report && one.taken === null;
const entryOf = ({ server, batch, cost }) => ({ server, what: "report", batch, ...cost });
const choicesIn = (kept) => [...kept].filter(([key]) => key.startsWith("choice "));
/** Of a choice by a billboard of this digest: a function of these and the device's key, so that a report which is made
 * again has it again, and that nobody else can choose, guess or link to another server. */
const reportIdOf = (key, board, choice) => hmac(key, joined(LABEL, board, choice)).slice(0, 16);
const drop = (kept, key) => {
  if (kept.get(key).x) kept.set("ledger", refunded(kept.get("ledger"), entryOf(kept.get(key)))); // never made
  kept.delete(key);
};

/** The choices of one device and their reports to one server. options:
 * open: the application's function from a billboard's bytes to a client, with its own limits;
 * send: from a report's bytes to a promise: true if it was taken, false if it never will be; if it fails, later again;
 * wait: from a choice to its deadline; jitter: at most so much later the report leaves;
 * weekly: the most reports in a week; lifetime: {epsilon, delta}, the most that this device ever tells, of all servers
 * together, 0 where it is not given: both whatever a server asks, and asked before the choice;
 * resident: whether this program runs by itself, whatever the person does (a service worker that the browser wakes, a
 * service). If not, a visit is one page, or one run of a program, and a report is made in the first visit that begins
 * after its time, and sent once by each Outbox;
 * floor: with this probability a choice is a uniformly drawn arm, at a cost that is counted (Device.choose);
 * name: of the server, in the ledger; storage: where all outboxes of the device keep what they keep, with change(work)
 * as `indexed` has it, which is the default. */
export class Outbox {
  constructor({
    open,
    send,
    wait,
    jitter,
    weekly,
    lifetime,
    floor = 0,
    resident = false,
    storage,
    name = "reticent",
    ...others
  }) {
    if (Object.keys(others).length) throw new TypeError("Expected options of an outbox, got others.");
    if (!(wait > 0 && jitter > 0 && weekly > 0))
      throw new TypeError("Expected wait, jitter and weekly above 0, got others.");
    const limit = { epsilon: 0, delta: 0, ...lifetime };
    if (!(lifetime && Object.keys(limit).length === 2 && Object.values(limit).every((v) => v >= 0) && limit.delta < 1))
      throw new TypeError("Expected lifetime with epsilon of at least 0 and delta in [0, 1), got another.");
    if (!storage && !globalThis.indexedDB)
      throw new TypeError("Expected IndexedDB or storage with change, got neither.");
    if (!storage) globalThis.localStorage?.removeItem(name); // raw data of release 0.6.0, which may have left already
    Object.assign(this, { open, send, wait, jitter, weekly, lifetime: limit, floor, name });
    // a page that makes another Outbox on each route is one visit still
    this.visit = resident ? null : Math.min(Date.now(), globalThis.performance?.timeOrigin ?? Infinity);
    this.storage = storage ?? indexed("reticent");
  }

  /** Choose by a billboard: {id, index, name, reported}. What is needed for the report is on the disc before it is
   * returned. */
  async choose(billboard, arms, options) {
    const client = await this.open(billboard);
    const [at, server, digest] = [Date.now(), this.name, sha256(billboard)];
    const due = at + this.wait + uniforms(1)[0] * this.jitter;
    const { batch, cost } = client;
    const own = { server, at, due, batch, cost };
    return this.#change((kept) => {
      const answered = kept.get(`answered ${server}`) ?? [];
      const reported = batch === null || !answered.includes(batch);
      if (reported && this.#own(kept).filter(([, other]) => other.at > at - WEEK).length >= this.weekly)
        throw new TooManyReports(`Expected at most ${this.weekly} reports in a week, got one more.`);
      const after = charged(kept.get("ledger") ?? [], reported ? [entryOf(own)] : [], this.lifetime);
      // nothing of the person was read until here
      const choice = client.choose(arms, options, this.floor);
      const { index, name, displayed } = choice;
      const shown = { server, what: "display", batch: null, epsilon: displayed, delta: 0 };
      kept.set("ledger", displayed === null ? after : charged(after, [shown], this.lifetime));
      const id = hex(choice.id);
      if (!reported) return { id, index, name, reported };
      if (!kept.has("key")) kept.set("key", hex(octets(32)));
      const reportId = hex(reportIdOf(unhex(kept.get("key")), digest, choice.id));
      const raw = { board: hex(digest), x: choice.x, reward: null, reportId };
      kept.set(`board ${raw.board}`, new TextDecoder().decode(billboard));
      kept.set(`choice ${id}`, { ...own, ...raw, report: null, sent: null, taken: null });
      if (batch !== null) kept.set(`answered ${server}`, [...answered, batch]);
      return { id, index, name, reported };
    });
  }

  /** A reward for a choice. After the deadline it is dropped, and nobody is told. */
  async reward(id, reward) {
    if (typeof reward !== "number") throw new TypeError(`Expected a reward that is a number, got ${typeof reward}.`);
    await this.#change((kept) => {
      const one = kept.get(`choice ${id}`);
      if (one?.x && Date.now() < one.at + this.wait)
        kept.set(`choice ${id}`, { ...one, reward: Number.isFinite(reward) ? reward : String(reward) });
    });
  }

  /** Make the reports whose time has come, and send those that nobody has acknowledged: to be called when the page is
   * opened, never because of a reward. In one visit that is done once: a server that answers "later" would see from the
   * next try that the page is still open. A resident program calls it by a timer. */
  flush() {
    const alone = (work) => globalThis.navigator?.locks?.request(`reticent ${this.name}`, work) ?? work(); // of all tabs
    const over = () => void (this.visit === null && (this.flushing = null));
    return (this.flushing ??= alone(() => this.#flush()).finally(over)); // not twice at once
  }

  async #flush() {
    const due = await this.#change((kept) =>
      this.#own(kept)
        .filter(([, one]) => one.x && one.due <= (this.visit ?? Date.now()))
        .map(([key, one]) => [key, one, kept.get(`board ${one.board}`)]),
    );
    for (const [key, one, board] of due) {
      const reward = one.reward === null ? null : Number(one.reward);
      const client = await this.#opened(board);
      const report = client?.report(one.x, reward, unhex(one.reportId));
      const made = report ? hex(report) : null;
      await this.#change((kept) => {
        const now = kept.get(key);
        if (!now?.x) return; // another tab was first: what was made here never leaves
        if (!made) kept.set("ledger", refunded(kept.get("ledger"), entryOf(now)));
        const raw = { board: null, x: null, reward: null, reportId: null }; // goes once there is a report
        kept.set(key, { ...now, ...raw, report: made, taken: made ? null : false });
      });
    }
    const ready = await this.#change((kept) => this.#own(kept).filter(([, one]) => unsent(one)));
    for (const [key, { report }] of ready) {
      const taken = await (async () => this.send(unhex(report)))().catch(() => null);
      await this.#change((kept) => {
        const now = kept.get(key);
        if (now && unsent(now)) kept.set(key, { ...now, sent: now.sent ?? Date.now(), taken });
      });
    }
  }

  /** For the person: of each choice of the last week when it was made, when its report is due and was first sent,
  /** whether it was taken, and the very bytes. */
  async shown() {
    const all = await this.#change((kept) => this.#own(kept));
    return all
      .map(([, { at, due, sent, taken, report }]) => ({ at, due, sent, taken, report: report && unhex(report) }))
      .sort((a, b) => a.at - b.at);
  }

  /** For the person: what this device has told in its life, to all servers: {epsilon, delta, entries}. */
  spent() {
    return this.#change((kept) => composed(kept.get("ledger") ?? []));
  }

  /** For the person: what left, what that adds up to and what is left of the limit, as numbers and in `lines`. */
  account() {
    return this.#change((kept) => {
      const open = choicesIn(kept).filter(([, one]) => one.x || unsent(one));
      return accountOf(composed(kept.get("ledger") ?? []), this.lifetime, this.floor, open.length);
    });
  }

  /** Delete all choices and reports. What was not sent never will be; what was told stays in the ledger. */
  forget() {
    return this.#change((kept) => this.#own(kept).forEach(([key]) => drop(kept, key)));
  }

  #own(kept) {
    return choicesIn(kept).filter(([, one]) => one.server === this.name);
  }

  /** The client of a billboard that was accepted once, null if the application has other limits now. */
  async #opened(board) {
    try {
      return await this.open(new TextEncoder().encode(board));
    } catch {
      return null;
    }
  }

  /** Change what is kept, as one: what is over goes, and billboards that no choice needs any more. */
  #change(work) {
    return this.storage.change((kept) => {
      const over = ([, one]) => (one.x || unsent(one) ? one.due : one.at) <= Date.now() - WEEK;
      for (const [key] of choicesIn(kept).filter(over)) drop(kept, key);
      const out = work(kept);
      const needed = new Set(choicesIn(kept).map(([, one]) => `board ${one.board}`));
      for (const key of [...kept.keys()]) if (key.startsWith("board ") && !needed.has(key)) kept.delete(key);
      return out;
    });
  }
}

/** A billboard, by fetch: from the server or a relay, never from a cache and into none. */
export const get = async (url) => {
  const answer = await fetch(url, quiet());
  if (!answer.ok) throw new Error("Expected a billboard, got none at the moment: try again.");
  return new Uint8Array(await answer.arrayBuffer());
};

/** All that could be displayed, fetched ahead: from {name: url} to {name: an address within the page}. Everybody makes
 * the same requests in the same order, and displaying makes none. */
export const prefetch = async (urls) => {
  const fetched = async ([name, url]) => [name, URL.createObjectURL(await (await fetch(url, quiet())).blob())];
  return Object.fromEntries(await Promise.all(Object.entries(urls).map(fetched)));
};

/** To send by fetch, without cookie and referrer; the browser adds its name, the page's origin and a language. Whatever
 * is refused for good will not be sent again. */
export const post = (url) => async (report) => {
  const { ok, status } = await fetch(url, { ...quiet(), method: "POST", body: report });
  if (status >= 500 || [408, 425, 429].includes(status)) throw new Error("Expected an answer, got none for now.");
  return ok;
};
