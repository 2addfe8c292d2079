"""Prio3 with our circuit, a second time: plain integers, coefficients instead of values, and no transforms.

Written from the draft's text: the circuit is evaluated element by element through `call`, which either multiplies (the
device) or reads the proof's polynomial (an aggregator)."""

from Cryptodome.Hash import TurboSHAKE128

P = 2**64 - 2**32 + 1


def hashed(seed, code, usage, context, binder):
    domain = b"\x12\x00" + code.to_bytes(4, "big") + usage.to_bytes(2, "big") + context
    message = len(domain).to_bytes(2, "little") + domain + bytes([len(seed)]) + seed + binder
    return TurboSHAKE128.new(domain=1, data=message)


def elements(stream, count):
    out = []
    while len(out) < count:
        v = int.from_bytes(stream.read(8), "little")
        if v < P:
            out.append(v)
    return out


def encode(values):
    return b"".join(v.to_bytes(8, "little") for v in values)


def root(n):
    return pow(7, (P - 1) // n, P)


def interpolated(values):
    """Coefficients of the polynomial with these values at the roots of unity of that order."""
    n, w = len(values), root(len(values))
    return [sum(y * pow(w, -i * j, P) for i, y in enumerate(values)) * pow(n, -1, P) % P for j in range(n)]


def at(coefficients, x):
    return sum(c * pow(x, j, P) for j, c in enumerate(coefficients)) % P


class Gadget:
    def __init__(self, arity, calls, apply):
        self.arity, self.calls, self.apply = arity, calls, apply
        self.p = 1
        while self.p < calls + 1:
            self.p *= 2
        self.length = 2 * (self.p - 1) + 1


class Circuit:
    def __init__(self, size, bits, longest, chunk, square_chunk):
        self.size, self.bits, self.longest, self.chunk, self.square_chunk = size, bits, longest, chunk, square_chunk
        self.half = 2 ** (bits - 1)
        self.length = size * bits + longest.bit_length()

        def products(wires):
            return sum(a * b for a, b in zip(wires[::2], wires[1::2], strict=True)) % P

        def squares(wires):
            return sum(a * a for a in wires) % P

        self.gadgets = [
            Gadget(2 * chunk, (self.length + chunk - 1) // chunk, products),
            Gadget(square_chunk, (size + square_chunk - 1) // square_chunk, squares),
        ]

    def encoded(self, numbers):
        out = [(x + self.half) >> bit & 1 for x in numbers for bit in range(self.bits)]
        norm, last = sum(x * x for x in numbers), self.longest.bit_length() - 1
        rest = 2**last - 1
        if norm > rest:
            return out + [norm - (self.longest - rest) >> bit & 1 for bit in range(last)] + [1]
        return out + [norm >> bit & 1 for bit in range(last)] + [0]

    def numbers(self, share):
        return [sum(share[i * self.bits + j] << j for j in range(self.bits)) % P for i in range(self.size)]

    def outputs(self, share, joint, shares, call):
        inverse, ranges = pow(shares, -1, P), 0
        for k in range(self.gadgets[0].calls):
            wires = []
            for j in range(self.chunk):
                x = share[k * self.chunk + j] if k * self.chunk + j < len(share) else 0
                wires += [pow(joint[k], j + 1, P) * x % P, (x - inverse) % P]
            ranges += call(0, wires)
        centred, norm = [(x - self.half * inverse) % P for x in self.numbers(share)], 0
        for k in range(self.gadgets[1].calls):
            wires = centred[k * self.square_chunk : (k + 1) * self.square_chunk]
            norm += call(1, wires + [0] * (self.square_chunk - len(wires)))
        claimed, last = share[self.size * self.bits :], self.longest.bit_length() - 1
        weights = [2**j for j in range(last)] + [self.longest - (2**last - 1)]
        return [ranges % P, (norm - sum(w * b for w, b in zip(weights, claimed, strict=True))) % P]


def proved(circuit, encoded, joint, seeds):
    columns = [[], []]

    def call(which, wires):
        columns[which].append(wires)
        return circuit.gadgets[which].apply(wires)

    assert circuit.outputs(encoded, joint, 1, call) == [0, 0]
    out = []
    for gadget, calls in zip(circuit.gadgets, columns, strict=True):
        own, seeds = seeds[: gadget.arity], seeds[gadget.arity :]
        padding = [[0] * gadget.arity] * (gadget.p - 1 - len(calls))
        wires = [interpolated(list(wire)) for wire in zip(own, *calls, *padding, strict=True)]
        w = root(2 * gadget.p)
        values = [gadget.apply([at(wire, pow(w, i, P)) for wire in wires]) for i in range(gadget.length)]
        out += own + values
    return out


def queried(circuit, share, proof, query, joint, shares):
    columns, polynomials, seeds = [[], []], [], []
    for gadget in circuit.gadgets:
        seeds.append(proof[: gadget.arity])
        values, proof = proof[gadget.arity : gadget.arity + gadget.length], proof[gadget.arity + gadget.length :]
        w = root(2 * gadget.p)  # the last value: by Lagrange's formula from the others
        points = [pow(w, i, P) for i in range(gadget.length)]
        x, last = pow(w, gadget.length, P), 0
        for i, value in enumerate(values):
            weight = value
            for j, other in enumerate(points):
                if j != i:
                    weight = weight * (x - other) * pow(points[i] - other, -1, P) % P
            last += weight
        polynomials.append(interpolated([*values, last % P]))

    def call(which, wires):
        columns[which].append(wires)
        return at(polynomials[which], pow(root(circuit.gadgets[which].p), len(columns[which]), P))

    outputs = circuit.outputs(share, joint, shares, call)
    said = [(query[0] * outputs[0] + query[1] * outputs[1]) % P]
    for gadget, own, calls, polynomial, t in zip(circuit.gadgets, seeds, columns, polynomials, query[2:], strict=True):
        padding = [[0] * gadget.arity] * (gadget.p - 1 - len(calls))
        wires = [interpolated(list(wire)) for wire in zip(own, *calls, *padding, strict=True)]
        said += [at(wire, t) for wire in wires] + [at(polynomial, t)]
    return said


def pieces(values, count):
    each = len(values) // count
    return [values[i * each : (i + 1) * each] for i in range(count)]


def shard(circuit, context, numbers, nonce, random, code=0xFFFF7461, proofs=3):
    """(public share, the leader's, the helper's) for two aggregators."""
    helper, helper_blind, blind, prove = (random[i : i + 32] for i in range(0, 128, 32))
    encoded = circuit.encoded(numbers)
    theirs = elements(hashed(helper, code, 1, context, b"\x01"), circuit.length)
    own = [(a - b) % P for a, b in zip(encoded, theirs, strict=True)]
    parts = hashed(blind, code, 7, context, b"\x00" + nonce + encode(own)).read(32)
    parts += hashed(helper_blind, code, 7, context, b"\x01" + nonce + encode(theirs)).read(32)
    seed = hashed(bytes(32), code, 6, context, parts).read(32)
    many, arity = bytes([proofs]), sum(gadget.arity for gadget in circuit.gadgets)
    seeds = pieces(elements(hashed(prove, code, 4, context, many), proofs * arity), proofs)
    joints = pieces(elements(hashed(seed, code, 3, context, many), proofs * circuit.gadgets[0].calls), proofs)
    proof = [v for one in zip(joints, seeds, strict=True) for v in proved(circuit, encoded, *one)]
    other = elements(hashed(helper, code, 2, context, many + b"\x01"), len(proof))
    rest = [(a - b) % P for a, b in zip(proof, other, strict=True)]
    return parts, encode(own) + encode(rest) + blind, helper + helper_blind


def verifier_share(circuit, context, key, aggregator, nonce, public, share, code=0xFFFF7461, proofs=3):
    many, size = bytes([proofs]), circuit.length
    length = proofs * sum(gadget.arity + gadget.length for gadget in circuit.gadgets)
    if aggregator:
        measurement = elements(hashed(share[:32], code, 1, context, b"\x01"), size)
        proof = elements(hashed(share[:32], code, 2, context, many + b"\x01"), length)
    else:
        everything = [int.from_bytes(share[8 * i : 8 * i + 8], "little") for i in range(size + length)]
        measurement, proof = everything[:size], everything[size:]
    part = hashed(share[-32:], code, 7, context, bytes([aggregator]) + nonce + encode(measurement)).read(32)
    parts = part + public[32:] if aggregator == 0 else public[:32] + part
    seed = hashed(bytes(32), code, 6, context, parts).read(32)
    joints = pieces(elements(hashed(seed, code, 3, context, many), proofs * circuit.gadgets[0].calls), proofs)
    queries = pieces(elements(hashed(key, code, 5, context, many + nonce), proofs * 4), proofs)
    said = [
        v
        for one in zip(pieces(proof, proofs), queries, joints, strict=True)
        for v in queried(circuit, measurement, *one, 2)
    ]
    return encode(said) + part
