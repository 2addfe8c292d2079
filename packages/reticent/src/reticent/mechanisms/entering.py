"""How a choice enters: once, in the order of numbers, at its deadline, with what was written of it by then.

A choice that was cancelled, erased, refused, or that is beyond a person's rounds enters as nothing; so does
a number that no choice has.

Work. How long it takes should not tell how many rewards came, since others may wait for it: a row that adds nothing is
as much work as one that adds (mechanisms.leaves.StepSums)."""

import math
import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from reticent.data import Array, Integers, Raw
from reticent.errors import BadState
from reticent.mechanisms.opening import opened, sealed, unsealed
from reticent.model.holdout import TAIL

HASH = 16  # bytes that a person is known by
NOBODY, SILENT = bytes(HASH), b"\xff" * HASH  # in the place of a person's hash: it teaches, or not, whoever chose


class Entry(NamedTuple):
    """What is known of a choice at its deadline. Its numbers are closed: what is kept of it, and the reward that was
    written in time; None: there was none, NaN: it was cancelled."""

    row: Raw[Array]
    person: bytes  # whose it is, where that is counted now; NOBODY where it is not
    teaches: bool  # False: it was refused, erased or lost
    reward: Raw[float | None]


class EnteringRows(NamedTuple):
    """What is added to sums together: what is kept of choices, and their rewards, NaN for nothing."""

    rows: Array
    rewards: Array


NO_REWARD: Raw[float | None] = Raw(None)


def nothing(size: int) -> Entry:
    """What a number enters as that teaches nothing."""
    return Entry(Raw(np.zeros(size)), NOBODY, teaches=False, reward=NO_REWARD)


def one(row: Raw[Array], reward: Raw[float]) -> Raw[EnteringRows]:
    return Raw(EnteringRows(opened(row)[None], np.array([opened(reward)])))


def value(entry: Entry, default: float | None) -> float:
    """RAW. The reward that it enters with; NaN for none."""
    reward = opened(entry.reward)
    if reward is None:
        return math.nan if default is None else default
    return reward


def enter(
    entries: Sequence[Entry],
    *,
    size: int,
    default: float | None,
    once_more: Callable[[bytes], bool],
    groups: Integers | None = None,
) -> Raw[EnteringRows]:
    """What these entries add to the sums of the open step. size: of what is kept of a choice. once_more: counts one
    round more of a person, or says that all are used. groups: of an experiment, that of each entry: a choice that
    teaches nothing counts there with the default reward (model.holdout)."""
    rows, rewards = np.zeros((len(entries), size)), np.full(len(entries), math.nan)
    for i, entry in enumerate(entries):
        reward = value(entry, default)
        counts = entry.teaches and not math.isnan(reward)
        if counts and entry.person != NOBODY:
            counts = once_more(entry.person)
        if counts:
            rows[i] = opened(entry.row)
            rewards[i] = reward
    if groups is not None:
        rows[:, -TAIL] = groups
        rewards[np.isnan(rewards)] = default
    return Raw(EnteringRows(rows, rewards))


ROW = struct.Struct(f">?{HASH}s")  # whether it teaches, and whose it is or nobody's; numbers follow
NUMBER = struct.Struct(">d")

Seal = Callable[[bytes], bytes]
Unseal = Callable[[bytes], bytes | None]


class WaitingRow(NamedTuple):
    """What is kept of a choice."""

    numbers: Raw[Array]
    person: bytes = NOBODY  # whose rounds are counted when it enters
    teaches: bool = True

    def sealed(self, seal: Seal) -> bytes:
        return sealed(Raw(ROW.pack(self.teaches, self.person) + opened(self.numbers).tobytes()), seal)

    @classmethod
    def unsealed(cls, text: bytes, unseal: Unseal, size: int) -> "WaitingRow | None":
        """With so many numbers; None if its key is destroyed."""
        found = unsealed(text, unseal)
        if found is None:
            return None
        packed = opened(found)
        if len(packed) != ROW.size + 8 * size:
            raise BadState("Expected what is kept of this bandit's choices, got something else.")
        teaches, person = ROW.unpack_from(packed)
        numbers = np.frombuffer(packed, np.float64, offset=ROW.size)
        return cls(Raw(numbers), person, teaches)


def blank(packed: bytes) -> bytes:
    """A row that adds nothing, as long as that one."""
    return ROW.pack(False, NOBODY).ljust(len(packed), b"\0")


def sealed_reward(reward: Raw[float], seal: Seal) -> bytes:
    return sealed(Raw(NUMBER.pack(opened(reward))), seal)


def unsealed_reward(text: bytes, unseal: Unseal) -> Raw[float | None]:
    """NaN, as if it was cancelled, if its key is destroyed."""
    found = unsealed(text, unseal)
    return Raw(math.nan if found is None else float(NUMBER.unpack(opened(found))[0]))
