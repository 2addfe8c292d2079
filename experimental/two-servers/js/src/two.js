// The device for two aggregators: choose by the billboard, linearise, round to whole cells, split into two shares with a
// proof, and seal each to its aggregator; as by reticent_two.roles. Against one aggregator the other one's noise protects;
// against both together nothing does.
import { hex, joined, utf8 } from "../../../../packages/reticent-devices/js/src/bytes.js";
import { Device } from "../../../../packages/reticent-devices/js/src/device.js";
import { sealedTo } from "../../../../packages/reticent-devices/js/src/hpke.js";
import { MARGIN, farthest } from "../../../../packages/reticent-devices/js/src/limits.js";
import { LINKS } from "../../../../packages/reticent-devices/js/src/links.js";
import { clipped, inUnits, linearized, pair, scored } from "../../../../packages/reticent-devices/js/src/model.js";
import { argmax, decay, dot, rint, tail } from "../../../../packages/reticent-devices/js/src/numbers.js";
import { Bounded, Prio3 } from "./prio3.js";
import { normals, octets, uniforms } from "../../../../packages/reticent-devices/js/src/random.js";
import { need } from "../../../../packages/reticent-devices/js/src/schema.js";
import { sha256 } from "../../../../packages/reticent-devices/js/src/sha256.js";
import { followed, trusted } from "./signed.js";

const HALF = 2048; // numbers of a report are above -HALF and below it
const SLACK = 2 ** -30; // relative, of the longest contribution
const SAME = 1e-9; // relative: so far may two machines' arithmetic be apart
const LARGEST = 700; // epsilon of a claim that a device works with
const ROLES = ["leader", "helper"];

/** The device of a billboard of two aggregators. options: `identities`: 32 bytes of each, leader and helper, which the
/** application ships; `epsilon`, `delta`: its own limits on either claim; `rewards`, `features`: the application's.
/** Throws BadBillboard. */
export async function openTwoServer(billboard, { identities, epsilon = Infinity, delta = 1, ...own }) {
  const pinned = identities?.length === 2 && identities.every((one) => one instanceof Uint8Array && one.length === 32);
  if (!pinned) throw new TypeError("Expected identities of 32 bytes of both aggregators, got others.");
  if (!globalThis.crypto?.subtle) throw new TypeError("Expected a page that came over https, got one without WebCrypto.");
  return new TwoServerClient(await trusted(billboard, identities, Date.now() / 1000), { epsilon, delta }, own);
}

export class TwoServerClient extends Device {
  constructor({ task, board, keys, mark }, limits, own) {
    super({ ...task, ...board, theta: board.theta }, own);
    Object.assign(this, { task, keys, mark, batch: null, bound: task.digest });
    const claims = [task.operator, task.helper];
    const worse = (name) => Math.max(...claims.map((claim) => claim[name]));
    this.spends({ epsilon: worse("epsilon"), delta: worse("delta") }, limits);
    this.mu = claims.map(muOf);
    this.parties = ROLES.map((name) => task.identities[name]);
    this.numbers = numbersOf(task);
    for (const [name, value] of Object.entries(this.numbers)) {
      const given = task.numbers[name];
      need(Math.abs(given - value) <= SAME * value, name, `${given} where ${value} follows from the rest`);
    }
    const { size, squares } = this.numbers;
    this.prio3 = new Prio3(new Bounded({ size, top: 2 * HALF - 1, centre: HALF, longest: squares }), task.digest);
  }

  get relation() {
    return "replace";
  }

  /** The marks with this billboard's; throws BadBillboard if it is older than they are. */
  seen(marks) {
    return { ...marks, [hex(this.bound)]: followed(marks[hex(this.bound)], this.mark) };
  }

  pick(rows) {
    const { random, theta, axes, spread } = this.board;
    if (random) return Math.floor(uniforms(1)[0] * rows.length);
    const target = [...theta];
    if (!axes.length && spread[0] > 0) normals(this.dim).forEach((v, i) => (target[i] += spread[0] * v));
    else
      spread.forEach((std, k) => {
        const draw = axes.length && std > 0 && std * normals(1)[0];
        if (draw) axes.forEach((row, i) => (target[i] += draw * row[k]));
      });
    return argmax(rows.map((x) => dot(x, target)));
  }

  /** A promise of the report, whose nonce is the id. */
  async encoded(x, reward, id) {
    const cells = this.cells(this.contribution(x, reward ?? this.rewards[0]).map((v) => (reward === null ? 0 : v)));
    const { public: parts, shares } = this.prio3.shard(cells, id, octets(128));
    const sealed = await Promise.all(
      shares.map((share, i) => {
        const about = [utf8("reticent share of two aggregators 1"), utf8(ROLES[i]), this.bound, id, sha256(parts)];
        const info = joined(...about.flatMap((part) => [[part.length >> 8, part.length & 255], part]));
        return sealedTo(this.keys[i].key, info, share);
      }),
    );
    return joined(this.bound, id, ...this.keys.map(({ number }) => number), parts, ...sealed);
  }

  contribution(x, reward) {
    const { at, inverse, link, rewards, report } = this.board;
    const estimate = { link, rewards, inverse, theta: at };
    if (report.name === "score") return clipped(scored(x, reward, estimate), this.numbers.norm);
    const [weight, response] = linearized(x, inUnits(reward, estimate, false), estimate, report.blend);
    return clipped(pair(x, report.scale * weight, response), this.numbers.norm);
  }

  /** In whole cells; zeros where that does not fit the circuit, by the same work. */
  cells(vector) {
    const whole = vector.map((v) => rint(v / this.numbers.cell));
    const fits = whole.every((v) => Math.abs(v) < HALF) && dot(whole, whole) <= this.numbers.squares;
    return whole.map((v) => (fits ? v : 0));
  }
}

/** What follows from a task: how many numbers a contribution has, how long, how far apart two of them, in which cells,
 * and what the squares of its cells add up to at most. */
function numbersOf({ dim, link, report }) {
  const score = report.name === "score";
  const weight = score ? 0 : report.scale * LINKS[link].largest;
  const size = score ? dim : (dim * (dim + 3)) / 2;
  const norm = score ? 1 : Math.sqrt(1 + weight * weight);
  const most = HALF - 1 - Math.sqrt(size) / 2;
  const longest = norm * (1 + SLACK);
  need(most >= 1, "number of features", "too many");
  let cell = 1;
  while (longest / cell > most) cell *= 2;
  while (longest / (cell / 2) <= most) cell /= 2;
  const reach = Math.ceil(longest / cell + Math.sqrt(size) / 2);
  return { size, norm, sensitivity: score ? 2 : farthest(weight), cell, squares: reach * reach };
}

/** The mu of Gaussian noise for a claim, from above: reticent.privacy.gaussian has the curve. */
function muOf({ epsilon, delta }) {
  need(epsilon <= LARGEST, "claim", `epsilon ${epsilon}`);
  const spends = (mu) => tail(epsilon / mu - mu / 2) - tail(epsilon / mu + mu / 2) / decay(epsilon);
  let [low, high] = [0, 1];
  while (spends(high) <= delta && high < 2 ** 20) high *= 2;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (spends(middle) <= delta) low = middle;
    else high = middle;
  }
  return high;
}
