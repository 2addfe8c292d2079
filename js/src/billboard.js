// Billboards: the public documents that devices act by, written by a server that is not trusted. A document is checked
// whole before a datum meets it, as by tacit.roles.billboard: exactly these fields, of these types, shapes and ranges.
import { BadBillboard } from "./errors.js";
import { Wrong, dumps, parse } from "./json.js";
import { sha256, utf8 } from "./sha256.js";

export const SHARE = 2 ** 32; // chances are whole multiples of 1 / SHARE
export const UNIT = 2 ** 12; // grid cells in one standard deviation of a cap's candidate
export const FINE = 2 ** 15; // grid cells in the unit of the vector that candidates are compared with
const VERSION = 4n;
const LONGEST = 2 ** 23;
const DEEPEST = 4;
const BRACKETS = 2 ** 12;
const LARGE = 1e12;
const TOSSES = 2 ** 36;
const COINS = 2 ** 28;

// fields: functions of a JSON value that return it as the program uses it, or throw Wrong

const number = (v) => typeof v === "bigint" || typeof v === "number";
const test = (holds, what) => {
  if (!holds) throw new Wrong(what);
};
const real = (low, high) => (v) => {
  test(number(v) && low <= v && v <= high, `a number from ${low} to ${high}`);
  return Number(v);
};
const whole = (low, high) => (v) => {
  test(typeof v === "bigint" && low <= v && v <= high, `a whole number from ${low} to ${high}`);
  return Number(v);
};
const long = (v) => {
  test(typeof v === "bigint" && v >= 0n && v < 2n ** 63n, "a whole number below 2^63");
  return v;
};
const flag = (v) => {
  test(typeof v === "boolean", "true or false");
  return v;
};
const text = (pattern, what) => (v) => {
  test(typeof v === "string" && pattern.test(v), what);
  return v;
};
const oneOf = (...known) => (v) => {
  test(known.includes(v), known.join(" or "));
  return v;
};
const orNull = (inner) => (v) => (v === null ? null : inner(v));
const numbers = (most) => (v) => {
  test(Array.isArray(v) && v.every((n) => number(n) && -most <= n && n <= most), `numbers from ${-most} to ${most}`);
  return v.map(Number);
};
const ROW = numbers(LARGE);
const matrix = (v) => {
  test(Array.isArray(v), "a list of rows");
  const rows = v.map(ROW);
  test(rows.every((row) => row.length === rows[0].length), "rows of equal length");
  return rows;
};
const object = (v) => v !== null && typeof v === "object" && !Array.isArray(v);
const record = (fields) => (v) => {
  const names = Object.keys(fields);
  test(
    object(v) && Object.keys(v).length === names.length && names.every((name) => name in v),
    `exactly ${names.sort().join(", ") || "nothing"}`,
  );
  const out = {};
  for (const name of names) {
    try {
      out[name] = fields[name](v[name]);
    } catch (error) {
      throw error instanceof Wrong ? new Wrong(`${error.message} in ${name}`) : error;
    }
  }
  return out;
};
const variant = (key, kinds) => (v) => {
  const name = object(v) ? v[key] : null;
  test(typeof name === "string" && Object.hasOwn(kinds, name), `a ${key} that is ${Object.keys(kinds).join(" or ")}`);
  return record({ [key]: oneOf(name), ...kinds[name] })(v);
};

const POSITIVE = real(1 / LARGE, LARGE);
const SIZE = real(0, LARGE);
const PART = real(0, 1);
const BELOW_ONE = real(0, 1 - 2 ** -53);
const USERS = whole(1, TOSSES);
const COMMON = {
  bandit: text(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, "a name"),
  dim: whole(1, 4096),
  features: orNull(text(/^[0-9a-f]{64}$/, "a digest of 64 hexadecimal digits")),
  link: oneOf("identity", "logistic", "probit"),
  rewards: ROW,
  theta: ROW,
  inverse: matrix,
};
const LOCAL = {
  ...COMMON,
  format: oneOf("tacit local billboard"),
  version: long,
  randomizer: variant("kind", {
    cap: { radius: POSITIVE, chance: whole(0, SHARE), threshold: whole(1, 64 * UNIT * FINE), scale: POSITIVE },
    lattice: { sigma: POSITIVE },
    coin: { chance: whole(0, SHARE) },
  }),
  claim: record({ epsilon: orNull(POSITIVE), delta: BELOW_ONE }),
  report: variant("name", { glm: { scale: POSITIVE, blend: PART, pad: numbers(1) }, public: {} }),
  policy: variant("name", { thompson: { random: flag, root: matrix } }),
};
const SHUFFLE = {
  ...COMMON,
  format: oneOf("tacit billboard"),
  version: oneOf(VERSION),
  model: oneOf("shuffle"),
  batch: long,
  plan: record({
    users: USERS,
    minimum: USERS,
    malicious: whole(0, TOSSES),
    size: whole(1, 2 ** 16 - 1),
    grid: POSITIVE,
    reach: whole(1, 2 ** 31),
    trials: whole(0, 2 ** 20),
    laplace: SIZE,
    norm: POSITIVE,
    sensitivity: POSITIVE,
    epsilon: orNull(POSITIVE),
    delta: BELOW_ONE,
  }),
  weights: oneOf("saturating", "plain"),
  curvature: POSITIVE,
  moment: POSITIVE,
  policy: variant("name", {
    random: { width: SIZE },
    thompson: { width: SIZE, share: PART },
    ucb: { width: SIZE },
    greedy: { width: SIZE },
    elimination: { width: SIZE },
  }),
  centre: ROW,
  axes: matrix,
  spread: ROW,
};

export const need = (holds, what, got = "another") => {
  if (!holds) throw new BadBillboard(`Expected a billboard with ${what}, got ${got}.`);
};
const square = (rows, size) => rows.length === size && rows.every((row) => row.length === size);

/** The checked document of the local model, and the tag that its reports carry. */
export function local(data) {
  const [board, given] = checked(data, LOCAL);
  const { dim, report, policy } = board;
  const wide = board.theta.length;
  if (report.name === "glm") need(report.pad.length === 2, "two numbers in pad");
  const padded = report.name === "glm" ? report.pad[1] !== 0 : wide > dim;
  need(wide === dim + Number(padded), "theta of as many numbers as there are features");
  need(square(board.inverse, wide), "an inverse of theta's size");
  need(square(policy.root, wide), "a root of theta's size");
  need((board.randomizer.kind === "coin") === (report.name === "public"), "a randomizer for what the report holds");
  const fixed = ["bandit", "dim", "features", "link", "rewards", "randomizer", "claim"].map((name) => given[name]);
  return { ...board, tag: sha256(utf8(dumps(fixed))).slice(0, 4) };
}

/** The checked document of the shuffle model, and the digest that its reports carry. */
export function shuffle(data) {
  const [board] = checked(data, SHUFFLE);
  const { dim, plan } = board;
  for (const name of ["theta", "centre", "spread"])
    need(board[name].length === dim, `as many numbers as features in ${name}`);
  for (const name of ["inverse", "axes"]) need(square(board[name], dim), `a row and a column for each feature in ${name}`);
  need(board.spread.every((v) => v >= 0), "no negative number in spread");
  need(plan.size === (dim * (dim + 3)) / 2, "a plan for as many numbers as a report has");
  const reach = Math.ceil(plan.grid * plan.norm) + Math.ceil(40 * plan.laplace);
  need(plan.reach === reach, "the reach of the plan's grid and norm");
  need(2 * reach + plan.trials < SHARE, "a grid whose numbers fit into 4 bytes");
  need(Math.max(plan.minimum, plan.malicious) <= plan.users, "no more users than the plan has");
  need(plan.trials * plan.size <= COINS, `at most ${COINS} coins in a report`);
  need(plan.trials * plan.users <= TOSSES, `at most ${TOSSES} coins in a batch`);
  const tossed = plan.trials * (plan.minimum - plan.malicious);
  const hidden = tossed >= 50 && plan.laplace === 0 && plan.epsilon !== null;
  need(hidden, "coins for people's data", "one without or for simulation");
  return { ...board, digest: sha256(data).slice(0, 16) };
}

function checked(data, fields) {
  need(data instanceof Uint8Array, "its bytes in an Uint8Array", "something else");
  let given, board;
  try {
    given = parse(data, LONGEST, DEEPEST, BRACKETS);
    board = record(fields)(given);
  } catch (error) {
    need(!(error instanceof Wrong), error.message);
    throw error;
  }
  const [low, high] = board.rewards;
  need(board.rewards.length === 2 && high - low >= 1 / LARGE, "a range low < high of rewards");
  return [board, given];
}
