// Random numbers from WebCrypto and nothing else: no seed, no state, nothing that a restored page could repeat.
import { decay } from "./numbers.js";

const PIECE = 65536; // the most bytes that getRandomValues gives at a time
const FARTHEST = 9; // gaussians draws within this many sigma

/** Independent uniform bytes. */
export function octets(count) {
  const out = new Uint8Array(count);
  for (let i = 0; i < count; i += PIECE) crypto.getRandomValues(out.subarray(i, i + PIECE));
  return out;
}

const words = (count) => new BigUint64Array(octets(8 * count).buffer);
const pairs = (count) => new Uint32Array(octets(8 * count).buffer); // words by their low and high halves

/** Uniform on the multiples of 2^-53 in [0, 1). */
export function uniforms(count) {
  const half = pairs(count);
  return Array.from({ length: count }, (_, i) => (half[2 * i + 1] * 2 ** 21 + (half[2 * i] >>> 11)) * 2 ** -53);
}

/** Standard normal numbers, for choosing only: no privacy rests on floating point. */
export function normals(count) {
  const radii = uniforms(count).map((u) => Math.sqrt(-2 * Math.log1p(-u)));
  return uniforms(count).map((u, i) => radii[i] * Math.cos(2 * Math.PI * u));
}

/** Binomial(trials, 1/2), exactly: the ones among `trials` random bits. */
export function halves(trials, count) {
  const wide = Math.floor(trials / 64) + 1;
  const rest = trials % 64;
  const half = pairs(count * wide);
  return Array.from({ length: count }, (_, i) => {
    const end = 2 * wide * (i + 1) - 2;
    let ones = 0;
    for (let j = 2 * wide * i; j < end; j++) ones += bits(half[j]);
    return ones + bits(half[end] & lowest(rest)) + bits(half[end + 1] & lowest(rest - 32));
  });
}

const lowest = (count) => (count <= 0 ? 0 : count >= 32 ? -1 : (1 << count) - 1);

function bits(v) {
  v -= (v >>> 1) & 0x55555555;
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
  return Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** Uniform whole numbers in [0, bound), exactly: words above the largest multiple of `bound` are drawn again. */
export function below(bound, count) {
  const limit = 2n ** 64n - 1n - (2n ** 64n % bound);
  const out = words(count);
  for (;;) {
    const bad = [...out.keys()].filter((i) => out[i] > limit);
    if (!bad.length) return Array.from(out, (w) => w % bound);
    words(bad.length).forEach((w, i) => (out[bad[i]] = w));
  }
}

/** Whole numbers k with probability proportional to exp(-k^2 / (2 sigma^2)), up to a distance that the docstring of
 * reticent.privacy.entropy.discrete_gaussian proves: it asks for exp within 4 ulp, which `decay` is. */
export function gaussians(sigma, count) {
  const reach = Math.ceil(FARTHEST * sigma);
  const out = [];
  while (out.length < count) {
    const tries = 16 + 8 * (count - out.length);
    const k = below(BigInt(2 * reach + 1), tries).map((v) => Number(v) - reach);
    const drawn = words(tries);
    const accepted = (v) => BigInt(Math.floor(decay((v * v) / (2 * sigma * sigma)) * 2 ** 63));
    for (let i = 0; i < tries && out.length < count; i++) if (drawn[i] >> 1n < accepted(k[i])) out.push(k[i]);
  }
  return out;
}
