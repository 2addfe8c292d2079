"""What settings really give: the default bandit of each trust model in simulated worlds, many times over.

The share at n is that of the rounds from n / 2 to n: 1 - (regret of the bandit) / (regret of uniform play), so 0 is as
good as chance and 1 as good as knowing theta*."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import SeedSequence, default_rng

from tacit.bandits import ShuffleNewton
from tacit.data import Array
from tacit.environments import Environment, ball
from tacit.mechanisms.shuffle.calibration import ShufflePlan
from tacit.mechanisms.shuffle.encoding import reach
from tacit.planning.players import noise_of, player
from tacit.planning.setting import Setting
from tacit.privacy.noise import Simulated
from tacit.roles.analyzer import Analyzer

PER_DECADE = 4  # points of a curve, from FIRST on
FIRST = 1000
BLOCK = 1 << 15  # features in a block: it stays in the cache
COINS = 53  # as many as one random number has bits


class Coarse(Analyzer):
    """Batches whose noise has the same law, nearly, from fewer coins on a coarser grid: a simulation need not hide
    anything, and a coin costs time."""

    def _make(self, users: int) -> ShufflePlan:
        plan = super()._make(users)
        if plan.trials <= COINS:
            return plan
        scale = plan.scale * math.sqrt((COINS + 1) / (plan.trials + 1))  # the same std
        return plan._replace(scale=scale, trials=COINS, reach=reach(scale, self.norm))


class CoarseNewton(ShuffleNewton):
    def _analyzer(self, *, size: int, sensitivity: float, norm: float, first: int, growth: float) -> Analyzer:
        return Coarse(budget=self.budget, size=size, sensitivity=sensitivity, norm=norm, first=first, growth=growth)


class Measured(NamedTuple):
    """At each number of rounds: the mean share, its standard error, and of how many pairs of runs."""

    at: list[int]
    share: list[float]
    error: list[float]
    runs: list[int]


def grid(horizon: int) -> list[int]:
    """Numbers of rounds at which shares are measured."""
    return grid_of(1 + math.floor(PER_DECADE * math.log10(horizon / FIRST) + 1e-2))


def grid_of(count: int) -> list[int]:
    """The first of them."""
    return [round(FIRST * 10 ** (i / PER_DECADE)) for i in range(count)]


def twice(setting: Setting, world: Environment, at: Sequence[int], seed: Sequence[int]) -> Array:
    """The mean of two runs that differ in the sign of theta* alone: noise that points in a direction helps one of them
    as much as it harms the other, so that fewer runs tell as much. One run in worlds that know theta* otherwise."""
    if not isinstance(world, ball):
        return once(setting, world, at, seed, 1.0)
    out: Array = (once(setting, world, at, seed, 1.0) + once(setting, world, at, seed, -1.0)) / 2
    return out


def once(setting: Setting, world: Environment, at: Sequence[int], seed: Sequence[int], sign: float) -> Array:
    """(2, len(at)): regret of one run in the rounds from n / 2 to n, and that of uniform play."""
    mine, world_seed, noise = SeedSequence(seed).spawn(3)
    bandit = player(setting, default_rng(mine), Simulated(noise), CoarseNewton)
    fill, theta = world.start(default_rng(world_seed), at[-1])
    if theta is not None:
        theta *= sign
    edges = np.unique([0, *at, *(n // 2 for n in at)])
    sums = np.zeros((2, len(edges)))
    size = max(1, min(1024, BLOCK // (world.arms * world.width)))
    block, total, played = world.block(size), np.zeros(2), 0
    while played < at[-1]:
        if at[-1] - played < size:
            block = world.block(at[-1] - played)
        fill(block)
        bandit.play(block)
        count = len(block.noise)
        both = np.cumsum([block.regret, block.means.max(axis=1) - block.means.mean(axis=1)], axis=1)
        inside = (edges > played) & (edges <= played + count)
        sums[:, inside] = total[:, None] + both[:, edges[inside] - played - 1]
        total += both[:, -1]
        played += count
    ends, middles = np.searchsorted(edges, at), np.searchsorted(edges, [n // 2 for n in at])
    out: Array = sums[:, ends] - sums[:, middles]
    return out


def cost(setting: Setting) -> float:
    """Microseconds a round, about."""
    d, noise = setting.dim, {"joint": 0.0025, "shuffle": 0.01, "local": 0.0055}[setting.model]
    return 0.5 + 0.0075 * d * setting.arms + noise * d * d


def horizons(setting: Setting, seconds: float, most: int) -> list[int]:
    """Of short, middling and long runs: from where something is learnt on, ten times and a hundred times as long, as
    far as a run of a part of the time goes."""
    d, std = setting.dim, noise_of(setting).std
    wanted = 4 * d**2 + (2 * d**3 * std**2 if setting.model == "local" else 3 * d**1.5 * std)
    longest = min(most, max(10_000, seconds / 3 / 6 / (1e-6 * cost(setting))))
    listed = {max(FIRST, min(wanted * factor, longest)) for factor in (1, 10, 100)}
    return sorted({grid(round(each))[-1] for each in listed})


def measure(
    setting: Setting,
    *,
    seed: Sequence[int],
    seconds: float,
    precise: float,
    most: int = 300_000,
    least: int = FIRST,
    world: Callable[..., Environment] = ball,
) -> Measured:
    """The mean share over runs of `least` to `most` rounds: as many as take about `seconds`, or fewer where its
    standard error is below `precise` before."""
    place = world(dim=setting.dim, arms=setting.arms, radius=setting.radius, link="logistic")
    seconds *= 1 + setting.dim / 40
    lengths = sorted({max(least, length) for length in horizons(setting, seconds, most)})
    at = grid(lengths[-1])
    found: list[list[Array]] = [[] for _ in at]
    number, before = 0, 0
    for length in lengths:
        here = [n for n in at if n <= length]
        runs = max(3, math.ceil(seconds / len(lengths) / 2 / (1e-6 * cost(setting) * length + 2e-3)))
        fresh = [i for i, n in enumerate(here) if n > before]
        for done in range(runs):
            if done >= 4 and all(_mean(found[i])[1] < precise for i in fresh):
                break
            pair = twice(setting, place, here, [*seed, number])
            number += 1
            for i in range(len(here)):
                found[i].append(pair[:, i])
        before = length
    shares, errors = zip(*(_mean(each) for each in found), strict=True)
    return Measured(at, [round(s, 4) for s in shares], [round(e, 4) for e in errors], [len(each) for each in found])


def _mean(pairs: Sequence[Array]) -> tuple[float, float]:
    """1 - mean regret / mean regret of uniform play, and its standard error."""
    regret, uniform = np.array(pairs).T
    ratio = regret / uniform.mean()
    residual = ratio - ratio.mean() * uniform / uniform.mean()
    return float(1 - ratio.mean()), float(residual.std(ddof=1) / math.sqrt(len(pairs))) if len(pairs) > 1 else 1.0
