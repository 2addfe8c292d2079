// Admission: one report for one token, a blind signature of somebody who knows accounts (RFC 9474,
// RSABSSA-SHA384-PSS-Deterministic), as by tacit.roles.two.admission. It is for robustness alone: it bounds how many
// reports an account can send. No privacy rests on it.
import { joined, utf8 } from "./bytes.js";
import { octets } from "./random.js";

const ADMISSION = utf8("tacit admission 1");
const ABOUT = 48; // bytes of a report that its token signs: task and nonce
const SALT = 48;
const PSS = { name: "RSA-PSS", hash: "SHA-384" };

const sha384 = async (data) => new Uint8Array(await crypto.subtle.digest("SHA-384", data));
const whole = (bytes) => bytes.reduce((sum, v) => (sum << 8n) | BigInt(v), 0n);
const bytesOf = (value, size) => {
  const digits = value.toString(16).padStart(2 * size, "0");
  return Uint8Array.from({ length: size }, (_, i) => parseInt(digits.slice(2 * i, 2 * i + 2), 16));
};

function raised(base, exponent, n) {
  let out = 1n;
  for (let square = base % n; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) out = (out * square) % n;
    square = (square * square) % n;
  }
  return out;
}

function inverted(value, n) {
  let [a, b, x, y] = [value % n, n, 1n, 0n];
  while (b) {
    const q = a / b;
    [a, b, x, y] = [b, a - q * b, y, x - q * y];
  }
  return ((x % n) + n) % n;
}

/** EMSA-PSS-ENCODE of RFC 8017, with SHA-384 and MGF1 of it. */
async function padded(message, bits, salt) {
  const length = Math.ceil(bits / 8);
  const digest = await sha384(joined(new Uint8Array(8), await sha384(message), salt));
  const block = joined(new Uint8Array(length - 2 * SALT - 2), [1], salt);
  const count = Math.ceil(block.length / SALT);
  const stream = joined(
    ...(await Promise.all(Array.from({ length: count }, (_, i) => sha384(joined(digest, [0, 0, 0, i]))))),
  );
  const masked = block.map((v, i) => v ^ stream[i]);
  masked[0] &= 255 >> (8 * length - bits);
  return joined(masked, digest, [188]);
}

/** A `send` for Outbox: each report leaves with a token behind it. issuer: the public key, in DER (SPKI), of the issuer.
 * ask: from a blinded message to a promise of the issuer's answer, by which way the issuer knows the account. */
export function admitting(issuer, ask, send) {
  const tokens = new Map();
  return async (report) => {
    const message = joined(ADMISSION, report.slice(0, ABOUT));
    const about = message.join();
    if (!tokens.has(about)) tokens.set(about, await tokenOf(issuer, message, ask));
    const taken = await send(joined(report, tokens.get(about)));
    tokens.delete(about);
    return taken;
  };
}

async function tokenOf(issuer, message, ask) {
  const key = await crypto.subtle.importKey("spki", issuer, PSS, true, ["verify"]);
  const { n: text, e } = await crypto.subtle.exportKey("jwk", key);
  const decoded = (base) => whole([...atob(base.replace(/-/g, "+").replace(/_/g, "/"))].map((c) => c.charCodeAt(0)));
  const n = decoded(text);
  const bits = n.toString(2).length;
  const size = Math.ceil(bits / 8);
  const encoded = whole(await padded(message, bits - 1, octets(SALT)));
  let undo = 0n;
  while (undo < 1n || undo >= n) undo = whole(octets(size)); // uniform
  const hidden = (encoded * raised(inverted(undo, n), decoded(e), n)) % n;
  const answer = whole(await ask(bytesOf(hidden, size)));
  const token = bytesOf((answer * undo) % n, size);
  if (!(await crypto.subtle.verify({ ...PSS, saltLength: SALT }, key, token, message)))
    throw new Error("Expected an issuer's answer that makes a token, got another.");
  return token;
}
