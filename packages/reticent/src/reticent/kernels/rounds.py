"""What compiled loops over whole blocks of rounds share: the schedule, the draw of an arm, what playing it gave."""

from typing import NamedTuple

import numpy as np

from reticent.data import Array, Integers
from reticent.kernels.block import Block, reward
from reticent.kernels.compile import inlined, kernel
from reticent.kernels.linalg import copy

CHOICES, BOUNDARY, ENTERED = 0, 1, 2
Marks = np.ndarray[tuple[int, int], np.dtype[np.uint8]]


class Schedule(NamedTuple):
    """When steps close: see `next_boundary`. Whole numbers are floats here, so that kernels are compiled once."""

    first: float  # choices in the shortest step
    growth: float  # of the choice count within a long step, as a factor
    longest: float = np.inf  # choices in the longest step
    block: float = 1.0  # steps close at multiples of it


class Range(NamedTuple):
    """Of rewards."""

    low: float
    high: float


@kernel
def next_boundary(choices: int, first: float, growth: float, longest: float = np.inf, block: float = 1.0) -> int:
    """The choice count at which a step that opens now will close: at least `first` choices long, and longer with
    time by the factor `growth`, up to `longest`; then up to the next multiple of `block`. Public, a function of choices
    alone."""
    end = max(choices + int(first), int(np.floor(choices * growth)))
    if end - choices > longest:
        end = choices + int(longest)
    return -(-end // int(block)) * int(block)


@kernel
def boundary_by(schedule: Schedule, choices: int) -> int:
    """The same of all that a schedule says: kernels cannot unpack it."""
    return next_boundary(choices, schedule.first, schedule.growth, schedule.longest, schedule.block)


class Held(NamedTuple):
    """Choices that wait until `hold` later ones have been made, by their numbers modulo the ring's length, which is
    more than that. hold 0: a choice enters at once, and the ring is not used. RAW."""

    hold: int
    missing: float  # the reward of a choice that has none when it enters; NaN: it teaches nothing
    ids: Integers  # (length,): numbers, 0 where nothing waits
    rows: Array  # (length, at least the width of an arm)
    marks: Marks  # (length, bytes): whose they are, which loops do not count
    rewards: Array  # (length,): NaN where none came


AT_ONCE, NOBODY = -1, -2  # which choice enters: the one that is made, or none yet; else a place in the ring


@inlined
def forget(held: Held, slot: int) -> None:
    """What has entered is not kept."""
    held.rows[slot] = 0.0
    held.marks[slot] = 0
    held.ids[slot], held.rewards[slot] = 0, np.nan


@inlined
def entries(counts: Integers, held: Held) -> int:
    """Choices that have entered: what the schedule counts."""
    return int(counts[CHOICES] if held.hold == 0 else counts[ENTERED])


@inlined
def enters(counts: Integers, held: Held, block: Block, t: int, index: int) -> tuple[Array, float, int]:
    """One choice more: arm `index` in round t, and its reward, if that comes before `hold` later choices have been
    made. The features and the reward of the choice that enters with it, and which one that is; a place in the ring is
    to be forgotten afterwards."""
    counts[CHOICES] += 1
    x, y, slot = block.arms[t, index], block.reward[t], AT_ONCE
    if held.hold > 0:
        last, slot = counts[CHOICES] % held.rewards.size, NOBODY
        copy(x, held.rows[last, : x.size])
        late = block.delay.size > 0 and block.delay[t] >= held.hold
        held.ids[last], held.rewards[last] = counts[CHOICES], np.nan if late else y
        if counts[CHOICES] > held.hold:
            counts[ENTERED] += 1
            slot = counts[ENTERED] % held.rewards.size
            x = held.rows[slot, : x.size]
            y = held.missing if np.isnan(held.rewards[slot]) else held.rewards[slot]
    return x, y, slot


@inlined
def outcome(block: Block, t: int, index: int) -> bool:
    """Write what playing `index` in round t gave. Returns False if its reward is not known (replayed logs)."""
    known = bool(block.logged[t] < 0 or block.logged[t] == index)
    if known:
        mean = block.means[t, index]
        best = mean
        if block.logged[t] < 0:
            for a in range(block.means.shape[1]):
                best = max(best, block.means[t, a])
        block.index[t] = index
        block.reward[t] = reward(block.kind[0], block.scale[0], mean, block.noise[t])
        block.regret[t] = best - mean
    else:
        block.index[t] = -1
        block.reward[t] = 0.0
        block.regret[t] = 0.0
    return known


@inlined
def draw_arm(uniform: float, weights: Array) -> int:
    """The arm whose share of [0, 1) holds `uniform`; never one of weight 0."""
    index, passed = 0, 0.0
    for a in range(weights.size):
        if weights[a] > 0.0:
            index = a
            passed += weights[a]
            if uniform < passed:
                break
    return index
