// Billboards of the local and shuffle models: the public documents that devices act by, as by reticent_devices.roles.billboard.
import { utf8 } from "./bytes.js";
import { dumps } from "./json.js";
import { LINKS } from "./links.js";
import { BELOW_ONE, LONG, MATRIX, PART, POSITIVE, ROW, SIZE, checked, need, ranged, square } from "./schema.js";
import { flag, list, oneOf, orNull, real, record, text, variant, whole } from "./schema.js";
import { sha256 } from "./sha256.js";

export const SHARE = 2 ** 32; // chances are whole multiples of 1 / SHARE
export const UNIT = 2 ** 12; // grid cells in one standard deviation of a cap's candidate
export const FINE = 2 ** 15; // grid cells in the unit of the vector that candidates are compared with
const TOSSES = 2 ** 30;
const COINS = 2 ** 28;

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
  format: oneOf("reticent local billboard"),
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
  format: oneOf("reticent billboard"),
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

/** The checked document of the local model, and the tag that its reports carry. */
export function local(data) {
  const [board, given] = checked(data, LOCAL);
  ranged(board.rewards);
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
  ranged(board.rewards);
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
