// What a billboard's randomizer really gives, worked out on the device, as by reticent_devices.mechanisms.local, where the
// proofs are: it trusts no claim of the server. Powers of e are compared, so that no logarithm is needed.
import { FINE, SHARE, UNIT } from "./billboard.js";
import { LINKS } from "./links.js";
import { decay, power, tail } from "./numbers.js";
import { planned } from "./plans.js";

export const MARGIN = 1e-6; // relative, of a claimed epsilon: for floating point
export const CELLS = 2 ** 20; // grid cells in one standard deviation of lattice noise
const SPREAD = 1e-8;
const ETAS = Array.from({ length: 400 }, (_, i) => 10 ** (-5 + (4 * i) / 399)); // the bounds hold for any numbers here

/** Of the vector that a device makes: how many numbers, how long, how far apart those of two users can be. */
export function extent(board) {
  if (board.report.name === "public") return { size: 1, norm: 1, sensitivity: 1 };
  if (board.report.name === "score") return { size: board.dim, norm: 1, sensitivity: 2 };
  const weight = board.report.scale * LINKS[board.link].largest;
  const wide = board.theta.length;
  return { size: (wide * (wide + 3)) / 2, norm: Math.sqrt(1 + weight * weight), sensitivity: farthest(weight) };
}

/** Of pairs (svec(w x x'), b x) with w at most `weight` and b at most 1. */
export function farthest(weight) {
  const q = weight * weight;
  return Math.sqrt(q <= 1 + Math.SQRT1_2 ? 4 + q : 2 + 2 * q + 1 / (2 * q));
}

/** How far apart the vectors of two users of a shuffled batch can be. */
function apart({ weights, curvature, moment, link, rewards, plan }) {
  let far = 2;
  if (weights === "saturating") far = moment * farthest((curvature / moment) * LINKS[link].largest);
  if (weights === "plain") {
    const most = (moment / curvature) * Math.max(Math.abs(rewards[0]), Math.abs(rewards[1]));
    const b = most * most;
    far = curvature * Math.sqrt(b <= 2 ? 2 + 2 * b + (b * b) / 2 : 4 * b);
  }
  return Math.min(2 * plan.norm, far);
}

/** epsilon at the plan's delta of a report to a shuffled batch, with the fewest reports that it may have. */
export const spent = (board) => {
  const { trials, minimum, malicious, size, grid, delta } = board.plan;
  return planned((minimum - malicious) * trials, size, grid * apart(board), delta);
};

/** Whether one report is (epsilon, delta)-private. */
export function holds(randomizer, { epsilon, delta }, { size, sensitivity }) {
  const most = epsilon * (1 + MARGIN);
  if (randomizer.kind === "lattice") return latticeDelta(randomizer.sigma, sensitivity, size, most) <= delta;
  return (randomizer.kind === "cap" ? capHolds : coinHolds)(randomizer, most, size);
}

function coinHolds({ chance }, epsilon) {
  const least = Math.min(chance, SHARE - chance);
  return least > 0 && (SHARE - least) * decay(epsilon) <= least;
}

const nominal = (threshold) => tail(threshold / (UNIT * FINE));

/** Candidates among which a cap seeks one inside, and one outside. */
export function searched(threshold) {
  const q = nominal(threshold);
  const outside = Math.min(0.5, 2 * q);
  let others = 1;
  for (let all = outside; all > 1 / SHARE; all *= outside) others++;
  return { rows: Math.ceil(4 / q), others };
}

function capHolds({ chance, threshold }, epsilon, size) {
  const p = (chance + 1) / SHARE;
  const root = Math.sqrt(size + 1) / 2 + 1e-3;
  const rarest = Math.min(Math.max(2 ** -10, (size + 1) / 2 ** 15), 2 ** -5);
  if (!(p < 1 && nominal(threshold) >= rarest * (1 - MARGIN) && root < FINE / 2)) return false;
  const far = threshold / (UNIT * (FINE - root));
  const near = threshold / (UNIT * (FINE + root));
  const q = Math.max(...ETAS.map((eta) => tail(far + eta) - SPREAD / eta ** 2));
  const most = Math.min(0.5, ...ETAS.map((eta) => tail(near - eta) + SPREAD / eta ** 2));
  const { rows, others } = searched(threshold);
  if (q <= 0 || power(most, others) > 1 / SHARE) return false;
  if (most > (chance / SHARE) * (1 - power(1 - 2 * q, rows))) return false;
  return p * (1 - q) * decay(epsilon) <= (1 - p) * q;
}

/** mu is bounded, and norms are below sensitivities: numbers of cells stay far below 2^53. */
function latticeDelta(sigma, sensitivity, size, epsilon) {
  const mu = sensitivity / sigma + Math.sqrt(size) / CELLS;
  const slack = 2 * size * (2 ** -44 + (9 / CELLS) ** 2 / 24);
  const stray = 2 ** -56 + 2 * tail(9);
  const inner = epsilon - slack;
  if (inner < 0 || epsilon > 600 || mu > 1e3) return 1;
  const gauss = tail(inner / mu - mu / 2) - tail(inner / mu + mu / 2) / decay(inner);
  return Math.min(1, (Math.max(0, gauss) + 2 ** -50) / decay(slack) + (2 + 1 / decay(epsilon)) * size * stray);
}
