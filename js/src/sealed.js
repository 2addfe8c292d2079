// Reports sealed to a key of their batch, so that a relay can hide who sent them and reads nothing, and nobody opens a
// kept one once the batch is closed: ECDH and ECDSA on P-256, HKDF-SHA-256 and AES-256-GCM by WebCrypto. The layout is
// in tacit.roles.sealed, which opens them. The application pins the shuffler's identity, which signs the keys of
// batches: one that came with a billboard would be the server's to choose.
import { hex, joined } from "./bytes.js";
import { quiet } from "./quiet.js";

const CURVE = { name: "ECDH", namedCurve: "P-256" };
const SIGNING = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const [NUMBER, PLACE, POINT, SIGNATURE] = [8, 24, 65, 64]; // bytes; place: a batch's number, its billboard's digest
const PLACE_AT = 4; // in a report
const [ABOUT, SIGNED] = ["tacit sealed report 2", "tacit batch key 1"].map((text) =>
  Uint8Array.from(text, (c) => c.charCodeAt(0)),
);

const number = (place) => new DataView(place.slice(0, NUMBER).buffer).getBigUint64(0, true);

/** A `send` for Outbox that seals each report to its batch's key. identity: 65 bytes that the application pins. url:
 * where the relay passes on the shuffler's /key. send: what sends a sealed report (post), through the relay too. False
 * for a report whose batch is closed: nobody could open it any more. */
export const sealing = (identity, url, send) => async (report) => {
  const answer = await fetch(url, quiet());
  if (answer.status === 410) return false;
  if (!answer.ok) throw new Error("Expected the key of a batch, got none for now.");
  const { place, point } = await checked(new Uint8Array(await answer.arrayBuffer()), identity);
  const own = report.slice(PLACE_AT, PLACE_AT + PLACE);
  if (number(place) < number(own)) throw new Error("Expected the key of a report's batch, got that of an earlier one.");
  return hex(place) === hex(own) && send(await sealed(report, place, point));
};

/** The key of a batch that the shuffler of that identity has signed. */
async function checked(shown, identity) {
  const told = shown.slice(0, PLACE + POINT);
  const signer = await crypto.subtle.importKey("raw", identity, SIGNING, false, ["verify"]);
  const valid = crypto.subtle.verify(SIGNING, signer, shown.slice(PLACE + POINT), joined(SIGNED, told));
  if (shown.length !== PLACE + POINT + SIGNATURE || !(await valid))
    throw new Error("Expected a batch's key that the pinned shuffler has signed, got another.");
  return { place: told.slice(0, PLACE), point: told.slice(PLACE) };
}

/** A report sealed to that point. Its key and nonce serve this one alone. */
async function sealed(report, place, point) {
  const { subtle } = crypto;
  const theirs = await subtle.importKey("raw", point, CURVE, false, []);
  const own = await subtle.generateKey(CURVE, false, ["deriveBits"]);
  const head = joined([2], place.slice(0, NUMBER), new Uint8Array(await subtle.exportKey("raw", own.publicKey)));
  const shared = await subtle.deriveBits({ name: "ECDH", public: theirs }, own.privateKey, 256);
  const secret = await subtle.importKey("raw", shared, "HKDF", false, ["deriveBits"]);
  const info = joined(ABOUT, head, point);
  const made = await subtle.deriveBits({ name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info }, secret, 352);
  const aes = await subtle.importKey("raw", made.slice(0, 32), "AES-GCM", false, ["encrypt"]);
  const text = await subtle.encrypt({ name: "AES-GCM", iv: made.slice(32) }, aes, report);
  return joined(head, new Uint8Array(text));
}
