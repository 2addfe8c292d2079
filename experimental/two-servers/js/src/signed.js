// The billboard of two aggregators, as by reticent_two.roles.signed, where its seven lines are described: a device acts by
// what both identities have signed, that has not expired, and that is no older than what it has seen. The application
// ships the identities: some that came with a billboard would be the server's to choose.
import { hex, joined, utf8 } from "../../../../packages/reticent-devices/js/src/bytes.js";
import { sealedTo } from "../../../../packages/reticent-devices/js/src/hpke.js";
import { LINKS } from "../../../../packages/reticent-devices/js/src/links.js";
import { BELOW_ONE, LONG, LONGEST, MATRIX, PART, POSITIVE, ROW, checked, need, ranged, square } from "../../../../packages/reticent-devices/js/src/schema.js";
import { flag, oneOf, orNull, real, record, text, variant, whole } from "../../../../packages/reticent-devices/js/src/schema.js";
import { sha256 } from "../../../../packages/reticent-devices/js/src/sha256.js";

const FIRST = "reticent billboard of two aggregators 1";
const [TASK, BOARD, SEALING] = ["task", "board", "sealing key"].map((what) => utf8(`reticent ${what} of two aggregators 1\n`));
const PARTIES = ["leader", "helper"];
const SIGNED = 64; // bytes of a signature
const HEAD = 81; // bytes of a sealing key before its signature
const MONTH = 31 * 86400; // seconds
const STEPS = 2 ** 14;
const BITS = 12;

const DIGEST = text(/^[0-9a-f]{64}$/);
const ofEach = (field) => record(Object.fromEntries(PARTIES.map((name) => [name, field])));
const EACH = { first: whole(1, 2 ** 53), growth: real(1, 1e6), leaves: whole(1, STEPS), discount: PART };
const [PLAIN, FADING] = [record(EACH), record({ ...EACH, longest: whole(1, 2 ** 53) })]; // where the past is forgotten
const fades = (v) => v !== null && typeof v === "object" && Object.hasOwn(v, "longest");
const CLAIM = record({ epsilon: orNull(POSITIVE), delta: BELOW_ONE });
const TASK_FIELDS = {
  format: oneOf("reticent task of two aggregators"),
  protocol: oneOf(2n),
  era: DIGEST,
  bandit: text(/^[A-Za-z][A-Za-z0-9_]{0,63}$/),
  dim: whole(1, 4096),
  features: orNull(DIGEST),
  link: oneOf(...Object.keys(LINKS)),
  rewards: ROW,
  report: variant("name", { glm: { scale: real(1e-6, 1e6), blend: PART }, score: {} }),
  operator: CLAIM,
  helper: CLAIM,
  steps: (v) => (fades(v) ? FADING : PLAIN)(v),
  identities: ofEach(DIGEST),
  commitments: ofEach(DIGEST),
  numbers: record({
    size: whole(1, 2 ** 24),
    bits: oneOf(BigInt(BITS)),
    proofs: oneOf(3n),
    squares: whole(1, 2 ** 53),
    cell: POSITIVE,
    norm: POSITIVE,
    sensitivity: POSITIVE,
    encoder: DIGEST,
    sigma: ofEach(real(0, 1e12)),
  }),
};
const BOARD_FIELDS = {
  format: oneOf("reticent board of two aggregators"),
  task: DIGEST,
  version: whole(0, 2 ** 53),
  previous: DIGEST,
  step: whole(0, STEPS),
  leaves: ofEach(DIGEST),
  made: whole(0, 2 ** 40),
  expires: whole(0, 2 ** 40),
  random: flag,
  theta: ROW,
  at: ROW,
  inverse: MATRIX,
  axes: MATRIX,
  spread: ROW,
};

const ascii = (data) => String.fromCharCode(...data);
const bytesOf = (digits) => {
  need(/^(?:[0-9a-fA-F]{2})*$/.test(digits), "signatures in hexadecimal digits");
  return Uint8Array.from(digits.match(/../g) ?? [], (two) => parseInt(two, 16));
};

async function verified(identity, kind, said, signature) {
  const key = await crypto.subtle.importKey("raw", identity, { name: "Ed25519" }, false, ["verify"]);
  const holds = await crypto.subtle.verify({ name: "Ed25519" }, key, signature, joined(kind, said));
  need(signature.length === SIGNED && holds, "signature of both known aggregators");
}

const bothSigned = (identities, kind, said, signatures) => {
  need(signatures.length === 2 * SIGNED, "two signatures");
  const of = (i) => verified(identities[i], kind, said, signatures.slice(i * SIGNED, (i + 1) * SIGNED));
  return Promise.all([of(0), of(1)]);
};

/** What a device may act by: {task, board, keys, mark}, with `digest` of the task in it. now: in seconds. */
export async function trusted(billboard, identities, now) {
  need(billboard instanceof Uint8Array && billboard.length <= LONGEST, "length");
  const lines = split(billboard);
  need(lines.length === 7 && ascii(lines[0]) === FIRST, "first line");
  const [taskSigned, boardSigned, ...shown] = [2, 4, 5, 6].map((i) => {
    need(lines[i].length <= 2 * (HEAD + SIGNED), "length of signatures");
    return bytesOf(ascii(lines[i]));
  });
  await bothSigned(identities, TASK, lines[1], taskSigned);
  await bothSigned(identities, BOARD, lines[3], boardSigned);
  const [task] = checked(lines[1], TASK_FIELDS);
  const digest = sha256(lines[1]);
  ranged(task.rewards);
  need(task.steps.discount > 0, "discount");
  for (const [i, name] of PARTIES.entries()) need(task.identities[name] === hex(identities[i]), "pair of identities");
  need(hex(identities[0]) !== hex(identities[1]), "pair of identities", "one twice");
  for (const { epsilon, delta } of [task.operator, task.helper]) need(epsilon !== null && delta > 0, "claim", "none");
  const [board] = checked(lines[3], BOARD_FIELDS);
  shaped(board, task, hex(digest));
  const keys = await Promise.all(shown.map((key, i) => sealingKey(key, digest, i, identities[i])));
  need(now < board.expires && keys.every(({ until }) => now < until), "board and keys", "some that have expired");
  const mark = [board.version, hex(sha256(lines[3])), keys.map(({ since }) => since)];
  return { task: { ...task, digest }, board, keys, mark };
}

function split(data) {
  const out = [];
  for (let at = 0, end; at <= data.length; at = end + 1) {
    end = data.indexOf(10, at);
    if (end < 0) end = data.length;
    out.push(data.slice(at, end));
    if (out.length > 7) break;
  }
  return out;
}

function shaped(board, task, digest) {
  need(board.task === digest, "task");
  need(board.expires > board.made && board.expires - board.made <= MONTH, "time to expire");
  const score = task.report.name === "score";
  for (const name of ["theta", "at"]) need(board[name].length === task.dim, name);
  for (const name of ["inverse", "axes"]) need(square(board[name], score ? 0 : task.dim), name);
  need(board.spread.length === (score ? 1 : task.dim) && board.spread.every((v) => v >= 0), "spread");
}

async function sealingKey(shown, digest, party, identity) {
  need(shown.length === HEAD + SIGNED, "sealing key");
  const head = shown.slice(0, HEAD);
  await verified(identity, SEALING, head, shown.slice(HEAD));
  const view = new DataView(head.buffer);
  const [since, until] = [Number(view.getBigUint64(33, true)), Number(view.getBigUint64(41, true))];
  need(hex(head.slice(0, 32)) === hex(digest) && head[32] === party, "sealing key");
  need(since < until && until <= since + MONTH && until < 2 ** 53, "sealing key");
  const key = head.slice(49);
  const works = await sealedTo(key, new Uint8Array(), new Uint8Array()).catch(() => null);
  need(works, "sealing key", "one that nothing can be sealed to");
  return { since, until, key, number: head.slice(33, 41) };
}

/** The mark to keep of a billboard, where it is no older than the one that was kept: [version, hash, [since, since]]. */
export function followed(seen, mark) {
  if (!seen) return mark;
  need(seen[0] <= mark[0], "board", "one that is older than the last");
  need(seen[0] < mark[0] || seen[1] === mark[1], "board", "two of one version");
  need(seen[2].every((since, i) => since <= mark[2][i]), "sealing key", "one that is older than the last");
  return mark;
}
