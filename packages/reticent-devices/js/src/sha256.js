// SHA-256 at once: WebCrypto's answers later, and only on pages that came over https.
import { joined } from "./bytes.js";

const primes = [];
for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
const fraction = (v) => ((v - Math.floor(v)) * 2 ** 32) | 0; // 18 bits to spare
const ROUNDS = primes.map((p) => fraction(Math.cbrt(p)));
const START = primes.slice(0, 8).map((p) => fraction(Math.sqrt(p)));
const turned = (v, by) => (v >>> by) | (v << (32 - by));

const mixed = (v, one, two, by) => turned(v, one) ^ turned(v, two) ^ (v >>> by);

/** The 32 bytes for some bytes. */
export function sha256(data) {
  const padded = new DataView(new ArrayBuffer((((data.length + 8) >> 6) + 1) << 6));
  new Uint8Array(padded.buffer).set(data);
  padded.setUint8(data.length, 128);
  padded.setBigUint64(padded.byteLength - 8, BigInt(data.length) * 8n);
  const hash = Int32Array.from(START);
  const w = new Int32Array(64);
  for (let at = 0; at < padded.byteLength; at += 64) {
    let [a, b, c, d, e, f, g, h] = hash;
    for (let i = 0; i < 64; i++) {
      w[i] =
        i < 16
          ? padded.getInt32(at + 4 * i)
          : w[i - 16] + w[i - 7] + mixed(w[i - 15], 7, 18, 3) + mixed(w[i - 2], 17, 19, 10);
      const one = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i];
      const two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      [a, b, c, d, e, f, g, h] = [(one + two) | 0, a, b, c, (d + one) | 0, e, f, g];
    }
    [a, b, c, d, e, f, g, h].forEach((v, i) => (hash[i] += v));
  }
  const out = new DataView(new ArrayBuffer(32));
  hash.forEach((v, i) => out.setInt32(4 * i, v));
  return new Uint8Array(out.buffer);
}

/** HMAC-SHA-256 with a key of at most 64 bytes. */
export function hmac(key, data) {
  const padded = (v) => Uint8Array.from({ length: 64 }, (_, i) => (key[i] ?? 0) ^ v);
  return sha256(joined(padded(92), sha256(joined(padded(54), data))));
}
