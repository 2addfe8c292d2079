// An optimal design over a user's own arms, as reticent_devices.roles.designs: how often to play each so that none stays
// uncertain.
import { argmax, dot, quadratic } from "./numbers.js";

const STEPS = 400;

/** Weights on those alive with max |x|^2 in M(w)^-1 <= 2 d, by Frank-Wolfe steps from uniform ones. */
export function chances(given, alive) {
  const d = given[0].length;
  const count = alive.filter(Boolean).length;
  let weights = alive.map((yes) => (yes ? 1 / count : 0));
  let arms = given.map((x, a) => x.map((v) => (alive[a] ? v : 0)));
  let size = arms.flat().reduce((most, v) => Math.max(most, Math.abs(v)), 0);
  for (; size > 0 && size < 0.5; size *= 2) arms = arms.map((x) => x.map((v) => 2 * v)); // squares of tiny ones vanish
  const trace = arms.reduce((sum, x, a) => sum + weights[a] * dot(x, x), 0);
  if (count === 1 || !(trace > 0)) return weights;
  let inverse = arms[0].map((_, i) => arms[0].map((_, j) => (i === j ? 1e6 / trace : 0)));
  arms.forEach((x, a) => (inverse = added(inverse, x, weights[a])));
  for (let n = 0; n < STEPS; n++) {
    const squares = arms.map((x, a) => (alive[a] ? quadratic(x, inverse) : 0));
    const at = argmax(squares);
    const worst = squares[at];
    if (worst <= 2 * d) break;
    const step = (worst / d - 1) / (worst - 1);
    if (step >= 1) return weights.map((_, a) => Number(a === at)); // one dimension: all on the longest arm
    weights = weights.map((w, a) => w * (1 - step) + (a === at ? step : 0));
    inverse = added(
      inverse.map((row) => row.map((v) => v / (1 - step))),
      arms[at],
      step,
    );
  }
  return weights;
}

/** The arm whose share of [0, 1) holds `uniform`; never one of weight 0. */
export function drawn(uniform, weights) {
  let index = 0;
  let passed = 0;
  for (let a = 0; a < weights.length; a++) {
    if (!(weights[a] > 0)) continue;
    index = a;
    passed += weights[a];
    if (uniform < passed) break;
  }
  return index;
}

/** (M + weight x x')^-1 from M^-1. */
function added(inverse, x, weight) {
  const image = inverse.map((row) => dot(row, x));
  const factor = weight / (1 + weight * dot(x, image));
  return inverse.map((row, i) => row.map((v, j) => v - factor * image[i] * image[j]));
}
