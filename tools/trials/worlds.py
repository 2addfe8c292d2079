"""Worlds for trials: who would bring what, and what comes of it. People are simulated as sums of segments, a segment
for each step, for many runs at once: exactly the law of the people themselves, since people of a segment are
exchangeable.

A world gives, for a segment of so many blocks, the rewards of the holdout's people, of the bandit's and of each arm's,
and what all of them would have brought more with the bandit than with the holdout."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Booleans
from reticent_serve.trials.groups import Places


class Segment(NamedTuple):
    """Sums over people, for each run. truth: of b - c, over everybody; arms: of rewards, and of what all would
    bring."""

    holdout: Array
    bandit: Array
    truth: Array
    arm: Array
    arm_truth: Array


class Seen(NamedTuple):
    """What an adversary knows: the people so far, and how much too large the estimate of the difference is, by the
    standard deviation that it has at most."""

    people: int
    error: Array


World = Callable[[Generator, Places, int, Seen], Segment]


def people(rng: Generator, groups: Places, blocks: int, holdout: Array, bandit: Array) -> Segment:
    """Everybody's two rewards are coins of these means; the arm is like the bandit."""
    a = groups.arms[0] if groups.arms else 0
    own, others, arm = blocks * groups.holdout, blocks * groups.bandit, blocks * a
    rest = blocks * groups.block - own - others
    c, b = rng.binomial(own, holdout), rng.binomial(others, bandit)
    of_b = b + rng.binomial(own + rest, bandit)
    of_c = c + rng.binomial(others + rest, holdout)
    r = rng.binomial(arm, bandit)
    everybody = r + rng.binomial(blocks * groups.block - arm, bandit)
    return Segment(*(np.asarray(part, float) for part in (c, b, of_b - of_c, r, everybody)))


def alike(rate: float, effect: float = 0.0) -> World:
    def world(rng: Generator, groups: Places, blocks: int, seen: Seen) -> Segment:
        ones = np.ones_like(seen.error)
        return people(rng, groups, blocks, rate * ones, (rate + effect) * ones)

    return world


def drift(rng: Generator, groups: Places, blocks: int, seen: Seen) -> Segment:
    """Rates swing between .05 and .95, ever more slowly, those of both sides together."""
    rate = 0.5 + 0.45 * np.sin(6 * np.log1p(seen.people))
    return alike(float(rate))(rng, groups, blocks, seen)


def learning(rng: Generator, groups: Places, blocks: int, seen: Seen) -> Segment:
    """The bandit begins as the holdout, at .3, and learns to have .5."""
    better = 0.2 * seen.people / (seen.people + 5000)
    return alike(0.3, better)(rng, groups, blocks, seen)


def halves(rng: Generator, groups: Places, blocks: int, size: int) -> Segment:
    """Half of each block brings 1 in every group, the others 0: no block can vary more."""
    m, k, a = groups.block, groups.holdout, sum(groups.arms)
    if k == 1 and a == 0:
        c = rng.binomial(blocks, 0.5, size).astype(float)
        return Segment(c, blocks * m / 2 - c, np.zeros(size), np.zeros(size), np.zeros(size))
    c = np.zeros(size)
    arms, first = np.zeros(size), np.zeros(size)
    for _ in range(blocks):
        own = rng.hypergeometric(m // 2, m - m // 2, k, size)
        one = rng.hypergeometric(m // 2 - own, m - m // 2 - k + own, groups.arms[0], size)
        more = rng.hypergeometric(m // 2 - own - one, m - m // 2 - k + own - groups.arms[0] + one, a - groups.arms[0])
        c, first, arms = c + own, first + one, arms + one + more
    return Segment(c, blocks * (m // 2) - c - arms, np.zeros(size), first, np.full(size, blocks * (m // 2.0)))


def worst(rng: Generator, groups: Places, blocks: int, seen: Seen) -> Segment:
    return halves(rng, groups, blocks, seen.error.size)


def nobody(segment: Segment, where: Booleans) -> Segment:
    """Zeros for the runs in which nobody brings anything."""
    return Segment(*(np.where(where, 0.0, part) for part in segment))


def freezing(rng: Generator, groups: Places, blocks: int, seen: Seen) -> Segment:
    """Blocks vary as much as they can while the error is below 2 standard deviations, and then not at all."""
    return nobody(halves(rng, groups, blocks, seen.error.size), np.abs(seen.error) > 2)


def signed(rng: Generator, groups: Places, blocks: int, seen: Seen) -> Segment:
    """They vary while the bandit seems worse than it is, and not while it seems better."""
    return nobody(halves(rng, groups, blocks, seen.error.size), seen.error > 0)


BLOCKS: dict[str, World] = {
    "p = .5": alike(0.5),
    "p = .02": alike(0.02),
    "p = .002": alike(0.002),
    "p = .98": alike(0.98),
    "drift": drift,
    "learning": learning,
    "worst blocks": worst,
    "frozen beyond 2 sd": freezing,
    "frozen while too good": signed,
}
