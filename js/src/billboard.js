// Billboards: the public documents that devices act by, written by a server that is not trusted. A document is
// checked whole before a datum meets it, as by tacit.roles.billboard: exactly these fields, of these types, shapes
// and ranges.
import { utf8 } from "./bytes.js";
import { BadBillboard } from "./errors.js";
import { dumps, parse } from "./json.js";
import { LINKS } from "./links.js";
import { sha256 } from "./sha256.js";

export const SHARE = 2 ** 32; // chances are whole multiples of 1 / SHARE
export const UNIT = 2 ** 12; // grid cells in one standard deviation of a cap's candidate
export const FINE = 2 ** 15; // grid cells in the unit of the vector that candidates are compared with
const LONGEST = 2 ** 23;
const DEEPEST = 4;
const BRACKETS = 2 ** 12;
const LARGE = 1e12;
const TOSSES = 2 ** 30;
const COINS = 2 ** 28;

// fields: whether a JSON value is as it should be

const number = (v) => typeof v === "bigint" || typeof v === "number";
const real = (low, high) => (v) => number(v) && low <= v && v <= high;
const whole = (low, high) => (v) => typeof v === "bigint" && low <= v && v <= high;
const flag = (v) => typeof v === "boolean";
const text = (pattern) => (v) => typeof v === "string" && pattern.test(v);
const oneOf =
  (...known) =>
  (v) =>
    known.includes(v);
const orNull = (inner) => (v) => v === null || inner(v);
const list = (inner) => (v) => Array.isArray(v) && v.every(inner);
const object = (v) => v !== null && typeof v === "object" && !Array.isArray(v);
const record = (fields) => (v) => {
  const names = Object.keys(fields);
  if (!object(v) || Object.keys(v).length !== names.length) return false;
  return names.every((name) => fields[name](v[name]) || need(false, name));
};
const variant = (key, kinds) => (v) => {
  const name = object(v) && v[key];
  return typeof name === "string" && Object.hasOwn(kinds, name) && record({ [key]: Boolean, ...kinds[name] })(v);
};

const POSITIVE = real(1 / LARGE, LARGE);
const SIZE = real(0, LARGE);
const PART = real(0, 1);
const BELOW_ONE = real(0, 1 - 2 ** -53);
const ROW = list(real(-LARGE, LARGE));
const MATRIX = list(ROW);
const LONG = whole(0n, 2n ** 63n - 1n);
const USERS = whole(1, TOSSES);
const COMMON = {
  bandit: text(/^[A-Za-z][A-Za-z0-9_]{0,63}$/),
  dim: whole(1, 4096),
  features: orNull(text(/^[0-9a-f]{64}$/)),
  link: oneOf(...Object.keys(LINKS)),
  rewards: ROW,
  theta: ROW,
  inverse: MATRIX,
};
const LOCAL = {
  ...COMMON,
  format: oneOf("tacit local billboard"),
  protocol: oneOf(2n),
  version: LONG,
  randomizer: variant("kind", {
    cap: { radius: POSITIVE, chance: whole(0, SHARE), threshold: whole(1, 64 * UNIT * FINE), scale: POSITIVE },
    lattice: { sigma: POSITIVE },
    coin: { chance: whole(0, SHARE) },
  }),
  claim: record({ epsilon: orNull(POSITIVE), delta: BELOW_ONE }),
  report: variant("name", { glm: { scale: POSITIVE, blend: PART, pad: list(real(-1, 1)) }, public: {}, score: {} }),
  policy: variant("name", { thompson: { random: flag, root: MATRIX }, best: { random: flag } }),
};
const SHUFFLE = {
  ...COMMON,
  format: oneOf("tacit billboard"),
  version: oneOf(4n),
  model: oneOf("shuffle"),
  batch: LONG,
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
  weights: oneOf("saturating", "plain", "score"),
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
  axes: MATRIX,
  spread: ROW,
};

/** Raise unless what the billboard says of something is as it should be. */
export function need(holds, what, got = "another") {
  if (!holds) throw new BadBillboard(`Expected a billboard with a good ${what}, got ${got}.`);
}
const square = (rows, size) => rows.length === size && rows.every((row) => row.length === size);

/** The checked document of the local model, and the tag that its reports carry. */
export function local(data) {
  const [board, given] = checked(data, LOCAL);
  const { dim, report, policy } = board;
  const wide = board.theta.length;
  const glm = report.name === "glm";
  const score = report.name === "score";
  need(!glm || report.pad.length === 2, "pad");
  need(wide === dim + Number(glm ? report.pad[1] !== 0 : !score && wide > dim), "theta");
  need(square(board.inverse, score ? 0 : wide), "inverse");
  need(policy.name === (score ? "best" : "thompson"), "policy");
  need(score || square(policy.root, wide), "root");
  need((board.randomizer.kind === "coin") === (report.name === "public"), "randomizer");
  const fixed = ["protocol", "bandit", "dim", "features", "link", "rewards", "randomizer", "claim"];
  return { ...board, tag: sha256(utf8(dumps(fixed.map((name) => given[name])))).slice(0, 4) };
}

/** The checked document of the shuffle model, and the digest that its reports carry. */
export function shuffle(data) {
  const [board, { batch }] = checked(data, SHUFFLE);
  const { dim, plan } = board;
  const score = board.weights === "score";
  const wide = score ? 0 : dim;
  for (const name of ["theta", "centre"]) need(board[name].length === dim, name);
  need(board.spread.length === wide, "spread");
  for (const name of ["inverse", "axes"]) need(square(board[name], wide), name);
  need(!score || ["random", "thompson"].includes(board.policy.name), "policy");
  need(
    board.spread.every((v) => v >= 0),
    "spread",
  );
  need(plan.size === (score ? dim : (dim * (dim + 3)) / 2), "size");
  const reach = Math.ceil(plan.grid * plan.norm) + Math.ceil(40 * plan.laplace);
  need(plan.reach === reach && 2 * reach + plan.trials < SHARE, "reach");
  need(Math.max(plan.minimum, plan.malicious) <= plan.users, "number of users");
  need(plan.trials * plan.size <= COINS && plan.trials * plan.users <= TOSSES, "number of coins", "too many");
  const hidden = plan.trials * (plan.minimum - plan.malicious) >= 50 && plan.laplace === 0 && plan.epsilon !== null;
  need(hidden, "number of coins for people's data", "too few");
  return { ...board, batch, digest: sha256(data).slice(0, 16) };
}

function checked(data, fields) {
  need(data instanceof Uint8Array, "Uint8Array of bytes");
  const given = parse(data, LONGEST, DEEPEST, BRACKETS);
  need(given !== undefined && record(fields)(given), "set of fields");
  const board = plain(given);
  const [low, high] = board.rewards;
  need(board.rewards.length === 2 && high - low >= 1 / LARGE, "rewards");
  return [board, given];
}

/** Whole numbers as others are. */
function plain(v) {
  if (typeof v === "bigint") return Number(v);
  if (Array.isArray(v)) return v.map(plain);
  return object(v) ? Object.fromEntries(Object.entries(v).map(([name, inner]) => [name, plain(inner)])) : v;
}
