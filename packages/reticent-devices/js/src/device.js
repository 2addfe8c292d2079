// The devices of both models: choose by the billboard, randomise, report. Once an arm was chosen there is a report,
// of one length and by the same work, whatever the reward: one that fails to come would tell it without noise.
import { local, shuffle } from "./billboard.js";
import { joined } from "./bytes.js";
import { chances, drawn } from "./designs.js";
import { MARGIN, extent, holds, spent } from "./limits.js";
import { bounded, clipped, inUnits, linearized, pair, scored, shortened } from "./model.js";
import { argmax, dot, quadratic } from "./numbers.js";
import { halves, normals, octets, uniforms } from "./random.js";
import { cap, coin, lattice } from "./randomizers.js";
import { need } from "./schema.js";

const ID = 8; // bytes of an id in a report
const LEFT = 1e-9; // arms longer than 1 by more than this are cut to 1
const TOLERANCE = 1e-6; // and by more than this refused
const expect = (holds, what, got) => {
  if (!holds) throw new TypeError(`Expected ${what}, got ${got}.`);
};

export class Device {
  constructor(board, { rewards, features, ...others }) {
    expect(!Object.keys(others).length, "the options of this device", Object.keys(others));
    this.board = board;
    this.dim = board.dim;
    this.rewards = board.rewards;
    this.features = features ?? null;
    const [low, high] = board.rewards;
    if (rewards !== undefined) {
      const range = Array.isArray(rewards) && rewards.length === 2 && rewards.every(Number.isFinite);
      expect(range && rewards[0] < rewards[1], "rewards low < high", "others");
      need(rewards[0] === low && rewards[1] === high, "range of rewards", `${low} to ${high}`);
    }
    if (features) need(features.digest === board.features, "digest of the features");
  }

  /** `found`: what a report costs, as the device knows it; refused if that is above the application's limits. */
  spends(found, limits) {
    const { epsilon, delta } = found;
    const allowed = epsilon <= limits.epsilon * (1 + MARGIN) && delta <= limits.delta;
    need(allowed, "claim within the limits", `${epsilon} and ${delta}`);
    this.cost = { epsilon, delta };
  }

  /** The arm for this user, of rows of numbers of norm at most 1, by index or by name; with a schema, of the person's
   * fields and `actions`, as Schema.rows takes them. floor: with this probability it is drawn uniformly from the K
   * arms; then the arm that is displayed is private by itself, at `displayed` of the choice, ln(1 + (1 - floor) K /
   * floor). Without a floor nothing protects features from somebody who sees what is displayed. */
  choose(arms, actions, floor = 0) {
    expect(floor >= 0 && floor <= 1, "floor in [0, 1]", "another");
    const { names, rows } = this.features ? this.features.rows(arms, actions) : checkedArms(arms, this.dim);
    const picked = this.pick(rows);
    const [drawn, other] = floor ? uniforms(2) : [1, 0];
    const index = drawn < floor ? Math.floor(other * rows.length) : picked;
    const displayed = floor ? Math.log1p(((1 - floor) * rows.length) / floor) : null;
    const reported = this.batch === null || !this.chosen;
    this.chosen = true;
    return new Choice(index, names ? names[index] : null, displayed, rows[index], reported);
  }

  /** The report for the server: the same bytes however often it is asked for. A reward outside the range is clipped,
  /** NaN counts as null: no reward came. What is no number at all is an error of the program. */
  randomize(choice, reward) {
    expect(choice instanceof Choice && choice.x.length === this.dim, "what choose returned", "another");
    expect(choice.reported, "one choice of a person in a batch to be reported", "another");
    return (choice.report ??= this.report(choice.x, reward, choice.id));
  }

  /** A fresh report of the arm played and its reward, with the choice's id: randomize makes it once for each choice. */
  report(x, reward, id) {
    expect(reward === null || typeof reward === "number", "a reward that is a number or null", typeof reward);
    const [low, high] = this.rewards;
    return this.encoded(
      shortened(x),
      reward === null || Number.isNaN(reward) ? null : Math.min(Math.max(reward, low), high),
      id,
    );
  }
}

/** What was chosen for one person: it holds raw data and stays on the device. The id of its report is drawn with it: a
/** report that a copy of the device makes anew is counted once. */
export class Choice {
  constructor(index, name, displayed, x, reported) {
    Object.assign(this, { index, name, displayed, reported });
    const hidden = { x: { value: x }, id: { value: octets(16) }, report: { writable: true } }; // not listed, so not logged
    Object.defineProperties(this, hidden);
  }
}

/** The device of the local model: what randomize returns is private by itself, at the claim that the device has
/** checked. options: `epsilon`, `delta`: its own limits; `rewards`, `features`: the application's; `publicArms`:
/** whether the arm played may be sent as it is. */
export class LocalClient extends Device {
  constructor(billboard, { epsilon, delta, publicArms = false, ...own } = {}) {
    limited(epsilon ?? 1, delta ?? 0);
    super(local(billboard), own);
    this.batch = null;
    const { claim, randomizer, report } = this.board;
    this.extent = extent(this.board);
    need(report.name !== "public" || publicArms === true, "report", "one with arms in the clear");
    need(claim.epsilon !== null && holds(randomizer, claim, this.extent), "noise for its claim", "less");
    this.spends(claim, { epsilon: epsilon ?? Infinity, delta: delta ?? (epsilon === undefined ? 1 : 0) });
  }

  /** What a report is private for, as reticent.privacy.relations has it: the whole datum, or the reward alone. */
  get relation() {
    return this.board.report.name === "public" ? "replace rewards" : "replace";
  }

  pick(rows) {
    const { theta, policy } = this.board;
    if (policy.name === "best" && !policy.random) return argmax(rows.map((x) => dot(x, theta)));
    const draw = normals(theta.length);
    if (policy.name === "best") return argmax(rows.map((x) => dot(x, draw)));
    const target = theta.map((v, i) => (policy.random ? 0 : v) + dot(policy.root[i], draw));
    return argmax(rows.map((x) => dot(x, target)));
  }

  encoded(x, reward, id) {
    const { randomizer, tag } = this.board;
    let body;
    if (randomizer.kind === "coin") {
      const [low, high] = this.rewards;
      const arm = new DataView(new ArrayBuffer(8 * x.length));
      x.forEach((v, i) => arm.setFloat64(8 * i, v, true));
      const share = reward === null ? 0.5 : (reward - low) / (high - low);
      body = joined(new Uint8Array(arm.buffer), coin(share, randomizer));
    } else body = (randomizer.kind === "cap" ? cap : lattice)(this.contribution(x, reward), randomizer);
    return joined([76], id.slice(0, ID), tag, body); // 76: L
  }

  /** The vector that is randomised; one for a reward that never came is zeros, after the same work. */
  contribution(x, reward) {
    const { report, theta, link } = this.board;
    const [low, high] = this.rewards;
    const given = reward ?? Math.min(Math.max(0, low), high);
    if (report.name === "score") return this.within(scored(x, given, this.board), reward);
    const wide = theta.length > this.dim ? [...x.map((v) => report.pad[0] * v), report.pad[1]] : x;
    const line = linearized(wide, inUnits(given, this.board, true), this.board, report.blend);
    const [weight, response] = bounded(wide, line, link);
    return this.within(pair(wide, report.scale * weight, response), reward);
  }

  within(vector, reward) {
    return clipped(reward === null ? vector.map(() => 0) : vector, this.extent.norm);
  }
}

/** The device of the shuffle model, for the batch that the billboard announces. Its report is for the shuffler only:
/** what the shuffler hands on is private, at the cost that the device works out from the plan, if the batch has as many
/** honest users as the billboard plans for, and this person's first choice is the only one that is reported. options:
/** `epsilon` and `delta`: its own limits; `rewards`, `features`: the application's. */
export class ShuffleClient extends Device {
  constructor(billboard, { epsilon, delta, ...own } = {}) {
    expect((epsilon === undefined) === (delta === undefined), "both epsilon and delta, or neither", "one");
    limited(epsilon ?? 1, delta ?? 0);
    super(shuffle(billboard), own);
    const { plan, batch } = this.board;
    this.batch = String(batch);
    const found = spent(this.board);
    need(found <= plan.epsilon * (1 + MARGIN), "number of coins for its claim", "fewer");
    this.spends({ epsilon: found, delta: plan.delta }, { epsilon: epsilon ?? Infinity, delta: delta ?? 1 });
  }

  get relation() {
    return "replace";
  }

  pick(rows) {
    const { policy, centre, axes, spread } = this.board;
    if (policy.name === "random") return Math.floor(uniforms(1)[0] * rows.length);
    if (policy.name === "elimination") return drawn(uniforms(1)[0], this.weights(rows));
    if (policy.name === "thompson" && (uniforms(1)[0] >= policy.share || !axes.length)) {
      const target = [...centre];
      spread.forEach((std, k) => {
        const draw = std > 0 && std * normals(1)[0];
        if (draw) axes.forEach((row, i) => (target[i] += draw * row[k]));
      });
      return argmax(rows.map((x) => dot(x, target)));
    }
    const middle = policy.name === "thompson" ? centre : this.board.theta;
    const half = policy.name === "greedy" ? rows.map(() => 0) : this.halves(rows);
    return argmax(rows.map((x, a) => dot(x, middle) + half[a]));
  }

  halves(rows) {
    const { policy, inverse } = this.board;
    return rows.map((x) => policy.width * Math.sqrt(Math.max(quadratic(x, inverse), 0)));
  }

  weights(rows) {
    const half = this.halves(rows);
    const middle = rows.map((x) => dot(x, this.board.theta));
    const best = middle.reduce((most, v, a) => Math.max(most, v - half[a]), -Infinity);
    return chances(
      rows,
      middle.map((v, a) => v + half[a] >= best),
    );
  }

  encoded(x, reward, id) {
    const { plan, batch, digest } = this.board;
    const vector = this.contribution(x, reward ?? this.rewards[0]).map((v) => (reward === null ? 0 : v));
    const slots = 2 * plan.reach + plan.trials;
    const wide = slots < 2 ** 8 ? 1 : slots < 2 ** 16 ? 2 : 4;
    const out = new DataView(new ArrayBuffer(46 + plan.size * wide));
    const bytes = new Uint8Array(out.buffer);
    bytes.set([116, 82, 4, wide]); // tR, version, bytes a number
    out.setBigUint64(4, batch, true);
    bytes.set(digest, 12);
    bytes.set(id.slice(0, ID), 28);
    out.setUint16(36, plan.size, true);
    out.setUint32(38, plan.reach, true);
    out.setUint32(42, plan.trials, true);
    const rounding = uniforms(plan.size);
    const coins = halves(plan.trials, plan.size);
    vector.forEach((v, i) => {
      const rounded = Math.floor(v * plan.grid + rounding[i]);
      const count = Math.min(Math.max(rounded, -plan.reach), plan.reach) + plan.reach + coins[i];
      out[`setUint${8 * wide}`](46 + wide * i, count, true);
    });
    return bytes;
  }

  contribution(x, reward) {
    const { board } = this;
    if (board.weights === "score") return clipped(scored(x, reward, board), board.plan.norm, 0);
    const line = board.weights === "plain" ? [1, reward] : linearized(x, inUnits(reward, board, false), board, 0);
    return clipped(pair(x, board.curvature * line[0], board.moment * line[1]), board.plan.norm, 0);
  }
}

const limited = (epsilon, delta) =>
  expect(epsilon > 0 && delta >= 0 && delta < 1, "epsilon above 0 and delta in [0, 1)", "others");

function checkedArms(arms, dim) {
  const names = Array.isArray(arms) ? null : Object.keys(arms);
  const given = (names ? names.map((name) => arms[name]) : arms).map((x) => [...x]);
  const fits = (x) => x.length === dim && x.every(Number.isFinite) && dot(x, x) <= (1 + TOLERANCE) ** 2;
  expect(given.length && given.every(fits), `arms of ${dim} numbers and norm at most 1`, "none or others");
  const norms = given.map((x) => Math.sqrt(dot(x, x)));
  const long = norms.some((norm) => norm > 1 + LEFT); // then all are cut
  return { names, rows: long ? given.map((x, a) => x.map((v) => v / Math.max(1, norms[a]))) : given };
}
