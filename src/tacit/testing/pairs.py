"""The worst pair of people: how far one person moves the sums, searched through the bandit's own rows, adder and grid,
and through `choose` and `observe`, beside what its certificate's releases are computed from.

A search proves nothing above what it finds. What it finds above the claim convicts, and it has to come near the claim:
a kernel that is given 1.2 times a number is found out then, whatever the formulas say."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from tacit.data import Array
from tacit.mechanisms.opening import opened
from tacit.privacy.ledger import GaussianRelease, OneOfRelease
from tacit.privacy.noise import Secure

LENGTHS = (0.0, 5e-324, 1e-310, 1e-160, 1e-75, 1e-9, 0.3, 0.7, 1.0, 1.0 + 1e-9, 3.0, 1e154, 1.7e308)
STARTS, STEPS = 150, 500  # pairs at random, and moves from the farthest of them: for each estimate


class Datum(NamedTuple):
    """What one person brings: features of that direction and length, in a block, and a reward; NaN if none comes."""

    direction: Array
    length: float
    block: int
    reward: float

    @property
    def x(self) -> Array:
        with np.errstate(over="ignore", under="ignore"):
            return self.direction / max(float(np.linalg.norm(self.direction)), 1e-9) * self.length


class Silent(Secure):
    """Whole numbers without noise: what is released is the sum, on the grid of the noise that is claimed."""

    def expect(self, need: int, cells: float) -> None:
        pass

    def integers(self, count: int, size: int, cells: float) -> Any:
        return np.zeros((count, size), np.int64)


def apart(one: Array, other: Array) -> float:
    """Of what two people add, in the same step or in different ones (mechanisms.continual)."""
    return max(float(np.linalg.norm(one - other)), math.hypot(np.linalg.norm(one), np.linalg.norm(other)))


def farthest(add: Callable[[Datum], Array], own: int, blocks: int, rewards: Sequence[float], rng: Generator) -> float:
    """The largest distance that is found between what two people add, of `own` numbers in one of so many blocks."""
    low, high = rewards
    ends = [low, high, (low + high) / 2, math.nan, -1.7e308, 1.7e308]

    def drawn() -> Datum:
        direction = rng.normal(size=own) if rng.random() < 0.7 else np.eye(own)[rng.integers(own)] * rng.choice([-1, 1])
        length = float(rng.choice(LENGTHS)) if rng.random() < 0.7 else float(rng.random())
        return Datum(direction, length, int(rng.integers(blocks)), float(rng.choice(ends)))

    def near(one: Datum) -> Datum:
        what, size = rng.integers(4), 10 ** rng.uniform(-3, 0)
        if what == 0:
            unit = one.direction / max(float(np.linalg.norm(one.direction)), 1e-9)
            return one._replace(direction=unit + size * rng.normal(size=own))
        if what == 1:
            return one._replace(length=min(1.0, abs(one.length + size * rng.normal())))
        if what == 2:
            return one._replace(reward=float(rng.choice(ends)))
        return one._replace(block=int(rng.integers(blocks)), length=float(rng.choice([one.length, 1.0])))

    def distance(pair: list[Datum]) -> float:
        return apart(*map(add, pair))

    pairs = [[drawn(), drawn()] for _ in range(STARTS)]
    best = max(pairs, key=distance)
    for start in (best, [one._replace(length=1.0, block=0) for one in best]):
        found = distance(start)
        for _ in range(STEPS):
            moved = [near(one) if rng.random() < 0.6 else one for one in start]
            if rng.random() < 0.1:
                moved[1] = moved[0]._replace(reward=float(rng.choice(ends)))
            if (there := distance(moved)) > found:
                start, found = moved, there
        best = max(best, start, key=distance)
    return distance(best)


def claimed(bandit: Any) -> list[tuple[float, float]]:
    """(side, sensitivity) of all that one person moves: of each side of an experiment; side 0 where there is none."""
    (release,) = bandit.privacy.releases
    if isinstance(release, OneOfRelease):
        return [(float(i), side.sensitivity) for i, side in enumerate(release.sides)]
    assert isinstance(release, GaussianRelease)
    return [(0.0, release.sensitivity)]


def estimates(bandit: Any, rng: Generator) -> Iterator[Any]:
    """The first one, and those that follow from releases of noise."""
    of, live = bandit.algorithm, np.arange(bandit.algorithm.plan.blocks)
    out = of.blank(live)
    yield out
    for step, size in enumerate((0.1, 5.0, 100.0), 1):
        out = of.estimate(out, size * rng.normal(size=of.plan.mechanism.size), step, live)
        yield out


def share(bandit: Any, rng: Generator) -> float:
    """The largest distance that is found between what two people add to the sums, as a share of what is claimed."""
    of, grid = bandit.algorithm, bandit.mechanism
    plan, found = of.plan, 0.0
    for estimate in estimates(bandit, rng):
        adder = of.adder(estimate)
        for side, bound in claimed(bandit):

            def add(datum: Datum, adder: Any = adder, side: float = side) -> Array:
                row = np.append(datum.x, float(datum.block)) if plan.blocks > 1 else datum.x
                if plan.row > plan.width:
                    kept = of.row(row[None], 0, datum.block, None, ())
                    row = opened(kept).copy()
                    row[plan.width] = side
                out = np.zeros(grid.size, np.int64)
                adder.cells(row[None], np.array([datum.reward]), *adder.given, grid.cell, grid.longest, out)
                return np.asarray(out * grid.cell)

            found = max(found, farthest(add, plan.dim // plan.blocks, plan.blocks, plan.rewards, rng) / bound)
    return found


class Visit(NamedTuple):
    """One round of a person: what `choose` is given, and the reward, or none, and after how many rounds it comes."""

    arms: Any
    reward: float | None = None
    late: int = 0
    actions: Any = None


def leaves(bandit: Any, visits: dict[int, Visit], nobody: Visit, rounds: int) -> Array:
    """(steps, numbers): what each released step sums, without noise. In rounds without a visit somebody comes who is
    the same in both worlds."""
    fading, out, waiting = bandit.mechanism.fading, [], []
    last = np.zeros(bandit.mechanism.size)
    for t in range(rounds):
        visit = visits.get(t, nobody)
        known = {"person": "one" if t in visits else f"other {t}"} if bandit.max_rounds_per_person else {}
        steps = bandit._steps
        choice = bandit.choose(visit.arms, actions=visit.actions, **known)
        if bandit._steps > steps:
            assert bandit._steps == steps + 1
            now = np.asarray(bandit._state.prefix.released)
            out.append(now - fading * last)
            last = now.copy()
        waiting.append((t + visit.late, choice, visit.reward))
        for when, chosen, reward in waiting:
            if when == t and reward is not None:
                bandit.observe(chosen, reward)
    return np.array(out)


def two_worlds(
    make: Callable[[], Any], one: dict[int, Visit], other: dict[int, Visit], nobody: Visit, rounds: int
) -> float:
    """How far the steps of two worlds are apart that differ in one person's visits, as a share of what is claimed for
    all rounds of a person."""
    bandit = make()
    (release,) = bandit.privacy.releases
    bound: float = release.rounds * release.sensitivity
    moved = leaves(bandit, one, nobody, rounds) - leaves(make(), other, nobody, rounds)
    return float(np.linalg.norm(moved)) / bound
