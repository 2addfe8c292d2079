"""Prio3: one report as a share for each aggregator, with a proof that what is shared fits a circuit.

Reference: draft-irtf-cfrg-vdaf, formats of version 18; the proof system is Boneh et al. 2019 (ePrint 2019/188). Names
below say in brackets what the draft calls them.
Departure: our circuit (reticent_two.vdaf.circuit) is none of the draft's."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reticent.data import Words
from reticent.errors import BadReport
from reticent_two.vdaf import xof
from reticent_two.vdaf.circuit import Bounded
from reticent_two.vdaf.circuit_kernel import agrees, asked, gadget_polynomial, results
from reticent_two.vdaf.field_kernel import P, add_to, dot, power, take_from
from reticent_two.vdaf.xof import SEED

MEASUREMENT, PROOF, JOINT, PROVE, QUERY, JOINT_SEED, JOINT_PART = range(1, 8)  # uses of the hash
NONCE = 16  # bytes
_ZERO, _ONE = np.uint64(0), np.uint64(1)


class SharedReport(NamedTuple):
    public: bytes  # [public share] a part of the joint randomness for each aggregator
    shares: tuple[bytes, ...]  # [input shares] the leader's, then 64 bytes for each helper


class Verifying(NamedTuple):
    """What an aggregator keeps of a report until it is decided [verify state]."""

    numbers: Words  # its share of the numbers
    seed: bytes  # of the joint randomness, as it should be


@dataclass(frozen=True, kw_only=True)
class Prio3:
    """`shard` on the device; `verifier_share`, `message` and `finished` by each aggregator.

    context: what a report is bound to, a digest of the task with all numbers of its circuit: proofs bind no bounds by
    themselves, so that a short report may verify under two of them. A report verifies within its context alone.
    proofs: three make forging as hard as the draft asks for with this field; docs/vdaf.md has the soundness in bits.
    """

    circuit: Bounded
    context: bytes
    aggregators: int = 2
    proofs: int = 3

    def __post_init__(self) -> None:
        if not 2 <= self.aggregators < 256 or not 1 <= self.proofs < 256:
            raise ValueError("Expected 2 to 255 aggregators and 1 to 255 proofs, got others.")

    @property
    def randomness(self) -> int:
        """Bytes that `shard` takes: fresh ones, of a cryptographic generator, for each report."""
        return 2 * self.aggregators * SEED

    @property
    def leader_share(self) -> int:
        """Bytes."""
        return 8 * (self.circuit.length + self.proofs * self.circuit.proof) + SEED

    # the device

    def shard(self, numbers: Sequence[int], nonce: bytes, random: bytes) -> SharedReport:
        if len(nonce) != NONCE or len(random) != self.randomness:
            raise ValueError(f"Expected a nonce of {NONCE} bytes and {self.randomness} random ones, got others.")
        seeds = [random[i : i + SEED] for i in range(0, len(random), SEED)]
        helpers, blinds = seeds[:-2:2], seeds[1:-2:2]
        leader_blind, prove_seed = seeds[-2:]
        circuit = self.circuit
        encoded = circuit.encoded(numbers)
        own = encoded.copy()
        parts = []
        for i, (helper, blind) in enumerate(zip(helpers, blinds, strict=True), 1):
            share = self._measurement(i, helper)
            take_from(own, share)
            parts.append(self._part(i, blind, share, nonce))
        parts.insert(0, self._part(0, leader_blind, own, nonce))
        prove = self._expanded(prove_seed, PROVE, b"", circuit.seeds).reshape(self.proofs, -1)
        joint = self._joint(self._seed(parts))
        proofs = np.concatenate([self._proved(encoded, *one) for one in zip(joint, prove, strict=True)])
        for i, helper in enumerate(helpers, 1):
            take_from(proofs, self._proofs(i, helper))
        leader = own.astype("<u8").tobytes() + proofs.astype("<u8").tobytes() + leader_blind
        return SharedReport(b"".join(parts), (leader, *(a + b for a, b in zip(helpers, blinds, strict=True))))

    def _proved(self, encoded: Words, joint: Words, prove: Words) -> Words:
        """One proof: seeds of wires and a polynomial for each gadget."""
        out = []
        wires = self.circuit.wires(encoded, joint, 1, prove)
        for gadget, carried in zip(self.circuit.gadgets, wires, strict=True):
            out += [carried[:, 0], gadget_polynomial(carried, gadget.squares, gadget.roots)]
        return np.concatenate(out)

    # an aggregator

    def verifier_share(
        self, key: bytes, aggregator: int, nonce: bytes, public: bytes, share: bytes
    ) -> tuple[Verifying, bytes]:
        """[verify_init] What this aggregator says of a report, and what it keeps meanwhile. A report is asked once,
        ever: the same one under two keys, or with two nonces, tells what is in it. BadReport if it cannot be read."""
        if len(key) != SEED or len(nonce) != NONCE or len(public) != SEED * self.aggregators:
            raise BadReport("Expected key, nonce and public share of their lengths, got others.")
        measurement, proofs, blind = self._opened(aggregator, share)
        part = self._part(aggregator, blind, measurement, nonce)
        parts = [public[i : i + SEED] for i in range(0, len(public), SEED)]
        parts[aggregator] = part
        seed = self._seed(parts)
        query = self._expanded(key, QUERY, nonce, self.circuit.queries).reshape(self.proofs, -1)
        said = [
            self._asked(measurement, proof, joint, points)
            for proof, joint, points in zip(proofs, self._joint(seed), query, strict=True)
        ]
        kept = Verifying(self.circuit.truncated(measurement), seed)
        return kept, np.concatenate(said).astype("<u8").tobytes() + part

    def _asked(self, measurement: Words, proof: Words, joint: Words, query: Words) -> Words:
        circuit, at, seeds, polynomials = self.circuit, 0, [], []
        for gadget in circuit.gadgets:
            seeds.append(proof[at : at + gadget.arity])
            polynomials.append(proof[at + gadget.arity : at + gadget.size])
            at += gadget.size
        wires = circuit.wires(measurement, joint, self.aggregators, np.concatenate(seeds))
        sums = [results(one, gadget.calls) for one, gadget in zip(polynomials, circuit.gadgets, strict=True)]
        outputs = circuit.outputs_of(measurement, np.array(sums, np.uint64))
        weights, points = query[: -len(circuit.gadgets)], query[-len(circuit.gadgets) :]
        said = [np.array([dot(weights, outputs)], np.uint64) if weights.size else outputs]
        for gadget, carried, polynomial, point in zip(circuit.gadgets, wires, polynomials, points, strict=True):
            if power(point, gadget.values) == _ONE:
                raise BadReport("Expected a point that is no root of unity, got one: this report is not counted.")
            said.append(asked(carried, polynomial, point, gadget.roots))
        return np.concatenate(said)

    def message(self, shares: Sequence[bytes]) -> bytes:
        """[verifier_shares_to_message] The seed of the joint randomness that all aggregators' shares amount to, if the
        proofs hold; else BadReport."""
        size = self.proofs * self.circuit.verifier
        if len(shares) != self.aggregators or any(len(one) != 8 * size + SEED for one in shares):
            raise BadReport("Expected one verifier share of each aggregator, got others.")
        total = np.zeros(size, np.uint64)
        for one in shares:
            add_to(total, elements(one[:-SEED]))
        if not all(self._holds(one) for one in total.reshape(self.proofs, -1)):
            raise BadReport("Expected a report whose proof holds, got another.")
        return self._seed([one[-SEED:] for one in shares])

    def _holds(self, verifier: Words) -> bool:
        holds, at = verifier[0] == _ZERO, 1
        for gadget in self.circuit.gadgets:
            holds &= agrees(verifier[at : at + gadget.arity + 1], gadget.squares)
            at += gadget.arity + 1
        return bool(holds)

    def finished(self, kept: Verifying, message: bytes) -> Words:
        """[verify_next] The share of the numbers that may be added up."""
        if message != kept.seed:
            raise BadReport("Expected the joint randomness that the report was made with, got another.")
        return kept.numbers

    # what shares are made of

    def _opened(self, aggregator: int, share: bytes) -> tuple[Words, Words, bytes]:
        if aggregator:
            if len(share) != 2 * SEED:
                raise BadReport(f"Expected a share of {2 * SEED} bytes, got another.")
            seed, blind = share[:SEED], share[SEED:]
            return self._measurement(aggregator, seed), self._proofs(aggregator, seed).reshape(self.proofs, -1), blind
        if len(share) != self.leader_share:
            raise BadReport(f"Expected a share of {self.leader_share} bytes, got another.")
        numbers = elements(share[:-SEED])
        length = self.circuit.length
        return numbers[:length], numbers[length:].reshape(self.proofs, -1), share[-SEED:]

    def _tag(self, usage: int) -> bytes:
        return xof.tag(self.circuit.code, usage, self.context)

    def _expanded(self, seed: bytes, usage: int, binder: bytes, each: int) -> Words:
        """For each proof so many elements."""
        return xof.expanded(seed, self._tag(usage), bytes([self.proofs]) + binder, each * self.proofs)

    def _measurement(self, aggregator: int, seed: bytes) -> Words:
        return xof.expanded(seed, self._tag(MEASUREMENT), bytes([aggregator]), self.circuit.length)

    def _proofs(self, aggregator: int, seed: bytes) -> Words:
        return self._expanded(seed, PROOF, bytes([aggregator]), self.circuit.proof)

    def _part(self, aggregator: int, blind: bytes, share: Words, nonce: bytes) -> bytes:
        binder = bytes([aggregator]) + nonce + share.astype("<u8").tobytes()
        return xof.derived(blind, self._tag(JOINT_PART), binder)

    def _seed(self, parts: Sequence[bytes]) -> bytes:
        return xof.derived(bytes(SEED), self._tag(JOINT_SEED), b"".join(parts))

    def _joint(self, seed: bytes) -> Words:
        return self._expanded(seed, JOINT, b"", self.circuit.joint).reshape(self.proofs, -1)


def elements(encoded: bytes) -> Words:
    """Of the field, or BadReport."""
    out = np.frombuffer(encoded, "<u8").astype(np.uint64)
    if (out >= P).any():
        raise BadReport("Expected elements of the field, got a number beyond it.")
    return out
