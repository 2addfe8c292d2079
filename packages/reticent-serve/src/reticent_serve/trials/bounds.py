"""Intervals for one look, from what was released: of a mean, and of the difference of two.

Let an estimate be off by M / N from the draw of groups, N the number of blocks (trials.groups), and by Gaussian noise
of std tau. `error` is the probability with which an interval may fail at this look; the looks' errors add up, for any
covariance between looks (trials.looks).

CALIBRATED. M / N is taken to be normal: this is the one assumption. While few people have come, noise, which is normal,
is most of the error. With z the normal quantile the mean y of a group is in the interval of all y with
    (estimate - y)^2 <= z^2 (spread y (1 - y) / N + tau^2)                                            (`normal`).
The difference is within z sqrt((main y (1 - y) + arms u (1 - u)) / N + tau^2) of its estimate, where y and u are moved
towards 1/2 as far as intervals of the holdout's and of the bandit's mean allow. These have SHARE of the error.

PROVEN. Given all noise M is a martingale with sub-Gaussian steps, so that E exp(lam (M / N + noise)) <= exp(lam^2
(spread / (4 N) + tau^2) / 2): noise adds in quadrature, and the difference is within sqrt(2 (spread / (4 N) + tau^2)
ln(2 / error)) (`plain`), for any outcomes in [0, 1]. Half of the error is for this, half for the bounds of trials.rare;
the narrower one stands. Those of trials.rare do not hold for a divided holdout, which has the first alone."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from reticent import special
from reticent_serve.trials import rare
from reticent_serve.trials.groups import Places

CALIBRATED, PROVEN = "calibrated", "proven"
SHARE = 0.1  # of the error of a difference: for the means that its variance follows from


Number = Any  # a float; or an array of them, of many trials at once


class GroupSum(NamedTuple):
    """Of the people in one group so far: how many places it has in a block, the sum of their rewards (each in [0, 1])
    as it was released, and the std of its noise."""

    places: int
    total: Number
    noise: float


class Interval(NamedTuple):
    """In units of the range of rewards, or of rewards."""

    value: Number
    low: Number
    high: Number

    @property
    def width(self) -> Number:
        return self.high - self.low


def quantile(error: float) -> float:
    """Of a normal variable, for both tails together."""
    return float(-special.ndtri(error / 2))


def normal(value: Number, spread: float, noise: float, z: float) -> tuple[Number, Number]:
    """All y in [0, 1] with (value - y)^2 <= z^2 (spread y (1 - y) + noise^2)."""
    a, b, c = 1 + z * z * spread, value + z * z * spread / 2, value * value - z * z * noise * noise
    root = np.sqrt(np.maximum(b * b - a * c, 0.0))
    return np.clip((b - root) / a, 0.0, 1.0), np.clip((b + root) / a, 0.0, 1.0)


def plain(spread: float, noise: float, error: float) -> float:
    """Half the width, for all outcomes."""
    return math.sqrt(2 * (spread / 4 + noise * noise) * math.log(2 / error))


def mean(group: GroupSum, groups: Places, blocks: int, error: float, bound: str) -> Interval:
    """What everybody would have brought in this group, on average."""
    count, spread = blocks * group.places, groups.mean(group.places).main / blocks
    value, noise = group.total / count, group.noise / count
    if bound == CALIBRATED:
        return cut(value, *normal(value, spread, noise, quantile(error)))
    half = plain(spread, noise, error / 2)
    if groups.divided and group.places == groups.holdout:
        return cut(value, value - half, value + half)
    low, high = rare.mean(group.total, count, group.noise, math.log(4 * rare.GRID / error))
    return cut(value, np.maximum(value - half, low), np.minimum(value + half, high))


def difference(bandit: GroupSum, holdout: GroupSum, groups: Places, blocks: int, error: float, bound: str) -> Interval:
    """Bandit minus holdout."""
    n, k = blocks * groups.bandit, blocks * groups.holdout
    value, noise = bandit.total / n - holdout.total / k, math.hypot(bandit.noise / n, holdout.noise / k)
    ends = (
        mean(holdout, groups, blocks, error * SHARE / 2, bound),
        mean(bandit, groups, blocks, error * SHARE / 2, bound),
    )
    if bound == CALIBRATED:
        variance = coin(groups, *(_middle(one) for one in ends)) / blocks
        half = quantile((1 - SHARE) * error) * np.sqrt(variance + noise**2)
        return Interval(value, value - half, value + half)
    half = plain(groups.difference.whole / blocks, noise, (1 - SHARE) * error / 2)
    if groups.divided:
        return Interval(value, value - half, value + half)
    unit = groups.block / (groups.holdout * (groups.block - groups.holdout)) / blocks  # R / N
    rest = math.hypot(noise, math.sqrt(groups.difference.arms / (4 * blocks))) / unit
    low, high = groups.mixed(ends[0].low, ends[1].low), groups.mixed(ends[0].high, ends[1].high)
    # the holdout's draws above their mean: the difference seems smaller than it is
    over, under = rare.tails(k, rest, low, high, math.log(4 * rare.GRID / ((1 - SHARE) * error)))
    return Interval(value, value - np.minimum(half, unit * under), value + np.minimum(half, unit * over))


def coin(groups: Places, holdout: Number, bandit: Number) -> Number:
    """The variance of a block's difference, for these means."""
    y, spread = groups.mixed(holdout, bandit), groups.difference
    return spread.main * y * (1 - y) + spread.arms * bandit * (1 - bandit)


def exact(value: Number, noise: float, error: float) -> Interval:
    """Of what noise alone hides."""
    return cut(value, value - (half := quantile(error) * noise), value + half)


def cut(value: Number, low: Number, high: Number) -> Interval:
    """Means are in [0, 1]."""
    low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    return Interval(np.clip(value, low, np.maximum(low, high)), low, high)


def _middle(ends: Interval) -> Number:
    """The point that is nearest to 1/2, where variances are largest."""
    return np.minimum(np.maximum(0.5, ends.low), ends.high)


def interval(got: float, missed: float, noise: float, people: int, error: float) -> Interval:
    """got, missed: S and F as they were released. Its value is the middle."""
    half = float(-special.ndtri(error / 2)) * noise / people
    low, high = max(got / people - half, 0.0), min(1 - missed / people + half, 1.0)
    low, high = min(low, 1.0), max(high, 0.0)
    return Interval((low + high) / 2, min(low, high), max(low, high))


ALARM = 1e-3


def problem(people: int, counts: Sequence[int], chances: Sequence[float], *, coins: bool, looks: int) -> str | None:
    """What is wrong at a look, in words."""
    for count, chance in zip(counts, chances, strict=True):
        planned = people * chance
        far = abs(count - planned)
        if far > (_far(planned * (1 - chance), looks * len(counts)) if coins else 1e-6 * people):
            return f"Expected {planned:.0f} people of {people} in a group, as planned, got {count}."
    return None


def _far(variance: float, tests: int) -> float:
    """t with 2 exp(-t^2 / (2 variance + 2 t / 3)) = ALARM / tests."""
    log = math.log(2 * tests / ALARM)
    return log / 3 + math.sqrt(log * log / 9 + 2 * variance * log)
