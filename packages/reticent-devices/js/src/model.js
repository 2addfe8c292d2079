// What one user contributes, bounded whatever comes in: formulas of reticent.model.
import { LINKS } from "./links.js";
import { dot, quadratic } from "./numbers.js";

const TINY = 1e-150; // vectors of a smaller norm contribute nothing

/** x, cut to norm 1 if it is longer. */
export function shortened(x) {
  const factor = 1 / Math.max(1, Math.sqrt(dot(x, x)));
  return x.map((v) => v * factor);
}

/** (weight, response) of x with a reward in units of the link, linearised at the board's public estimate. */
export function linearized(x, r, board, blend) {
  const { bounded, softness, mean, slope } = LINKS[board.link];
  const length = Math.sqrt(dot(x, x));
  const k = 1 / Math.sqrt(1 + softness * Math.max(quadratic(x, board.inverse), 0));
  const v = k * dot(x, board.theta);
  if (length < TINY) return [0, 0];
  if (!bounded) return [1 / length, r / length];
  const expected = mean(v);
  let steep = slope(v);
  const share = blend * 4 * expected * (1 - expected); // of the chord, beside the tangent
  if (blend > 0 && Math.abs(v) > 1e-6)
    steep = Math.min((1 - share) * steep + (share * (expected - 0.5)) / v, slope(0)); // rounding near 0
  const c = expected - steep * v;
  const u = 1 / (Math.max(Math.abs(c), Math.abs(1 - c)) * length);
  return [k * u * steep, u * (r - c)];
}

/** The score of x and its reward at the board's public estimate: of norm at most 1, whatever that is. */
export function scored(x, y, { link, rewards: [low, high], theta }) {
  const length = Math.sqrt(dot(x, x));
  const z = dot(x, theta);
  const { bounded, mean } = LINKS[link];
  const expected = bounded ? mean(z) : (z - low) / (high - low);
  const share = (y - low) / (high - low);
  const most = Math.max(Math.abs(expected), Math.abs(1 - expected));
  const weight = length < TINY ? 0 : (share - expected) / (most * length);
  return x.map((v) => weight * v);
}

/** A reward within its range, in units of the link: a share of that range where means are; else of the largest reward,
 * or, `centred`, from -1 to 1 over that range. */
export function inUnits(y, { link, rewards: [low, high] }, centred) {
  if (LINKS[link].bounded) return (y - low) / (high - low);
  return centred ? (2 * y - low - high) / (high - low) : y / Math.max(Math.abs(low), Math.abs(high));
}

/** (svec(weight x x'), response x) */
export function pair(x, weight, response) {
  const out = [];
  for (let i = 0; i < x.length; i++)
    for (let j = i; j < x.length; j++) out.push(weight * (i === j ? 1 : Math.SQRT2) * x[i] * x[j]);
  for (const v of x) out.push(response * v);
  return out;
}

/** The bounds that the sensitivity rests on, enforced: an honest billboard never comes near them. */
export function bounded(x, [weight, response], link) {
  const square = dot(x, x) / (1 + 1e-9);
  const beyond = Math.abs(weight) * square > LINKS[link].largest || weight < 0 || response * response * square > 1;
  return beyond ? [0, 0] : [weight, response];
}

/** `vector` within `norm`; zeros if it is not finite. A part in 10^9 more is left as it is: rounding. */
export function clipped(vector, norm, slack = 1e-9) {
  const size = Math.sqrt(dot(vector, vector));
  if (!(size < Infinity)) return vector.map(() => 0);
  return size > norm * (1 + slack) ? vector.map((v) => v * (norm / size)) : vector;
}
