// HPKE (RFC 9180), base mode, one message a context: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM, by WebCrypto.
// reticent_devices.roles.hpke opens it.
import { joined, utf8 } from "./bytes.js";
import { octets } from "./random.js";

const X25519 = { name: "X25519" };
const [KEM, SUITE] = [
  [75, 69, 77, 0, 32], // "KEM", 0x0020
  [72, 80, 75, 69, 0, 32, 0, 1, 0, 2], // "HPKE", 0x0020, 0x0001, 0x0002
];
const HPKE = utf8("HPKE-v1");
const PKCS8 = [48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 110, 4, 34, 4, 32]; // before the 32 bytes of a private key
const NONE = new Uint8Array();

async function mac(key, data) {
  const { subtle } = crypto;
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const made = await subtle.importKey("raw", key.length ? key : new Uint8Array(32), algorithm, false, ["sign"]);
  return new Uint8Array(await subtle.sign("HMAC", made, data));
}

const extracted = (suite, salt, label, secret) => mac(salt, joined(HPKE, suite, utf8(label), secret));

/** At most 32 bytes: one round of HKDF's expansion. */
const expanded = async (suite, key, label, info, length) =>
  (await mac(key, joined([0, length], HPKE, suite, utf8(label), info, [1]))).slice(0, length);

/** What is sealed to a public key of 32 bytes about `info`: 32 bytes of a key that serves this alone, then the text, which
 * is 16 bytes longer. */
export async function sealedTo(key, info, text) {
  const { subtle } = crypto;
  const own = await subtle.importKey("pkcs8", joined(PKCS8, octets(32)), X25519, true, ["deriveBits"]);
  const { x } = await subtle.exportKey("jwk", own); // the public half
  const enc = Uint8Array.from(atob(x.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  const theirs = await subtle.importKey("raw", key, X25519, false, []);
  const shared = new Uint8Array(await subtle.deriveBits({ ...X25519, public: theirs }, own, 256));
  const agreed = await extracted(KEM, NONE, "eae_prk", shared);
  const secret = await expanded(KEM, agreed, "shared_secret", joined(enc, key), 32);
  const context = joined(
    [0], // base mode
    await extracted(SUITE, NONE, "psk_id_hash", NONE),
    await extracted(SUITE, NONE, "info_hash", info),
  );
  const start = await extracted(SUITE, secret, "secret", NONE);
  const [aes, iv] = await Promise.all([
    expanded(SUITE, start, "key", context, 32),
    expanded(SUITE, start, "base_nonce", context, 12),
  ]);
  const sealing = await subtle.importKey("raw", aes, "AES-GCM", false, ["encrypt"]);
  return joined(enc, new Uint8Array(await subtle.encrypt({ name: "AES-GCM", iv }, sealing, text)));
}
