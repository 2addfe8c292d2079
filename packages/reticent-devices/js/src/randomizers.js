// What a device of the local model does to its vector or reward before anything leaves it, as
// reticent_devices.mechanisms.randomizers: whole numbers in, whole numbers out, by the same work for every datum.
import { FINE, SHARE, UNIT } from "./billboard.js";
import { CELLS, searched } from "./limits.js";
import { dot, rint, tail } from "./numbers.js";
import { below, gaussians, octets } from "./random.js";

const EDGE = 128; // of the 2^16 cells of a candidate's law, the outer ones on each side that are cut 512 times finer
const PORTION = 2 ** 16; // numbers of candidates that are drawn at a time

/** A vector of norm at most `radius` by a random one that leans towards it. */
export function cap(vector, { radius, chance, threshold }) {
  const x = lifted(vector.map((v) => v / radius));
  const { rows, others } = searched(threshold);
  const all = candidates(others, x.length);
  let found = 0; // the first outside, or the first of all
  for (let i = others - 1; i >= 0; i--) if (product(all, i, x) < threshold) found = i;
  const outside = all.subarray(found * x.length, (found + 1) * x.length);
  let inside = outside;
  const most = Math.max(1, Math.floor(PORTION / x.length));
  for (let done = 0; done < rows; done += most) {
    const count = Math.min(most, rows - done);
    const some = candidates(count, x.length);
    let at = -1;
    let along = 0;
    for (let i = count - 1; i >= 0; i--) {
      const z = product(some, i, x);
      if (Math.abs(z) >= threshold) [at, along] = [i, z];
    }
    if (inside === outside && at >= 0) {
      const z = some.subarray(at * x.length, (at + 1) * x.length);
      inside = along > 0 ? z : z.map((v) => -v); // the law of z is symmetric
    }
  }
  const first = new DataView(octets(4).buffer).getUint32(0, true) < chance;
  const sent = first ? inside : outside;
  const out = new DataView(new ArrayBuffer(2 * vector.length));
  vector.forEach((_, i) => out.setInt16(2 * i, sent[i], true));
  return new Uint8Array(out.buffer);
}

/** A vector plus discrete Gaussian noise. */
export function lattice(vector, { sigma }) {
  const noise = gaussians(CELLS, vector.length);
  const out = new DataView(new ArrayBuffer(8 * vector.length));
  vector.forEach((v, i) => out.setBigInt64(8 * i, BigInt(rint(v / (sigma / CELLS)) + noise[i]), true));
  return new Uint8Array(out.buffer);
}

/** A number in [0, 1] by randomised response. */
export function coin(y, { chance }) {
  const bit = Number(below(2n ** 53n, 1)[0]) < y * 2 ** 53;
  return Uint8Array.of(bit !== Number(below(BigInt(SHARE), 1)[0]) >= chance ? 1 : 0);
}

/** A vector of norm at most 1 as a unit vector of one more dimension, in whole numbers of 1 / FINE. */
function lifted(vector) {
  let norm = Math.sqrt(dot(vector, vector));
  if (!(norm < Infinity)) [vector, norm] = [vector.map(() => 0), 0];
  const bounded = vector.map((v) => v / Math.max(1, norm));
  const x = [...bounded, Math.sqrt(Math.max(0, 1 - dot(bounded, bounded)))].map((v) => rint(FINE * v));
  if (Math.abs(Math.sqrt(dot(x, x)) - FINE) <= Math.sqrt(x.length) / 2 + 1e-6) return x;
  return x.map((_, i) => (i === x.length - 1 ? FINE : 0));
}

/** <z, x> of a row of candidates: sums of whole numbers below 2^53, exact in any order. */
function product(z, row, x) {
  let out = 0;
  for (let i = 0, at = row * x.length; i < x.length; i++) out += z[at + i] * x[i];
  return out;
}

/** Rows of independent numbers in units of 1 / UNIT of a quantised normal law. */
function candidates(rows, size) {
  const { first, outer } = tables();
  const bits = new Uint16Array(octets(2 * rows * size).buffer);
  const z = Int16Array.from(bits, (v) => first[v]);
  const at = [];
  bits.forEach((v, i) => ((v + EDGE) & 0xffff) < 2 * EDGE && at.push(i));
  const finer = new Uint16Array(octets(2 * at.length).buffer);
  at.forEach((i, k) => (z[i] = bits[i] < EDGE ? -outer[finer[k]] : outer[finer[k]]));
  return z;
}

let made;

/** Values of the cells, quantiles of their middles, rounded to the grid: j where the middle's probability lies between
/** those of j - 1/2 and j + 1/2, so that no inverse of the normal law is needed. */
export function tables() {
  if (made) return made;
  const first = new Int16Array(2 ** 16);
  const outer = new Int16Array(2 ** 16);
  let inner = 2 ** 15 - 1;
  let fine = 2 ** 16 - 1;
  for (let j = 0; inner >= 0 || fine >= 0; j++) {
    const edge = tail((j + 0.5) / UNIT);
    for (; inner >= 0 && (inner + 0.5) / 2 ** 16 > edge; inner--) [first[inner], first[2 ** 16 - 1 - inner]] = [-j, j];
    for (; fine >= 0 && (fine + 0.5) / 2 ** 25 > edge; fine--) outer[fine] = j;
  }
  return (made = { first, outer });
}
