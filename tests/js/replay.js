// What a device does with given billboards, people and random bytes: run by Node and by a browser.

/** Instead of the browser's generator: bytes that are given, over and over. */
export function tape(bytes) {
  const state = { at: 0 };
  const getRandomValues = (out) => {
    if (out.byteLength > 65536) throw new RangeError("Expected at most 65536 bytes at a time.");
    for (let i = 0; i < out.length; ) {
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

const decoded = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const encoded = (bytes) => Array.from(bytes, (v) => v.toString(16).padStart(2, "0")).join("");
const number = (v) => (typeof v === "string" ? Number(v) : v); // JSON has no NaN

function client(tacit, board, { fields, ...options } = {}) {
  const kind = new TextDecoder("latin1").decode(board).includes('"tacit billboard"') ? "ShuffleClient" : "LocalClient";
  const own = fields ? { features: new tacit.Schema(fields) } : {};
  return new tacit[kind](board, { ...(kind === "LocalClient" && { publicArms: true }), ...options, ...own });
}

/** Reports: {index, name, report} of each case. */
export function reports(tacit, { random, boards, cases }) {
  const state = tape(decoded(random));
  const made = boards.map(({ board, options }) => client(tacit, decoded(board), options));
  return cases.map(({ at, board, arms, options, reward }) => {
    state.at = at;
    const device = made[board];
    const choice = device.choose(arms, options);
    return { index: choice.index, name: choice.name, report: encoded(device.randomize(choice, number(reward))) };
  });
}

/** Damaged billboards: the name of the error, or what is shown of each person by an accepted one besides the bytes. */
export function damaged(tacit, { random, boards, people }) {
  const state = tape(decoded(random));
  const drawn = (work) => {
    state.at = 0;
    const out = work();
    return [out, state.at];
  };
  return boards.map(({ board, options, data }) => {
    let device;
    try {
      device = client(tacit, decoded(board), options);
    } catch (error) {
      return error.name;
    }
    return people[data].map(({ arms, reward }) => {
      try {
        const [choice, first] = drawn(() => device.choose(arms));
        const [report, second] = drawn(() => device.randomize(choice, number(reward)));
        return [first, report.length, second];
      } catch (error) {
        return error.name;
      }
    });
  });
}

export const tasks = { reports, damaged };
