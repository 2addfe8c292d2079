// Reports in the world. Whether and when a report leaves must tell nothing of the reward: every choice sends exactly
// one, at a public deadline plus a jitter that is drawn when the choice is made, whether or not a reward came. It is
// kept until it is acknowledged, and sent again byte for byte. The sum of a shuffled batch is private for one choice of
// a person: the first one is reported, whatever comes of it, and no other, so the batches that were answered are kept.
export { sealing } from "./sealed.js";
import { hex } from "./bytes.js";
import { octets, uniforms } from "./random.js";

export const WEEK = 7 * 86400e3; // milliseconds, as all times here

const unhex = (text) => Uint8Array.from(text.match(/../g), (two) => parseInt(two, 16));

/** The device's own limit: no more reports this week, whatever a server asks. */
export class TooManyReports extends Error {
  name = "TooManyReports";
}

/** options:
 * open: the application's function from a billboard's bytes to a client, with its own limits;
 * send: from a report's bytes to a promise: true if it was taken, false if it never will be; if it fails, later again;
 * wait: from a choice to its deadline; jitter: at most so much later the report leaves;
 * weekly: the most reports in a week, whatever a server asks;
 * storage: where it is kept, with getItem and setItem as localStorage, the default; name: of what is kept there. */
export class Outbox {
  constructor({
    open,
    send,
    wait,
    jitter,
    weekly,
    storage = globalThis.localStorage,
    name = "tacit",
  }) {
    if (!(wait > 0 && jitter > 0 && weekly > 0))
      throw new TypeError("Expected wait, jitter and weekly above 0, got others.");
    if (!storage?.setItem) throw new TypeError("Expected storage with getItem and setItem, as localStorage, got none.");
    Object.assign(this, { open, send, wait, jitter, weekly, storage, name, turn: Promise.resolve() });
  }

  /** Choose by a billboard: {id, index, name, reported}. What is needed for the report is on the disc before it is
   * returned. */
  choose(billboard, arms, options) {
    return this.#change((kept) => {
      const at = Date.now();
      const client = this.open(billboard);
      const reported = client.batch === null || !kept.answered.includes(client.batch);
      if (reported && kept.items.length >= this.weekly)
        throw new TooManyReports(`Expected at most ${this.weekly} reports in a week, got one more.`);
      const choice = client.choose(arms, options);
      const [id, due] = [hex(octets(8)), at + this.wait + uniforms(1)[0] * this.jitter];
      const board = new TextDecoder().decode(billboard);
      if (reported) {
        kept.items.push({ id, at, due, board, x: choice.x, reward: null, report: null, sent: null, taken: null });
        if (client.batch !== null) kept.answered.push(client.batch);
      }
      return { id, index: choice.index, name: choice.name, reported };
    });
  }

  /** A reward for a choice. After the deadline it is dropped, and nobody is told. */
  reward(id, reward) {
    if (typeof reward !== "number") throw new TypeError(`Expected a reward that is a number, got ${typeof reward}.`);
    return this.#change((kept) => {
      const item = kept.items.find((one) => one.id === id);
      if (item?.x && Date.now() < item.at + this.wait) item.reward = Number.isFinite(reward) ? reward : String(reward);
    });
  }

  /** Make the reports whose time has come, and send those that nobody has acknowledged: to be called when the program
   * starts and by a timer, never because of a reward. */
  flush() {
    return (this.flushing ??= this.#flush().finally(() => (this.flushing = null))); // not twice at once
  }

  async #flush() {
    const ready = await this.#change((kept) => {
      for (const item of kept.items.filter((one) => one.x && one.due <= Date.now())) {
        const report = this.#opened(item.board)?.report(item.x, item.reward === null ? null : Number(item.reward));
        if (report) item.report = hex(report);
        else item.taken = false;
        item.x = item.reward = item.board = null; // raw data go once there is a report
      }
      return kept.items.filter((one) => one.report && one.taken === null);
    });
    for (const { id, report } of ready) {
      const taken = await Promise.resolve(this.send(unhex(report))).catch(() => null);
      await this.#change((kept) => {
        const item = kept.items.find((one) => one.id === id);
        if (item) Object.assign(item, { sent: item.sent ?? Date.now(), taken });
      });
    }
  }

  /** For the person: of each choice of the last week when it was made, when its report is due and was first sent,
  /** whether it was taken, and the very bytes. */
  async shown() {
    const kept = await this.#change((state) => state);
    return kept.items.map(({ at, due, sent, taken, report }) => ({
      at,
      due,
      sent,
      taken,
      report: report && unhex(report),
    }));
  }

  /** The client of a billboard that was accepted once, null if the application has other limits now. */
  #opened(board) {
    try {
      return this.open(new TextEncoder().encode(board));
    } catch {
      return null;
    }
  }

  /** Change what is kept, one at a time: with Web Locks also among tabs. */
  #change(work) {
    const once = async () => {
      const kept = { answered: [], ...JSON.parse(this.storage.getItem(this.name) ?? '{"items":[]}') };
      const due = (one) => one.at > Date.now() - WEEK || one.x || (one.report && one.taken === null);
      kept.items = kept.items.filter(due);
      const out = await work(kept);
      this.storage.setItem(this.name, JSON.stringify(kept));
      return out;
    };
    const locks = globalThis.navigator?.locks;
    if (locks) return locks.request(`tacit ${this.name}`, once);
    const done = this.turn.then(once);
    this.turn = done.catch(() => null);
    return done;
  }
}

/** To send by fetch, without cookie and referrer; the browser adds its name, the page's origin and a language. Whatever
 * is refused for good will not be sent again. */
export const post = (url) => async (report) => {
  const options = {
    method: "POST",
    body: report,
    credentials: "omit",
    referrerPolicy: "no-referrer",
    cache: "no-store",
  };
  const { ok, status } = await fetch(url, options);
  if (status >= 500 || [408, 425, 429].includes(status)) throw new Error("Expected an answer, got none for now.");
  return ok;
};
