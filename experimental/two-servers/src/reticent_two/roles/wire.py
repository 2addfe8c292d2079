"""Bytes between devices, aggregators and the analyzer.

A report is: task digest, nonce, numbers of the leader's and of the helper's sealing key (8 bytes each), public share,
the leader's share sealed to the leader, the helper's share sealed to the helper (roles.sealing). Every report of a
task has the same length.

A leaf is what an aggregator has released of a step: task digest, party, step, reports in the step, numbers."""

import functools
import struct
from typing import NamedTuple

from reticent.data import Sent, Words
from reticent.errors import BadReport, WrongBatch
from reticent_devices.mechanisms.randomizers import framed
from reticent_devices.roles import hpke
from reticent_devices.roles.hpke import LONGER
from reticent_two.roles import sealing
from reticent_two.roles.sealing import PrivateKey, SealingKey
from reticent_two.roles.task import HELPER, LEADER, Task
from reticent_two.shares import Split
from reticent_two.vdaf.prio3 import NONCE, elements
from reticent_two.vdaf.xof import SEED

DIGEST = 32  # bytes
SEALED = 2 * SEED + LONGER  # bytes of a helper's share, sealed
KEYS = struct.Struct("<QQ")
LEAF = struct.Struct("<32sBIQ")


class Packed(NamedTuple):
    """What a report holds. keys: numbers of the keys that shares are sealed to, as they lie there."""

    nonce: bytes
    keys: bytes
    public: bytes
    leader: bytes
    helper: bytes


def packed(task: Task, nonce: bytes, made: Split, keys: tuple[SealingKey, SealingKey]) -> Sent:
    """The report of a contribution in shares, each sealed to its aggregator."""
    abouts = [sealing.about(party, task.digest, nonce, made.public) for party in (LEADER, HELPER)]
    leader, helper = (
        functools.partial(hpke.sealed, key.public, about) for key, about in zip(keys, abouts, strict=True)
    )
    return framed(task.digest + nonce + KEYS.pack(*(key.since for key in keys)), made.sealed(leader, helper))


def unpacked(task: Task, report: bytes) -> Packed:
    """BadReport, or WrongBatch for one of another task."""
    if not isinstance(report, bytes) or len(report) != length(task):
        raise BadReport(f"Expected a report of {length(task)} bytes, got another.")
    if report[:DIGEST] != task.digest:
        raise WrongBatch("Expected a report made for this task, got one for another.")
    prio3, at, parts = task.prio3, DIGEST, []
    for size in (NONCE, KEYS.size, SEED * prio3.aggregators, prio3.leader_share + LONGER, SEALED):
        parts.append(report[at : at + size])
        at += size
    return Packed(*parts)


def share(task: Task, party: int, made: Packed, key: PrivateKey) -> bytes:
    """That party's share, opened; BadReport."""
    about = sealing.about(party, task.digest, made.nonce, made.public)
    return key.opened(about, made.leader if party == LEADER else made.helper)


def length(task: Task) -> int:
    """Of a report, in bytes."""
    return DIGEST + NONCE + KEYS.size + SEED * task.prio3.aggregators + task.prio3.leader_share + LONGER + SEALED


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
