// What a device does with given billboards, people and random bytes: run by Node and by a browser.

/** Do a task with the modules in a folder. */
export async function done(folder, task, given) {
  const { modules, work } = TASKS[task];
  const parts = await Promise.all(modules.map((name) => import(`${folder}/${name}.js`)));
  return JSON.stringify(await work(Object.assign({}, ...parts), given));
}

/** Instead of the browser's generator: bytes that are given, over and over. */
export function tape(bytes) {
  const state = { at: 0 };
  const getRandomValues = (out) => {
    if (out.byteLength > 65536) throw new RangeError("Expected at most 65536 bytes at a time.");
    for (let i = 0; i < out.length;) {
      const from = state.at % bytes.length;
      const piece = bytes.subarray(from, from + out.length - i);
      out.set(piece, i);
      i += piece.length;
      state.at += piece.length;
    }
    return out;
  };
  Object.defineProperty(globalThis.crypto, "getRandomValues", { value: getRandomValues, configurable: true });
  return state;
}

function decoded(text, more = 0) {
  const raw = atob(text);
  const out = new Uint8Array(raw.length + more).fill(32);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}
const encoded = (bytes) => Array.from(bytes, (v) => v.toString(16).padStart(2, "0")).join("");
const number = (v) => (typeof v === "string" ? Number(v) : v); // JSON has no NaN

function client(reticent, board, { fields, ...options } = {}) {
  const kind = new TextDecoder("latin1").decode(board).includes('"reticent billboard"') ? "ShuffleClient" : "LocalClient";
  const own = fields ? { features: new reticent.Schema(fields) } : {};
  return new reticent[kind](board, { ...(kind === "LocalClient" && { publicArms: true }), ...options, ...own });
}

/** The device of another person at the same billboard. */
const another = (device) => Object.assign(Object.create(device), { chosen: false });

/** Reports: {index, name, report} of each case. */
export function reports(reticent, { random, boards, cases }) {
  const state = tape(decoded(random));
  const made = boards.map(({ board, options }) => client(reticent, decoded(board), options));
  return cases.map(({ at, board, arms, actions, floor, reward }) => {
    state.at = at;
    const device = another(made[board]);
    const choice = device.choose(arms, actions, floor);
    return { index: choice.index, name: choice.name, report: encoded(device.randomize(choice, number(reward))) };
  });
}

/** Damaged billboards: the name of the error, or what is shown of each person by an accepted one besides the bytes. */
export function damaged(reticent, { random, boards, people }) {
  const state = tape(decoded(random));
  const drawn = (work) => {
    state.at = 0;
    const out = work();
    return [out, state.at];
  };
  return boards.map(({ board, more, options, data }) => {
    let device;
    try {
      device = client(reticent, decoded(board, more), options);
    } catch (error) {
      return error.name;
    }
    if (data === null) return "accepted";
    const told = people[data].map(({ arms, reward }) => {
      try {
        device = another(device);
        const [choice, first] = drawn(() => device.choose(arms));
        const [report, second] = drawn(() => device.randomize(choice, number(reward)));
        return [first, report.length, second];
      } catch (error) {
        return error.name;
      }
    });
    return { cost: device.cost, told };
  });
}

/** Fields: the digest of each schema, and the names and vectors of each person, or the name of the error. */
const fields = ({ Schema }, given) =>
  given.map(({ schema, people }) => {
    const made = new Schema(schema);
    const rows = ({ context, actions }) => {
      try {
        return made.rows(context, actions ?? undefined);
      } catch (error) {
        return error.message;
      }
    };
    return { digest: made.digest, dim: made.dim, people: people.map(rows) };
  });

/** What a program does with an outbox: [method, ...arguments] at given times. Kept is what outlives it. */
async function outbox(
  { Outbox, LocalClient, ShuffleClient },
  { board, kept, random, steps, began = 0, answers = [], options = {} },
) {
  if (random) tape(decoded(random));
  const inMemory = {
    async change(work) {
      const records = new Map(kept);
      const out = work(records);
      kept = JSON.parse(JSON.stringify([...records]));
      return out;
    },
  };
  const storage = globalThis.indexedDB ? undefined : inMemory;
  const [sent, told] = [[], []];
  let now = began;
  Date.now = () => now;
  const bytes = decoded(board);
  const shuffled = (given) => new TextDecoder().decode(given).includes('"reticent billboard"');
  const box = new Outbox({
    open: (given) =>
      shuffled(given) ? new ShuffleClient(given) : new LocalClient(given, { epsilon: 1, delta: 1e-6, publicArms: true }),
    send: async (report) => {
      sent.push([now, encoded(report)]);
      const answer = answers.length ? answers.shift() : true;
      if (answer === null) throw new TypeError("Failed to fetch");
      return answer;
    },
    wait: 1000,
    jitter: 100,
    weekly: 3,
    lifetime: { epsilon: 100, delta: 0.5 },
    resident: true,
    storage,
    ...options,
  });
  for (const [at, method, ...given] of steps) {
    now = at;
    try {
      const begun = [...Array(method === "flush" ? 2 : 1)].map(() =>
        // as by two timers
        method === "choose" ? box.choose(given[1] ? decoded(given[1]) : bytes, given[0]) : box[method](...given),
      );
      told.push((await Promise.all(begun))[0]);
    } catch (error) {
      told.push(error.name);
    }
  }
  const shown = (await box.shown()).map((one) => ({ ...one, report: one.report && encoded(one.report) }));
  const [spent, account] = [await box.spent(), await box.account()];
  const text = JSON.stringify(await box.storage.change((records) => [...records]));
  return { sent, told, shown, spent, account, kept: kept ?? null, text };
}

/** Seal reports to the key at each of these addresses: what was sent and answered, or the error. */
const sealed = async ({ sealing }, { identity, urls, reports }) => {
  const told = [];
  for (const url of urls)
    for (const report of reports) {
      let sent = null;
      const send = async (text) => Boolean((sent = encoded(text)));
      const answer = await sealing(decoded(identity), url, send)(decoded(report)).catch((error) => error.message);
      told.push([answer, sent]);
    }
  return told;
};

/** The cap's tables, as one digest. */
function tables({ tables: made, sha256, joined, hex }) {
  const { first, outer } = made();
  return hex(sha256(joined(new Uint8Array(first.buffer), new Uint8Array(outer.buffer))));
}

/** e^-q and P(N >= t) of given numbers. */
const numbers = ({ decay, tail }, { q, t }) => ({ decay: q.map(decay), tail: t.map(tail) });

/** Many draws of each law, from the browser's own generator. */
function laws({ gaussians, halves, uniforms, below, coin }, { draws, sigma, trials, chance, share }) {
  const coins = Array.from({ length: draws }, () => coin(share, { chance })[0]);
  const whole = below(1000003n, draws).map(Number);
  return {
    gaussians: gaussians(sigma, draws),
    halves: halves(trials, draws),
    uniforms: uniforms(draws),
    whole,
    coins,
  };
}

/** What entries of a ledger add up to, and how sure somebody can be after them. */
const totals = ({ composed, certainty }, given) =>
  given.map((entries) => ({ ...composed(entries), certainty: certainty(composed(entries)) }));

/** Milliseconds to read a billboard, and for a choice with its report. */
const timed = (reticent, { boards, draws }) =>
  boards.map(({ board, arms }) => {
    const bytes = decoded(board);
    const started = performance.now();
    const device = client(reticent, bytes);
    const read = performance.now();
    device.randomize(device.choose(arms), 1); // tables are made once
    const first = performance.now();
    for (let i = 0; i < draws; i++) {
      const own = another(device);
      own.randomize(own.choose(arms), 1);
    }
    return { read: read - started, first: first - read, each: (performance.now() - first) / draws };
  });

const PACKED = ["index", "features", "outbox"];
const SOURCE = ["bytes", "numbers", "random", "randomizers", "sha256"];
const TASKS = {
  reports: { modules: PACKED, work: reports },
  damaged: { modules: PACKED, work: damaged },
  outbox: { modules: PACKED, work: outbox },
  sealed: { modules: PACKED, work: sealed },
  timed: { modules: PACKED, work: timed },
  fields: { modules: PACKED, work: fields },
  tables: { modules: SOURCE, work: tables },
  numbers: { modules: SOURCE, work: numbers },
  laws: { modules: SOURCE, work: laws },
  totals: { modules: ["ledger", "account"], work: totals },
};
