"""Bytes between devices, aggregators and the analyzer.

A report is: task digest, nonce, public share, the leader's share, the helper's share. Every report of a task
has the same length.

The shares lie in it as they are. Encryption of each to its aggregator, with role, task, nonce and public share bound
in, goes into `packed` and `unpacked` and nowhere else; until then whoever carries a report can read it, and the leader
does.

A leaf is what an aggregator has released of a step: task digest, party, step, reports in the step, numbers."""

import struct
from typing import NamedTuple

from tacit.data import Sent, Words
from tacit.errors import BadReport, WrongBatch
from tacit.mechanisms.randomizers import framed
from tacit.mechanisms.shares import Split
from tacit.roles.two.task import Task
from tacit.vdaf.prio3 import NONCE, elements
from tacit.vdaf.xof import SEED

DIGEST = 32  # bytes
HELPERS = 2 * SEED  # bytes of a helper's share
LEAF = struct.Struct("<32sBIQ")


class Packed(NamedTuple):
    """What a report holds."""

    nonce: bytes
    public: bytes
    leader: bytes
    helper: bytes


def packed(task: Task, nonce: bytes, made: Split) -> Sent:
    """The report of a contribution in shares."""
    return framed(task.digest + nonce, made.body)


def unpacked(task: Task, report: bytes) -> Packed:
    """BadReport, or WrongBatch for one of another task."""
    if not isinstance(report, bytes) or len(report) != length(task):
        raise BadReport(f"Expected a report of {length(task)} bytes, got another.")
    if report[:DIGEST] != task.digest:
        raise WrongBatch("Expected a report made for this task, got one for another.")
    prio3, at, parts = task.prio3, DIGEST, []
    for size in (NONCE, SEED * prio3.aggregators, prio3.leader_share, HELPERS):
        parts.append(report[at : at + size])
        at += size
    return Packed(*parts)


def length(task: Task) -> int:
    """Of a report, in bytes."""
    return DIGEST + NONCE + SEED * task.prio3.aggregators + task.prio3.leader_share + HELPERS


class LeafShare(NamedTuple):
    """One aggregator's share of a noisy leaf. PUBLIC: it has the aggregator's noise."""

    party: int
    step: int
    reports: int
    numbers: Words


def encode_leaf(task: Task, leaf: LeafShare) -> bytes:
    return LEAF.pack(task.digest, leaf.party, leaf.step, leaf.reports) + leaf.numbers.astype("<u8").tobytes()


def decode_leaf(task: Task, data: bytes, party: int) -> LeafShare:
    """That party's; BadReport, or WrongBatch for one of another task."""
    if not isinstance(data, bytes) or len(data) != leaf_length(task):
        raise BadReport(f"Expected a leaf of {leaf_length(task)} bytes, got another.")
    digest, found, step, reports = LEAF.unpack_from(data)
    if digest != task.digest or found != party:
        raise WrongBatch("Expected a leaf of this task and party, got another.")
    return LeafShare(party, step, reports, elements(data[LEAF.size :]))


def leaf_length(task: Task) -> int:
    return LEAF.size + 8 * task.size
