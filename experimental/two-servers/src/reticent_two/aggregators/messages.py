"""Bytes between the two aggregators. Entries of jobs and replies have a constant length each; a leaf is as in
reticent_two.roles.wire."""

import hashlib
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from reticent.errors import BadReport, WrongBatch
from reticent_two.roles import identity
from reticent_two.roles.task import Task
from reticent_two.roles.wire import SEALED
from reticent_two.vdaf.prio3 import NONCE
from reticent_two.vdaf.xof import SEED

REFUSED, COUNTED, LATER, LATE = range(4)  # verdicts; LATER: the step is full, and nothing was looked at; LATE: no key
CERTIFICATE = struct.Struct("<32sIQ32s32s")
COMMITMENT = struct.Struct("<32sBI32s")
NUMBER = 8  # bytes of a sealing key's number


class VerifyJob(NamedTuple):
    """The leader asks the helper about a report."""

    nonce: bytes
    key: bytes  # the number of the helper's sealing key
    public: bytes
    helper: bytes  # the helper's share, sealed to that key
    said: bytes  # the leader's verifier share


class JobReply(NamedTuple):
    """The helper's verdict, and the message that both shares of the proof amount to: never its own share of it."""

    nonce: bytes
    verdict: int
    message: bytes


class StepCertificate(NamedTuple):
    """What a party takes a step to be: its number, its reports, a hash of their sorted nonces, and of the certificate
    before it."""

    step: int
    reports: int
    nonces: bytes
    previous: bytes


class LeafCommitment(NamedTuple):
    """To the leaf that a party has released of a step, before it leaves."""

    party: int
    step: int
    leaf: bytes  # its hash


def jobs(task: Task, data: bytes) -> Iterator[VerifyJob]:
    """BadReport unless it is whole."""
    return (VerifyJob(*parts) for parts in _entries(data, _job_sizes(task), "jobs"))


def job_length(task: Task) -> int:
    """Bytes of one entry."""
    return sum(_job_sizes(task))


def _job_sizes(task: Task) -> tuple[int, ...]:
    public = SEED * task.prio3.aggregators
    return NONCE, NUMBER, public, SEALED, 8 * task.prio3.proofs * task.circuit.verifier + SEED


def replies(data: bytes) -> Iterator[JobReply]:
    """BadReport unless it is whole."""
    return (
        JobReply(nonce, verdict[0], message) for nonce, verdict, message in _entries(data, (NONCE, 1, SEED), "replies")
    )


def encode_reply(reply: JobReply) -> bytes:
    return reply.nonce + bytes([reply.verdict]) + reply.message


def encode_certificate(task: Task, made: StepCertificate) -> bytes:
    return CERTIFICATE.pack(task.digest, *made)


def decode_certificate(task: Task, data: bytes) -> StepCertificate:
    return StepCertificate(*_own(task, data, CERTIFICATE, "a certificate"))


def encode_commitment(task: Task, made: LeafCommitment, signer: bytes) -> bytes:
    """Signed by the party's identity: what it has released, it cannot deny."""
    text = COMMITMENT.pack(task.digest, *made)
    return text + identity.signed(signer, identity.LEAF, text)


def decode_commitment(task: Task, data: bytes, party: int) -> LeafCommitment:
    """BadReport, WrongBatch, or BadBillboard unless that party has signed it."""
    text, signature = data[: COMMITMENT.size], data[COMMITMENT.size :]
    made = LeafCommitment(*_own(task, text, COMMITMENT, "a commitment"))
    if made.party != party:
        raise WrongBatch("Expected the other party's commitment, got another.")
    identity.check(task.known[party], identity.LEAF, text, signature)
    return made


def hashed(*parts: bytes) -> bytes:
    """Of several parts, each behind its length."""
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).digest()


def _entries(data: bytes, sizes: tuple[int, ...], what: str) -> Iterator[list[bytes]]:
    if not isinstance(data, bytes) or len(data) % sum(sizes):
        raise BadReport(f"Expected {what} of {sum(sizes)} bytes each, got others.")
    for at in range(0, len(data), sum(sizes)):
        parts = []
        for size in sizes:
            parts.append(data[at : at + size])
            at += size
        yield parts


def _own(task: Task, data: bytes, layout: struct.Struct, what: str) -> tuple[Any, ...]:
    if not isinstance(data, bytes) or len(data) != layout.size:
        raise BadReport(f"Expected {what} of {layout.size} bytes, got another.")
    digest, *rest = layout.unpack(data)
    if digest != task.digest:
        raise WrongBatch(f"Expected {what} of this task, got one of another.")
    return tuple(rest)
