"""One pass over people with any model, as a value with pure functions: each person's datum is
summed once, at the estimate of its step, and the next estimate follows from the sums as they are released."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.algorithms import chances
from reticent.core.plan import Plan
from reticent.data import Array, Integers, Raw, Released
from reticent.mechanisms import leaves
from reticent.mechanisms.leaves import gains_after
from reticent.mechanisms.phases import Phases
from reticent.model import arms as arm_sets
from reticent.model.chances import Chance, Later
from reticent.model.holdout import Holdout
from reticent.models.beside import Beside
from reticent.models.protocol import Adder, Course, Loop, Model

if TYPE_CHECKING:
    from reticent.algorithms.trial_sums import TrialSums


class OnePassEstimate(NamedTuple):
    """What choices are made by after `step` releases. PUBLIC, and never written to. arrays: as the model has them.
    random: nothing was released, and nothing is known from elsewhere."""

    arrays: Any
    step: int
    random: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class OnePass:
    """gains: std of release k per unit of the noise's, the last one also that of all later ones."""

    plan: Plan
    model: Model[Any]
    gains: Array

    @functools.cached_property
    def course(self) -> Course:
        m = self.plan.mechanism
        of = Course(self.plan.schedule, m.law, m.sigma, self.gains, m.fading, m.leaves)
        if not isinstance(m, Phases):
            return of
        first = of._replace(sigma=m.first.std, gains=np.sqrt(np.arange(m.leaves + 1.0)), fading=1.0)
        return of._replace(first=first)

    def after(self, std: float) -> "OnePass":
        mechanism = self.plan.mechanism
        return dataclasses.replace(self, gains=gains_after(self.gains, std / mechanism.sigma, mechanism.fading))

    @property
    def learnt(self) -> Model[Any]:
        """The model that learns, without what is beside it."""
        return self.model.inner if isinstance(self.model, Beside) else self.model

    # estimates

    def live(self, declared: Any) -> Integers:
        return arm_sets.live([one.until is None for one in declared], self.plan.blocks)

    def blank(self, live: Integers) -> OnePassEstimate:
        return self.of_arrays(self.model.blank(live), 0)

    def estimate(
        self, before: OnePassEstimate, released: Released, step: int, live: Integers, chosen: int | None = None
    ) -> OnePassEstimate:
        chosen = step - 1 if chosen is None else chosen
        return OnePassEstimate(self.model.fit(before.arrays, released, step, live, self.course, chosen), step, False)

    def of_arrays(self, arrays: Any, step: int) -> OnePassEstimate:
        return OnePassEstimate(arrays, step, step == 0 and not self.model.knows)

    @np.errstate(under="ignore")  # of tiny features, whatever errors the program raises
    def pick(self, estimate: OnePassEstimate, arms: Array, rng: Generator) -> Integers:
        if estimate.random:
            return np.asarray(rng.random(len(arms)) * arms.shape[1]).astype(np.int64)
        return self.model.pick(estimate.arrays, arms, rng)

    @np.errstate(under="ignore")  # of tiny features, whatever errors the program raises
    def chance(self, estimate: OnePassEstimate, arms: Array, index: int, *, chosen: bool = True) -> Chance:
        if estimate.random:
            return Chance(1 / len(arms), 0.0)
        find = chances.of_chosen if chosen else chances.chance
        return find(self.model.values(estimate.arrays, arms), index)

    def chances(self, estimate: OnePassEstimate, arms: Array) -> Array:
        if estimate.random:
            return np.full(len(arms), 1 / len(arms))
        return chances.of_each(self.model.values(estimate.arrays, arms))

    def intervals(self, estimate: OnePassEstimate, arms: Array, level: float) -> tuple[Array, Array, Array]:
        """For each of these arms the estimate of its mean reward, and an interval of that level."""
        middle, half = self.model.beliefs(estimate.arrays, arms, level)
        return self.model.mean(middle), self.model.mean(middle - half), self.model.mean(middle + half)

    def theta(self, estimate: OnePassEstimate) -> Array:
        out: Array = estimate.arrays.theta.flatten()
        return out

    @property
    def by_fields(self) -> bool:
        return self.model.reports

    def segments(self, estimate: OnePassEstimate, live: Integers) -> Any:
        return None if estimate.random else self.model.report(estimate.arrays, live, self.course)

    # contributions

    def row(
        self,
        estimate: OnePassEstimate,
        arms: Array,
        picked: int,
        place: int,
        name: str | None,
        declared: tuple[str, ...],
    ) -> Raw[Array]:
        if not self.plan.kept:  # nothing but the arm
            return Raw(arms[picked].copy())
        return Raw(self.model.keep(estimate.arrays, arms[picked], place, name, declared))

    def adder(self, estimate: OnePassEstimate) -> Adder:
        return self.model.adder(estimate.arrays)

    # an experiment

    def experiment(self, released: Released) -> Released | None:
        return None if self.plan.groups is None else leaves.part(released, slice(-self.plan.groups.size, None))

    @property
    def holdout(self) -> Holdout | None:
        return None if self.plan.groups is None else self.plan.groups.holdout

    def trial_sums(
        self, looks: Sequence[Released], counts: Callable[[int], tuple[int, ...]], ended: int | None
    ) -> "TrialSums":
        assert self.plan.groups is not None
        from reticent.algorithms.trial_sums import trial_sums

        return trial_sums(self.plan.groups, self.plan.mechanism, self.plan.schedule, looks, counts, ended)

    # simulation

    @property
    def loop(self) -> Loop | None:
        return self.model.loop(self.course)


class View:
    """An algorithm at one estimate: what choices are made by at one version. policy: what fresh draws come from."""

    def __init__(self, algorithm: OnePass, estimate: OnePassEstimate, policy: Generator) -> None:
        self._algorithm, self._estimate, self._policy = algorithm, estimate, policy

    def pick(self, arms: Array) -> Integers:
        return self._algorithm.pick(self._estimate, arms, self._policy)

    def propensity(self, arms: Array, index: int) -> Later:
        algorithm, estimate = self._algorithm, self._estimate
        return Later(lambda: algorithm.chance(estimate, arms, index))

    def chance(self, arms: Array, index: int) -> Chance:
        return self._algorithm.chance(self._estimate, arms, index, chosen=False)

    def row(self, arms: Array, picked: int, place: int, name: str | None, names: tuple[str, ...]) -> Raw[Array]:
        return self._algorithm.row(self._estimate, arms, picked, place, name, names)
