// Whole numbers modulo P = 2^64 - 2^32 + 1, as BigInt, and polynomials by their values at roots of unity
// (reticent_two.vdaf.field_kernel in Python).

export const P = 0xffffffff00000001n;

export const add = (a, b) => (a + b >= P ? a + b - P : a + b);
export const subtract = (a, b) => (a >= b ? a - b : a + P - b);
export const multiply = (a, b) => (a * b) % P;

export function power(a, exponent) {
  let out = 1n;
  for (let square = a; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) out = multiply(out, square);
    square = multiply(square, square);
  }
  return out;
}

/** The powers of a root of unity of order 2 n. */
export function roots(n) {
  const root = power(power(7n, 0xffffffffn), 2n ** 32n / BigInt(2 * n));
  const out = [1n];
  for (let i = 1; i < 2 * n; i++) out.push(multiply(out[i - 1], root));
  return out;
}

/** In place: from coefficients to values at roots of order n, or, without the factor 1 / n, back. */
function transform(values, twice, forwards) {
  const n = values.length;
  for (let i = 1, j = 0; i < n; i++) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) [values[i], values[j]] = [values[j], values[i]];
  }
  for (let length = 2; length <= n; length *= 2) {
    for (let start = 0; start < n; start += length) {
      for (let i = 0; i < length / 2; i++) {
        const at = ((2 * n) / length) * i;
        const [u, v] = [values[start + i], values[start + i + length / 2]];
        const turned = multiply(twice[forwards || at === 0 ? at : 2 * n - at], v);
        values[start + i] = add(u, turned);
        values[start + i + length / 2] = subtract(u, turned);
      }
    }
  }
}

/** The values at twice as many roots of the polynomial that has these values. */
export function doubled(values, twice) {
  const n = values.length;
  const odd = values.slice();
  const inverse = power(BigInt(n), P - 2n);
  transform(odd, twice, false);
  for (let i = 0; i < n; i++) odd[i] = multiply(odd[i], multiply(inverse, twice[i]));
  transform(odd, twice, true);
  return values.flatMap((v, i) => [v, odd[i]]);
}
