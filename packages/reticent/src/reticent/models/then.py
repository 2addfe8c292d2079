"""Two models, one after the other, for different people: those of the first phase teach the first model alone, and all
later ones the second.

A number's phase is that of the estimate by which its choice was made, and is kept with it: after the releases that were
visible then. So it depends on nobody's data but through what was released, and both phases may be open at once, as long
as choices of the first wait for their rewards.

Sensitivity. What is released is (w u, v): u from people of the first phase, v from those of the second, who add zeros
to the other part. With |u - u'| <= D_1, |v - v'| <= D_2 and w = D_2 / D_1 replacing one person, whose phase is the same
in both worlds, moves it by at most D_2 in l2 norm: w |u - u'| in the first part alone, or |v - v'| in the second. Each
phase has the whole budget, whoever is in it (parallel composition by number). A person of k rounds, whichever phases
they are in, moves it by at most k D_2. A first model of the l1 norm has a mechanism of its own (mechanisms.phases), and
no w: then the worst split of a person's rounds counts (ledger.PhasesRelease)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.algorithms.chances import Values
from reticent.data import Array, Exact, Integers, Released
from reticent.mechanisms import leaves
from reticent.models.protocol import Adder, Course, Model, ModelSums, Pace

FIRST, SECOND = 0.0, 1.0  # phases, as they are kept of a choice


class ThenEstimate(NamedTuple):
    """over: (2,) whether the first phase is, from now on, and at which release that was asked."""

    first: Any
    second: Any
    over: Array

    @property
    def theta(self) -> Array:
        out: Array = (self.second if self.over[0] else self.first).theta
        return out


@dataclass(frozen=True, kw_only=True, eq=False)
class Then:
    """until: whether an estimate of the first model ends its phase; asked of each as it follows from a release, and
    once it says so, for ever."""

    first: Model[Any]
    until: Callable[[Any], bool]
    second: Model[Any]

    @property
    def sums(self) -> ModelSums:
        first, second = self.first.sums, self.second.sums
        if second.norm != "l2" or first.norm not in ("l1", "l2"):
            norms = f"{first.norm} and {second.norm}"
            raise ValueError(
                f"Expected models of the l1 or l2 norm, and of the l2 norm in the second phase, got {norms}."
            )
        statistic = f"{first.statistic}, then of later people {second.statistic}"
        own = (first, second) if first.norm == "l1" else ()
        kept = 1 + max(first.kept, second.kept)
        return ModelSums(first.size + second.size, second.sensitivity, second.norm, statistic, kept, own)

    @property
    def share(self) -> float:
        """D_1 / D_2."""
        return self.first.sums.sensitivity / self.second.sums.sensitivity

    @property
    def scale(self) -> float:
        """w; 1 where the first phase has a mechanism of its own."""
        return 1.0 if self.first.sums.norm == "l1" else 1 / self.share

    @property
    def pace(self) -> Pace:
        return self.second.pace

    @property
    def knows(self) -> bool:
        return self.first.knows

    @property
    def reports(self) -> bool:
        return self.second.reports

    def blank(self, live: Integers) -> ThenEstimate:
        return ThenEstimate(self.first.blank(live), self.second.blank(live), np.zeros(2))

    def fit(
        self, before: ThenEstimate, released: Released, step: int, live: Integers, course: Course, chosen: int
    ) -> ThenEstimate:
        size = self.first.sums.size
        first = leaves.scaled(leaves.part(released, slice(size)), 1 / self.scale)
        own = course._replace(sigma=course.sigma / self.scale) if course.first is None else course.first
        one = self.first.fit(before.first, first, step, live, own, chosen)
        two = self.second.fit(before.second, leaves.part(released, slice(size, None)), step, live, course, chosen)
        over, asked = before.over  # for other actions the same release is not asked again
        return ThenEstimate(one, two, np.array([float(over or (asked < step and self.until(one))), step]))

    def _now(self, estimate: ThenEstimate) -> tuple[Model[Any], Any]:
        """The model of the phase, and its estimate."""
        return (self.second, estimate.second) if estimate.over[0] else (self.first, estimate.first)

    def pick(self, estimate: ThenEstimate, arms: Array, rng: Generator) -> Integers:
        model, at = self._now(estimate)
        return model.pick(at, arms, rng)

    def values(self, estimate: ThenEstimate, arms: Array) -> Values:
        model, at = self._now(estimate)
        return model.values(at, arms)

    def beliefs(self, estimate: ThenEstimate, arms: Array, level: float) -> tuple[Array, Array]:
        model, at = self._now(estimate)
        return model.beliefs(at, arms, level)

    def mean(self, z: Array) -> Array:
        return self.second.mean(z)

    def report(self, estimate: ThenEstimate, live: Integers, course: Course) -> Any:
        return self.second.report(estimate.second, live, course) if estimate.over[0] else None

    def keep(self, estimate: ThenEstimate, x: Array, place: int, name: str | None, names: tuple[str, ...]) -> Array:
        model, at = self._now(estimate)
        out = np.zeros(x.size + self.sums.kept)
        row = model.keep(at, x, place, name, names)
        out[: row.size], out[-1] = row, SECOND if estimate.over[0] else FIRST
        return out

    def adder(self, estimate: ThenEstimate) -> "ThenAdder":
        more = self.sums.kept
        parts = (
            PhaseAdder(self.first.adder(estimate.first), self.scale, self.share, more - self.first.sums.kept),
            PhaseAdder(self.second.adder(estimate.second), 1.0, 1.0, more - self.second.sums.kept),
        )
        return ThenAdder(parts, self.first.sums.size)

    def loop(self, course: Course) -> None:
        return None


class PhaseAdder(NamedTuple):
    """scale: what a row counts. share: of the longest contribution, its own. dropped: numbers at the end of a row that
    it does not know."""

    of: Adder
    scale: float
    share: float
    dropped: int


class ThenAdder(NamedTuple):
    """size: numbers of the first part."""

    phases: tuple[PhaseAdder, PhaseAdder]
    size: int

    def add(
        self, rows: Array, rewards: Array, cell: float, longest: float, out: Exact, weights: Array | None = None
    ) -> None:
        for number, phase in enumerate(self.phases):
            theirs = np.flatnonzero(rows[:, -1] == number)
            own = np.full(len(theirs), phase.scale) if weights is None else phase.scale * weights[theirs]
            part = Exact(out[self.size :] if number else out[: self.size])
            known = np.ascontiguousarray(rows[theirs, : rows.shape[1] - phase.dropped])
            phase.of.add(known, rewards[theirs], cell, phase.share * longest, part, own)
