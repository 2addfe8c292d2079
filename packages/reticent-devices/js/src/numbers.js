// Functions that engines may round as they like (Math.exp, Math.pow) and those that JavaScript lacks.

const LN2 = Math.LN2;
const HIGH = 0.6931471803691238; // ln 2 to 33 bits, so that k * HIGH is exact
const LOW = 1.9082149292705877e-10; // and the rest of it

/** e^-q for q >= 0, within 4 ulp; 0 beyond 745.
 *
 * Proof, with u = 2^-53; an ulp is at least u times the number. e^-q = 2^-k e^r, r = k ln 2 - q, |r| < a = .3467. k *
 * HIGH is exact, k * HIGH - q and the sum with k * LOW have errors below .35 u each, so e^r is within a factor 1 +-
 * .7 u. Horner: p_n = 1 + r p_(n+1) / (n+1) from p_14 = 1, and p_0 differs from e^r by a^15 / 15! < .01 u. The share
 * of the second term in p_n is at most a / (n + 1 - a) =: s_n, and it takes two roundings, the sum one: the relative
 * errors satisfy e_n <= s_n (e_(n+1) + 2 u) + u, that is e_3 < 1.4 u, e_2 < 1.45 u, e_1 < 1.73 u, e_0 < 2.98 u.
 * Halving is exact for q < 700. Together less than 3.7 u. */
export function decay(q) {
  if (!(q < 745)) return 0;
  let k = Math.round(q / LN2);
  const r = k * HIGH - q + k * LOW;
  let p = 1;
  for (let n = 14; n > 0; n--) p = 1 + (r * p) / n;
  while (k-- > 0) p /= 2;
  return p;
}

/** a^n for a whole number n >= 0. */
export function power(a, n) {
  let out = 1;
  while (n-- > 0) out *= a;
  return out;
}

/** P(N >= t) of a standard normal number, to 12 digits: a series of positive terms, or Laplace's continued fraction. */
export function tail(t) {
  if (t < 0) return 1 - tail(-t);
  const square = t * t;
  const density = decay(square / 2) / Math.sqrt(2 * Math.PI);
  if (t < 2.5) {
    let sum = t;
    for (let term = t, n = 3; term > sum * 1e-18; n += 2) sum += term *= square / n;
    return 0.5 - density * sum;
  }
  let below = t;
  for (let n = 80; n > 0; n--) below = t + n / below;
  return density / below;
}

/** ln x for a positive number, by the series of 2 artanh((x - 1) / (x + 1)) near 1. */
export function logarithm(x) {
  let k = 0;
  for (; x > 1.5; k++) x /= 2;
  for (; x < 0.75; k--) x *= 2;
  const z = (x - 1) / (x + 1);
  let p = 0;
  for (let n = 25; n > 0; n -= 2) p = 1 / n + z * z * p;
  return k * LN2 + 2 * z * p;
}

/** The nearest whole number, of two the even one. */
export function rint(v) {
  const low = Math.floor(v);
  const rest = v - low;
  return rest < 0.5 || (rest === 0.5 && low % 2 === 0) ? low : low + 1;
}

export const dot = (a, b) => {
  let out = 0;
  for (let i = 0; i < a.length; i++) out += a[i] * b[i];
  return out;
};

/** x' M x */
export const quadratic = (x, matrix) => {
  let out = 0;
  for (let i = 0; i < x.length; i++) out += x[i] * dot(x, matrix[i]);
  return out;
};

/** Where the largest is; the first of several. */
export const argmax = (values) => {
  let at = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[at]) at = i;
  return at;
};
