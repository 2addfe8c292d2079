// What the sum of a shuffled batch costs one of its users, worked out on the device from the billboard's plan: as by
// reticent_devices.mechanisms.shuffle.calibration, where the proof is, with the same steps in the same order, so that both find
// the same number to the last bit.
import { decay, logarithm, tail } from "./numbers.js";

const REACHES = [3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5, 8, 9];
const MOVES = Array.from({ length: 85 }, (_, i) => (i < 65 ? i / 16 : (i - 48) / 4));
const FALLS = MOVES.map((move) => decay((move * move) / 2));
const [LEAST, MOST] = [1e-9, 64]; // epsilon
const FEWEST = 50; // coins: with fewer, no guarantee can be shown

/** The least epsilon at delta, rounded up, of sums of `size` numbers with so many coins each, which a user moves by at
 * most `width` cells; Infinity if none can be shown. */
export function planned(coins, size, width, delta) {
  if (!(coins >= FEWEST && delta > 0)) return Infinity;
  const s = Math.sqrt(coins / 4 - 1 / 12);
  const near = closeness(coins, s).map((four) => four.map((v) => size * v));
  const gaussian = rounded(size, width, s);
  const some = near.filter(([, , beyond]) => beyond <= delta); // others cannot be enough
  const enough = (epsilon) => some.some((four) => lost(four, epsilon, gaussian) <= delta);
  let [low, high] = [0, 0.25];
  while (!enough(high)) {
    [low, high] = [high, 2 * high];
    if (high > MOST) return Infinity;
  }
  while (high - low > 1e-7 * high && high > LEAST) {
    const middle = (low + high) / 2;
    if (enough(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** delta at epsilon by coins that are so near to a Gaussian number. */
function lost([over, under, beyond, missed], epsilon, gaussian) {
  const inner = epsilon - (over + under);
  return inner >= 0 ? beyond + (gaussian(inner) + missed / decay(inner)) / decay(over) : 1;
}

/** delta at epsilon of Gaussian noise beside randomly rounded moves. */
const rounded = (size, given, s) => (epsilon) => {
  const width = given * (1 + 1e-9);
  const [start, spread] = [width * width + size / 4, width + Math.sqrt(size) / 2];
  const curve = MOVES.map((move) => {
    const mu = Math.sqrt(start + spread * move) / s;
    const first = tail(epsilon / mu - mu / 2);
    const second = tail(epsilon / mu + mu / 2) / decay(epsilon);
    return first - second + 1e-12 * (first + second);
  });
  let sum = 0;
  FALLS.forEach((fall, k) => (sum += ((k + 1 < curve.length ? curve[k + 1] : 1) - curve[k]) * fall));
  return curve[0] + sum;
};

/** How near so many fair coins are to a rounded Gaussian number within each of REACHES: the largest logarithms of their
 * ratio and of its inverse, and the masses outside. */
function closeness(coins, s) {
  const half = Math.floor(coins / 2);
  const first = 0.5 * (coins % 2);
  const ends = REACHES.map((t) => Math.min(Math.ceil(t * s), half));
  const error = 1e-9 * Math.max(1, (ends.at(-1) + 2) / 1e5);
  const ratio = (j) => Math.max(coins / 2 - j, 0) / (coins / 2 + j + 1);
  const k = Math.floor((coins + 1) / 2);
  const rest = 1 / (8 * k) - 1 / (192 * k * k * k) + 1 / (640 * k * k * k * k * k);
  const centre = decay(rest) / Math.sqrt(Math.PI * k);
  const out = [];
  let [product, most, least, edge] = [1, 1, 1, tail((first - 0.5) / s)];
  for (let i = 0; out.length < ends.length; i++) {
    const j = first + i;
    const next = tail((j + 0.5) / s);
    const gap = centre * product > 0 ? (centre * product) / (edge - next) : 1;
    [most, least, edge] = [Math.max(most, gap), Math.min(least, gap), next];
    product *= ratio(j);
    while (ends[out.length] === i)
      out.push([
        logarithm(most) + error,
        -logarithm(least) + error,
        (2 * (centre * product)) / (1 - ratio(j + 1)),
        2 * next,
      ]);
  }
  return out;
}
