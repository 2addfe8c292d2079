// Reports sealed to the shuffler's key, so that a relay can hide who sent them and reads nothing: ECDH P-256, HKDF-
// SHA-256 and AES-256-GCM by WebCrypto. tacit.roles.sealed opens them. The key is the application's, pinned in it:
// one that came with a billboard would be the server's to choose.
import { joined } from "./bytes.js";

const CURVE = { name: "ECDH", namedCurve: "P-256" };
const ABOUT = Uint8Array.from("tacit sealed report 1", (c) => c.charCodeAt(0));

/** A function that seals reports to `key`, 65 bytes: a point of P-256, uncompressed. Its key and nonce serve one
/** report. */
export function sealer(key) {
  const { subtle } = crypto;
  const theirs = subtle.importKey("raw", key, CURVE, false, []);
  return async (report) => {
    const own = await subtle.generateKey(CURVE, false, ["deriveBits"]);
    const point = new Uint8Array(await subtle.exportKey("raw", own.publicKey));
    const shared = await subtle.deriveBits({ name: "ECDH", public: await theirs }, own.privateKey, 256);
    const secret = await subtle.importKey("raw", shared, "HKDF", false, ["deriveBits"]);
    const info = joined(ABOUT, point, key);
    const made = await subtle.deriveBits({ name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info }, secret, 352);
    const aes = await subtle.importKey("raw", made.slice(0, 32), "AES-GCM", false, ["encrypt"]);
    const text = await subtle.encrypt({ name: "AES-GCM", iv: made.slice(32) }, aes, report);
    return joined([1], point, new Uint8Array(text));
  };
}
