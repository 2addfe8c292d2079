// One report as a share for each of two aggregators, with proofs that what is shared fits a circuit: the device's half of
// reticent_two.vdaf in Python, byte for byte.
import { joined } from "../../../../packages/reticent-devices/js/src/bytes.js";
import { P, add, doubled, multiply, roots, subtract } from "./field64.js";
import { turboshake } from "./turboshake.js";

const SEED = 32;
const NONCE = 16;
const VERSION = 18;
const SUM_VEC_MULTIPROOF = 0xffffffff;
const BOUNDED = 0xffff7461;
const [MEASUREMENT, PROOF, JOINT, PROVE, , JOINT_SEED, JOINT_PART] = [1, 2, 3, 4, 5, 6, 7];
const bitLength = (v) => BigInt(v).toString(2).length;

function encoded(elements) {
  const out = new DataView(new ArrayBuffer(8 * elements.length));
  elements.forEach((v, i) => out.setBigUint64(8 * i, v, true));
  return new Uint8Array(out.buffer);
}

/** Bits of a value, whose weights are powers of two but for the last: all bits add up to `top`. */
function bits(value, top) {
  const last = bitLength(top) - 1;
  const all = 2n ** BigInt(last) - 1n;
  const high = BigInt(value > all);
  const rest = value - high * (top - all);
  return [...Array.from({ length: last }, (_, bit) => (rest >> BigInt(bit)) & 1n), high];
}

const gadget = (elements, chunk, squares) => {
  const calls = Math.ceil(elements / chunk);
  const values = 2 ** bitLength(calls);
  const arity = squares ? chunk : 2 * chunk;
  return { arity, calls, squares, values, size: arity + 2 * values - 1 };
};

function shortest(elements, squares) {
  let best = 1;
  for (let chunk = 2; chunk <= elements; chunk++)
    if (gadget(elements, chunk, squares).size < gadget(elements, best, squares).size) best = chunk;
  return best;
}

/** What a report may be: whole numbers from -centre to top - centre, and of bounded length. All are numbers or BigInt. */
export class Bounded {
  constructor({ size, top, centre = 0, longest = null, chunk = 0, squareChunk = 0 }) {
    Object.assign(this, { size, top: BigInt(top), centre: BigInt(centre), bits: bitLength(top) });
    this.longest = longest === null ? null : BigInt(longest);
    this.length = size * this.bits + (longest === null ? 0 : bitLength(longest));
    this.code = longest === null ? SUM_VEC_MULTIPROOF : BOUNDED;
    this.chunk = chunk || shortest(this.length, false);
    this.squareChunk = squareChunk || shortest(size, true);
    this.gadgets = [gadget(this.length, this.chunk, false)];
    if (longest !== null) this.gadgets.push(gadget(size, this.squareChunk, true));
    for (const one of this.gadgets) one.roots = roots(one.values);
    this.seeds = this.gadgets.reduce((sum, { arity }) => sum + arity, 0);
    this.proof = this.gadgets.reduce((sum, { size: own }) => sum + own, 0);
  }

  encoded(numbers) {
    const values = numbers.map(BigInt);
    const fits = (v) => v + this.centre >= 0n && v + this.centre <= this.top;
    const squares = values.reduce((sum, v) => sum + v * v, 0n);
    if (values.length !== this.size || !values.every(fits) || (this.longest !== null && squares > this.longest))
      throw new RangeError(`Expected ${this.size} numbers within the bounds of the circuit, got others.`);
    const own = values.flatMap((v) => bits(v + this.centre, this.top));
    return this.longest === null ? own : [...own, ...bits(squares, this.longest)];
  }

  /** For each gadget what goes into it in each call, after a seed for each wire. `numbers`: as they were encoded. */
  wires(elements, numbers, joint, seeds) {
    const made = this.gadgets.map(({ arity, values }) => Array.from({ length: arity }, () => Array(values).fill(0n)));
    const [ranges, squares] = made;
    seeds.forEach((seed, i) => {
      if (i < ranges.length) ranges[i][0] = seed;
      else squares[i - ranges.length][0] = seed;
    });
    joint.forEach((r, call) => {
      let own = r;
      for (let j = 0; j < this.chunk; j++) {
        const x = elements[call * this.chunk + j] ?? 0n;
        ranges[2 * j][call + 1] = multiply(own, x);
        ranges[2 * j + 1][call + 1] = subtract(x, 1n);
        own = multiply(own, r);
      }
    });
    if (squares)
      numbers.forEach((x, i) => {
        squares[i % this.squareChunk][Math.floor(i / this.squareChunk) + 1] = x < 0n ? x + P : x;
      });
    return made;
  }
}

/** context: the bytes that a report is bound to. */
export class Prio3 {
  constructor(circuit, context, proofs = 3) {
    Object.assign(this, { circuit, context, proofs });
  }

  /** {public, shares: [leader's, helper's]}. random: 128 fresh bytes, of crypto.getRandomValues. */
  shard(numbers, nonce, random) {
    if (nonce.length !== NONCE || random.length !== 4 * SEED)
      throw new RangeError(`Expected a nonce of ${NONCE} bytes and ${4 * SEED} random ones, got others.`);
    const { circuit } = this;
    const [helper, helperBlind, blind, prove] = [0, 1, 2, 3].map((i) => random.slice(SEED * i, SEED * (i + 1)));
    const values = numbers.map(BigInt);
    const elements = circuit.encoded(values);
    const other = this.expanded(helper, MEASUREMENT, [1], circuit.length);
    const own = elements.map((v, i) => subtract(v, other[i]));
    const part = (aggregator, seed, share) =>
      this.derived(seed, JOINT_PART, joined([aggregator], nonce, encoded(share)));
    const parts = joined(part(0, blind, own), part(1, helperBlind, other));
    const joint = this.each(this.derived(new Uint8Array(SEED), JOINT_SEED, parts), JOINT, circuit.gadgets[0].calls);
    const seeds = this.each(prove, PROVE, circuit.seeds);
    const proofs = joint.flatMap((r, i) => this.proved(circuit.wires(elements, values, r, seeds[i])));
    const theirs = this.expanded(helper, PROOF, [this.proofs, 1], circuit.proof * this.proofs);
    const rest = proofs.map((v, i) => subtract(v, theirs[i]));
    return { public: parts, shares: [joined(encoded(own), encoded(rest), blind), joined(helper, helperBlind)] };
  }

  proved(wires) {
    return this.circuit.gadgets.flatMap(({ squares, values, roots: of }, i) => {
      const total = Array(2 * values).fill(0n);
      const polynomials = wires[i].map((wire) => doubled(wire, of));
      for (let j = 0; j < polynomials.length; j += squares ? 1 : 2) {
        const [left, right] = [polynomials[j], polynomials[squares ? j : j + 1]];
        for (let k = 0; k < total.length; k++) total[k] = add(total[k], multiply(left[k], right[k]));
      }
      return [...wires[i].map((wire) => wire[0]), ...total.slice(0, -1)];
    });
  }

  stream(seed, usage, binder) {
    const tag = joined([VERSION, 0], encoded([BigInt(this.circuit.code)]).slice(0, 4).reverse(), [0, usage]);
    const length = tag.length + this.context.length;
    return turboshake(joined([length & 255, length >> 8], tag, this.context, [seed.length], seed, binder));
  }

  derived(seed, usage, binder) {
    return this.stream(seed, usage, binder)(SEED);
  }

  /** Uniform elements of the field: numbers of 8 bytes from P on are passed over. */
  expanded(seed, usage, binder, length) {
    const next = this.stream(seed, usage, binder);
    const out = [];
    while (out.length < length) {
      const view = new DataView(next(8 * (length - out.length)).buffer);
      for (let at = 0; at < view.byteLength; at += 8) {
        const v = view.getBigUint64(at, true);
        if (v < P) out.push(v);
      }
    }
    return out;
  }

  /** For each proof so many elements. */
  each(seed, usage, count) {
    const all = this.expanded(seed, usage, [this.proofs], count * this.proofs);
    return Array.from({ length: this.proofs }, (_, i) => all.slice(i * count, (i + 1) * count));
  }
}
