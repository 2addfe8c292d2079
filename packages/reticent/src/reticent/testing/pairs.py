"""The worst pair of people: how far one person moves the sums, searched through the bandit's own rows, adder and grid,
and through `choose` and `observe`, beside what its certificate's releases are computed from.

A search proves nothing above what it finds. What it finds above the claim convicts, and it has to come near the claim:
a kernel that is given 1.2 times a number is found out then, whatever the formulas say."""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Array
from reticent.mechanisms.opening import opened
from reticent.model.holdout import TAIL
from reticent.privacy.certificate import Certificate
from reticent.privacy.ledger import GaussianRelease, OneOfRelease, PhasesRelease, PureRelease
from reticent.privacy.noise import Secure

LENGTHS = (0.0, 5e-324, 1e-310, 1e-160, 1e-75, 1e-9, 0.3, 0.7, 1.0, 1.0 + 1e-9, 3.0, 1e154, 1.7e308)
STARTS, CLIMBS, STEPS = 150, 3, 500  # pairs at random, the farthest of them, and moves from each: for each estimate


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


def distance(one: Array, other: Array, norm: int = 2) -> float:
    """Of what two people add, in the same step or in different ones (mechanisms.continual)."""
    together, lengths = np.linalg.norm(one - other, norm), [np.linalg.norm(one, norm), np.linalg.norm(other, norm)]
    return max(float(together), float(np.linalg.norm(lengths, norm)))


def farthest(
    add: Callable[[Datum], Array],
    own: int,
    blocks: int,
    rewards: Sequence[float],
    rng: Generator,
    between: Callable[[Array, Array], float] = distance,
) -> float:
    """The largest distance that is found between what two people add, of `own` numbers in one of so many blocks."""
    low, high = rewards
    ends = [low, high, (low + high) / 2, math.nan, -1.7e308, 1.7e308]

    def drawn() -> Datum:
        direction = rng.normal(size=own) if rng.random() < 0.7 else np.eye(own)[rng.integers(own)] * rng.choice([-1, 1])
        length = float(rng.choice(LENGTHS)) if rng.random() < 0.7 else float(rng.random())
        return Datum(direction, length, int(rng.integers(blocks)), float(rng.choice(ends)))

    def near(one: Datum) -> Datum:
        (direction, length, block, reward), size = one, 10 ** rng.uniform(-3, 0)
        what = rng.integers(4)
        if what == 0:
            direction = direction / max(float(np.linalg.norm(direction)), 1e-9) + size * rng.normal(size=own)
        elif what == 1:
            length = min(1.0, abs(length + size * rng.normal()))
        elif what == 2:
            reward = float(rng.choice(ends))
        else:
            block, length = int(rng.integers(blocks)), float(rng.choice([length, 1.0]))
        return Datum(direction, length, block, reward)

    def far(pair: list[Datum]) -> float:
        return between(*map(add, pair))

    pairs = [[drawn(), drawn()] for _ in range(STARTS)]
    *others, best = sorted(pairs, key=far)[-CLIMBS:]
    for start in (best, [one._replace(length=1.0, block=0) for one in best], *others):
        found = far(start)
        for _ in range(STEPS):
            moved = [near(one) if rng.random() < 0.6 else one for one in start]
            if rng.random() < 0.1:
                moved[1] = moved[0]._replace(reward=float(rng.choice(ends)))
            if (there := far(moved)) > found:
                start, found = moved, there
        best = max(best, start, key=far)
    return far(best)


def claimed(certificate: Certificate) -> list[tuple[float, float]]:
    """(group, sensitivity) of all that one person moves: of each group of an experiment; group 0 where there is
    none."""
    (release,) = certificate.releases
    if isinstance(release, OneOfRelease):
        return [(float(i), group.sensitivity) for i, group in enumerate(release.groups)]
    assert isinstance(release, GaussianRelease)
    return [(0.0, release.sensitivity)]


def parts(bandit: Any) -> Iterator[tuple[float, slice, float, int]]:
    """(group, which of its numbers, sensitivity, in which norm), release by release and of all that one person
    moves."""
    (release,), size = bandit.privacy.releases, bandit.one_pass.learnt.sums.size
    if isinstance(release, PhasesRelease):
        (pure, own), first = release.phases, bandit.plan.mechanism.first
        assert isinstance(pure, PureRelease) and isinstance(own, GaussianRelease)
        yield 0.0, slice(first.size), pure.cells * first.cell, 1
        yield 0.0, slice(first.size, None), own.sensitivity, 2
        return
    for group, bound in claimed(bandit.privacy):
        yield group, slice(None), bound, 2
    for i, one in enumerate(getattr(release, "groups", ())):
        learnt, beside = one.releases
        yield float(i), slice(size), learnt.sensitivity, 2
        yield float(i), slice(size, None), beside.sensitivity, 2


def estimates(bandit: Any, rng: Generator) -> Iterator[Any]:
    """The first one, and those that follow from releases of noise."""
    of, live = bandit.one_pass, np.arange(bandit.plan.blocks)
    out = of.blank(live)
    yield out
    for step, size in enumerate((0.1, 5.0, 100.0), 1):
        out = of.estimate(out, size * rng.normal(size=of.plan.mechanism.size), step, live)
        yield out


def share(bandit: Any, rng: Generator, enough: float = math.inf) -> float:
    """The largest distance that is found between what two people add to the sums, as a share of what is claimed. No
    farther one is looked for than `enough`."""
    of, grid = bandit.one_pass, bandit.plan.mechanism
    plan, found = of.plan, 0.0
    for estimate in estimates(bandit, rng):
        adder = of.adder(estimate)
        for group, part, bound, norm in parts(bandit):

            def add(
                datum: Datum, at: Any = estimate, adder: Any = adder, group: float = group, part: slice = part
            ) -> Array:
                row = np.append(datum.x, float(datum.block)) if plan.blocks > 1 else datum.x
                if plan.kept:
                    kept = of.row(at, row[None], 0, datum.block, None, ())
                    row = opened(kept).copy()
                    if plan.groups is not None:
                        row[-TAIL] = group
                out = np.zeros(grid.size, np.int64)
                adder.add(row[None], np.array([datum.reward]), grid.cell, grid.longest, out)
                return np.asarray(out[part] * grid.cell)

            places = max(plan.blocks, 2)  # of arms, also where they have no blocks
            between = functools.partial(distance, norm=norm)
            found = max(found, farthest(add, plan.dim // plan.blocks, places, plan.reward.range, rng, between) / bound)
            if found > enough:
                return found
    return found


class Visit(NamedTuple):
    """One round of a person: what `choose` is given, and the reward that comes after `late` rounds. late: None if none
    ever comes. reward: None cancels."""

    arms: Any
    reward: float | None = None
    late: int | None = None
    actions: Any = None


Visits = Mapping[int, Visit]  # of one person, by round


def played(holder: Any, visits: Visits, nobody: Visit, rounds: int, each: Callable[[], None] = lambda: None) -> None:
    """In rounds without a visit somebody comes who is the same in all worlds. each: is called after every round."""
    limited, waiting = holder.one_pass.plan.limits.most is not None, []
    for t in range(rounds):
        visit = visits.get(t, nobody)
        known = {"person": "one" if t in visits else f"other {t}"} if limited else {}
        waiting.append((visit, t, holder.choose(visit.arms, actions=visit.actions, **known)))
        for came, when, choice in waiting:
            if came.late is not None and when + came.late == t:
                holder.observe(choice, came.reward)
        each()


def leaves(bandit: Any, visits: Visits, nobody: Visit, rounds: int) -> Array:
    """(steps, numbers): what each released step sums, without noise; in memory."""
    mechanism, sums = bandit.plan.mechanism, bandit.sums
    fading, out = mechanism.fading, [np.zeros(mechanism.size)]

    def released() -> None:
        if sums.steps == len(out):
            out.append(np.array(sums.released))
        assert sums.steps == len(out) - 1

    played(bandit, visits, nobody, rounds, released)
    return np.asarray(np.array(out[1:]) - fading * np.array(out[:-1]))


def worlds(
    certificate: Certificate, each: Sequence[tuple[Visits, Array]], group: Callable[[int], int] = lambda number: 0
) -> float:
    """How far the steps of two worlds are apart, which differ in one person's visits, as a share of what is claimed for
    all of that person's rounds; of any two. group: of a number, in an experiment."""
    bounds = dict(claimed(certificate))
    turns = sorted(each[0][0])[: certificate.person or 1]
    bound = sum(bounds[group(turn + 1)] for turn in turns)
    return max(float(np.linalg.norm(a - b)) for (_, a), (_, b) in itertools.combinations(each, 2)) / bound
