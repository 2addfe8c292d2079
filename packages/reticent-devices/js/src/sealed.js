// Reports sealed to a key of their batch, so that a relay can hide who sent them and reads nothing, and nobody opens a
// kept one once the batch is closed: HPKE, and Ed25519 for the shuffler's identity. The layout is in reticent_devices.roles.sealed,
// which opens them. The application pins the identity, which signs the keys of batches: one that came with a billboard
// would be the server's to choose.
import { hex, joined, utf8 } from "./bytes.js";
import { sealedTo } from "./hpke.js";
import { quiet } from "./quiet.js";

const ED25519 = { name: "Ed25519" };
const [NUMBER, PLACE, KEY, SIGNATURE] = [8, 24, 32, 64]; // bytes; place: a batch's number, its billboard's digest
const PLACE_AT = 4; // in a report
const [ABOUT, SIGNED] = ["reticent sealed report 3", "reticent batch key 2"].map(utf8);

const number = (place) => new DataView(place.slice(0, NUMBER).buffer).getBigUint64(0, true);

/** A `send` for Outbox that seals each report to its batch's key. identity: 32 bytes that the application pins. url:
 * where the relay passes on the shuffler's /key. send: what sends a sealed report (post), through the relay too. False
 * for a report whose batch is closed: nobody could open it any more. */
export const sealing = (identity, url, send) => async (report) => {
  const answer = await fetch(url, quiet());
  if (answer.status === 410) return false;
  if (!answer.ok) throw new Error("Expected the key of a batch, got none for now.");
  const { place, key } = await checked(new Uint8Array(await answer.arrayBuffer()), identity);
  const own = report.slice(PLACE_AT, PLACE_AT + PLACE);
  if (number(place) < number(own)) throw new Error("Expected the key of a report's batch, got that of an earlier one.");
  if (hex(place) !== hex(own)) return false;
  return send(joined([3], place.slice(0, NUMBER), await sealedTo(key, joined(ABOUT, place), report)));
};

/** The key of a batch that the shuffler of that identity has signed. */
async function checked(shown, identity) {
  const told = shown.slice(0, PLACE + KEY);
  const signer = await crypto.subtle.importKey("raw", identity, ED25519, false, ["verify"]);
  const valid = crypto.subtle.verify(ED25519, signer, shown.slice(PLACE + KEY), joined(SIGNED, told));
  if (shown.length !== PLACE + KEY + SIGNATURE || !(await valid))
    throw new Error("Expected a batch's key that the pinned shuffler has signed, got another.");
  return { place: told.slice(0, PLACE), key: told.slice(PLACE) };
}
