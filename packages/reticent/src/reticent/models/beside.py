"""A model beside the sums of an experiment (algorithms.groups): a row, as it is kept, has more numbers at its end,
which say in whose group it counts, whether it teaches, and for which arm."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.algorithms.chances import Values
from reticent.algorithms.groups import Groups
from reticent.data import Array, Exact, Integers, Released
from reticent.kernels.compile import kernel
from reticent.kernels.formulas import add_groups
from reticent.kernels.summing import add_rounded
from reticent.mechanisms import leaves
from reticent.model.holdout import TAIL
from reticent.models import protocol
from reticent.models.protocol import Adder, Course, Model, Pace


@dataclass(frozen=True, kw_only=True, eq=False)
class Beside:
    """What is learnt is learnt as by `inner`, from its part of the sums; the experiment's come after it.

    A contribution to what is learnt that no person can make is left out alone. Beside it two people are |v| <= D_0 and
    their rewards apart, no farther than the worst pair of which both are learnt from."""

    inner: Model[Any]
    groups: Groups

    @property
    def sums(self) -> protocol.ModelSums:
        """See algorithms.groups."""
        inner = self.inner.sums
        if inner.phases:
            raise ValueError("Expected models of the l2 norm in an experiment, got one of l1, whose noise is its own.")
        whole = float(np.hypot(inner.sensitivity, self.groups.sensitivity))
        size, kept = inner.size + self.groups.size, inner.kept + TAIL
        return inner._replace(size=size, sensitivity=whole, kept=kept)

    @property
    def pace(self) -> Pace:
        return self.inner.pace

    @property
    def knows(self) -> bool:
        return self.inner.knows

    @property
    def reports(self) -> bool:
        return self.inner.reports

    def blank(self, live: Integers) -> Any:
        return self.inner.blank(live)

    def fit(self, before: Any, released: Released, step: int, live: Integers, course: Course, chosen: int) -> Any:
        learnt = leaves.part(released, slice(0, self.inner.sums.size))
        return self.inner.fit(before, learnt, step, live, course, chosen)

    def pick(self, estimate: Any, arms: Array, rng: Generator) -> Integers:
        return self.inner.pick(estimate, arms, rng)

    def values(self, estimate: Any, arms: Array) -> Values:
        return self.inner.values(estimate, arms)

    def beliefs(self, estimate: Any, arms: Array, level: float) -> tuple[Array, Array]:
        return self.inner.beliefs(estimate, arms, level)

    def mean(self, z: Array) -> Array:
        return self.inner.mean(z)

    def report(self, estimate: Any, live: Integers, course: Course) -> Any:
        return self.inner.report(estimate, live, course)

    def keep(self, estimate: Any, x: Array, place: int, name: str | None, names: tuple[str, ...]) -> Array:
        inner = self.inner.keep(estimate, x, place, name, names)
        return np.concatenate([inner, self.groups.tail(x, place, name, names)])

    def adder(self, estimate: Any) -> "BesideAdder":
        of, inner = self.groups, self.inner.sums
        given = of.weights, of.part, float(of.low), float(of.high)
        return BesideAdder(self.inner.adder(estimate), inner.size, inner.sensitivity / self.sums.sensitivity, given)

    def loop(self, course: Course) -> None:
        return None


class BesideAdder(NamedTuple):
    """inner: adds the first `size` numbers. share: of the longest contribution, that to these."""

    inner: Adder
    size: int
    share: float
    groups: tuple[Array, float, float, float]

    def add(
        self, rows: Array, rewards: Array, cell: float, longest: float, out: Exact, weights: Array | None = None
    ) -> None:
        weights = np.ones(len(rewards)) if weights is None else weights.copy()
        width = rows.shape[1] - TAIL
        sum_groups(np.ascontiguousarray(rows[:, width:]), rewards, weights, *self.groups, cell, Exact(out[self.size :]))
        inner = np.ascontiguousarray(rows[:, :width])
        self.inner.add(inner, rewards, cell, self.share * longest, Exact(out[: self.size]), weights)


@kernel
def sum_groups(
    rows: Array,
    rewards: Array,
    weights: Array,
    groups: Array,
    pair: float,
    low: float,
    high: float,
    cell: float,
    out: Exact,
) -> None:
    """out += what rows add to the sums of the experiment, of which these are the tails, in whole cells as in
    kernels.summing: it is bounded whatever they are. weights: what each counts for learning, times what it was."""
    own = Exact(np.zeros(out.size))
    for i in range(rewards.size):
        if not np.isnan(rewards[i]):
            weights[i] *= add_groups(rows[i], rewards[i], groups, pair, low, high, own)
            if cell == 0.0:
                for j in range(own.size):
                    out[j] += own[j]
            else:
                add_rounded(own, cell, out)
            own[:] = 0.0
