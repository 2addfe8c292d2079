"""Groups by independent coins, for people whose reaction may depend on who got what before: reloads, talk, a shared
page.

Each number's group is drawn by itself: the holdout's with chance p, the bandit's with chance q, an arm's else. Then
outcomes of number t may depend on everything before it, groups included; given the past its own coin is still fair. For
a centre a in [0, 1] that is known before number t (released, or fixed) let
    psi = (r - a) / p  in the holdout's group,   -(r - a) / q  in the bandit's,   0  in others:   E psi = c - b
exactly, whatever a is. So minus the average of psi estimates the same as with blocks: sum_t a_t cancels but for counts
of groups, which are public, and all that it takes of rewards are the groups' sums.

PROVEN. With a = 1/2 the logarithm of E exp(lam (psi - E psi)) is convex in (c, b), so that it is largest at a corner:
    L(lam) = max over c, b in {0, 1} of ln(p e^(lam (c - a) / p) + q e^(-lam (b - a) / q) + 1 - p - q) - lam (c - b),
and n people's sum with noise of std tau is off by more than (n L(lam) + lam^2 tau^2 / 2 + ln(2 / error)) / lam with at
most the probability `error`, in both directions since the corners are symmetric around 1/2. n, tau and the error are
public: lam is chosen to make this smallest. It is wide where rewards are rare, for a is not near them. A holdout that
is divided among arms, each with its own c, has the mean c = f of them: the most is where each of them is 0 or 1, and
then ln(...) - lam f is concave in the share f of those with 1, with the maximum at 1 / lam - u / v for ln(u + v f), if
that is in [0, 1].

CALIBRATED. The sum of psi is taken to be normal. Its variance is at most the sum of (c - a)^2 / p + (b - a)^2 / q, and
(c - a)^2 <= c (1 - 2 a) + a^2. a is the rate of all people as it was released at the look before (1/2 before the
first), so that rare rewards make it small. Where a changes, the sum over people of c (1 - 2 a_t) + a_t^2 is at most n
cbar max_t (1 - 2 a_t) + sum_t a_t^2 (with the lower end of cbar where the maximum is negative). cbar and bbar have
intervals of their own, by the same rule for one group (whose variance is at most the sum of (c - a)^2 (1 - p) / p),
with bounds.SHARE of the error."""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from reticent_serve.trials import bounds
from reticent_serve.trials.bounds import CALIBRATED, Interval, Number

HALF = 0.5


class Tossed(NamedTuple):
    """One group so far: the chance of a number to be in it, how many were between looks (the last one is this), the sum
    of their rewards as it was released, and the std of its noise. divided: it plays several arms."""

    chance: float
    counts: tuple[Number, ...]
    total: Number
    noise: float
    divided: bool = False


class Centres(NamedTuple):
    """people: between looks. at: what rewards of each are centred at."""

    people: tuple[int, ...]
    at: tuple[Number, ...]

    @property
    def steepest(self) -> Number:
        return np.max([np.broadcast_to(1 - 2 * a, np.shape(self.at[-1])) for a in self.at], axis=0)

    @property
    def square(self) -> Number:
        """The average of a^2."""
        return sum(n * a * a for n, a in zip(self.people, self.at, strict=True)) / sum(self.people)


def fixed(people: Sequence[int]) -> Centres:
    return Centres(tuple(people), (HALF,) * len(people))


def weighted(group: Tossed, centres: Centres) -> Number:
    """sum of (r - a) / chance, for each person."""
    middle = sum(n * a for n, a in zip(group.counts, centres.at, strict=True))
    return (group.total - middle) / group.chance / sum(centres.people)


def mean(group: Tossed, centres: Centres, error: float, bound: str) -> Interval:
    """What everybody would have brought in this group: a group against nothing."""
    people = sum(centres.people)
    centre = sum(n * a for n, a in zip(centres.people, centres.at, strict=True)) / people
    noise = group.noise / group.chance / people
    if bound == CALIBRATED:
        value = centre + weighted(group, centres)
        return bounds.cut(value, *_solve(value, noise, centres, (1 - group.chance) / group.chance / people, error))
    value = HALF + weighted(group, fixed(centres.people))
    half = exponential(people, noise * people, group.chance, None, error, group.divided) / people
    return bounds.cut(value, value - half, value + half)


def difference(bandit: Tossed, holdout: Tossed, centres: Centres, error: float, bound: str) -> Interval:
    people = sum(centres.people)
    noise = math.hypot(bandit.noise / bandit.chance, holdout.noise / holdout.chance) / people
    if bound != CALIBRATED:
        middle = fixed(centres.people)
        value = weighted(bandit, middle) - weighted(holdout, middle)
        half = exponential(people, noise * people, holdout.chance, bandit.chance, error, holdout.divided) / people
        return Interval(value, value - half, value + half)
    value, variance = weighted(bandit, centres) - weighted(holdout, centres), noise**2
    for group in (bandit, holdout):
        ends = mean(group, centres, error * bounds.SHARE / 2, bound)
        variance += square(centres, ends.low, ends.high) / group.chance / people
    half = bounds.quantile((1 - bounds.SHARE) * error) * np.sqrt(variance)
    return Interval(value, value - half, value + half)


def square(centres: Centres, low: Number, high: Number) -> Number:
    """A bound of the average of (c - a)^2 where the average of c is in [low, high]."""
    steep = centres.steepest
    return np.clip(steep * np.where(steep > 0, high, low) + centres.square, 0.0, 1.0)


def _solve(value: Number, noise: float, centres: Centres, unit: float, error: float) -> tuple[Number, Number]:
    """All means y in [0, 1] with (value - y)^2 <= z^2 (unit square(y) + noise^2)."""
    z = bounds.quantile(error)
    steep, rest = centres.steepest, centres.square
    b = value + z * z * unit * steep / 2
    root = np.sqrt(np.maximum(b * b - value * value + z * z * (unit * rest + noise * noise), 0.0))
    return np.clip(b - root, 0.0, 1.0), np.clip(b + root, 0.0, 1.0)


@functools.lru_cache(maxsize=4096)
def exponential(
    people: int, noise: float, holdout: float, bandit: float | None, error: float, divided: bool = False
) -> float:
    """How far a sum over people can be from its mean: proven, with the best public lam. bandit None: one group
    alone."""
    log = math.log(2 / error)
    most = HALF / holdout + (0.0 if bandit is None else HALF / bandit)
    guess = math.sqrt(2 * log / (people * most * HALF + noise * noise))

    def over(lam: float) -> float:
        return (people * cumulant(lam, holdout, bandit, divided) + lam * lam * noise * noise / 2 + log) / lam

    return min(over(guess * 2 ** (k / 16)) for k in range(-64, 65))


def cumulant(lam: float, holdout: float, bandit: float | None, divided: bool = False) -> float:
    """L(lam), of both signs."""
    other, rest = (0.0, 1 - holdout) if bandit is None else (bandit, max(1 - holdout - bandit, 0.0))
    found = 0.0
    for s in (-lam, lam):
        for b in (-HALF, HALF) if other else (0.0,):
            below = holdout * math.exp(-s * HALF / holdout) + rest + (other and other * math.exp(-s * b / other))
            more = holdout * 2 * math.sinh(s * HALF / holdout)
            shares = [0.0, 1.0] + [min(max(1 / s - below / more, 0.0), 1.0)] * divided
            found = max(found, *(math.log(below + more * f) - s * (f - HALF - b) for f in shares))
    return found
