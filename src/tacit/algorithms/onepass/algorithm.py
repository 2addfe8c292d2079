"""One-pass private estimates of generalised linear models, as a value with pure functions (protocols.Algorithm)."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.random import Generator

from tacit.algorithms import chances, irls
from tacit.algorithms.chances import Values
from tacit.algorithms.onepass import centred, curvature, fields, scores, segments
from tacit.algorithms.onepass.fields import FieldPosterior
from tacit.algorithms.onepass.segments import Segments
from tacit.algorithms.sides import NO_SIDES, Sides
from tacit.algorithms.trial_sums import TrialSums, trial_sums
from tacit.data import Array, Integers, Raw, Released
from tacit.kernels.glm import Known, Posterior, Tuning
from tacit.kernels.summing import Tally
from tacit.mechanisms import leaves
from tacit.mechanisms.leaves import gains_after
from tacit.model import arms as arm_sets
from tacit.model.centred import CentredContribution
from tacit.model.chances import Chance
from tacit.model.control import Control
from tacit.model.fields import FieldContribution
from tacit.model.glm import GLMContribution
from tacit.model.links import Link
from tacit.model.scores import ScoreContribution
from tacit.protocols import Adder, Loop, Plan

Linear = FieldContribution | CentredContribution  # the chance of a reward is, in the features
Contribution = GLMContribution | ScoreContribution | Linear


class OnePassEstimate(NamedTuple):
    """What choices are made by after `step` releases. PUBLIC, and never written to.

    random: nothing was released, and nothing is known from elsewhere. people: the sums of an action's part of the
    features, over all people, where sums are by fields."""

    arrays: Any  # a Posterior, or a FieldPosterior
    step: int
    random: bool
    people: Array | None = None


class Form(Protocol):
    """What is released, and how arms are held against the estimate that follows from it: curvature, scores,
    fields, centred. posterior: the arrays of an estimate of that form."""

    STATISTIC: str  # what is summed, in words
    GROWTH: float  # of steps
    DISCOUNT: float  # of earlier steps, at each step
    PER_SIGMA: float  # of the noise's std: so many more people in the smallest step

    def blank(self, of: "OnePass", live: Integers) -> Any:
        """The estimate before anything was released."""

    def fit(self, of: "OnePass", released: Released, step: int, live: Integers, posterior: Any) -> None:
        """posterior <- the estimate from what was released."""

    def pick(self, of: "OnePass", posterior: Any, arms: Array, rng: Generator) -> Integers:
        """For each user of (n, K, width) the arm to play, by a fresh draw."""

    def values(self, of: "OnePass", posterior: Any, arms: Array) -> Values:
        """Of the (K, width) arms of a user under such a draw: for probabilities."""

    def beliefs(self, of: "OnePass", posterior: Any, arms: Array, level: float) -> tuple[Array, Array]:
        """For each row x: the estimate of <x, theta*>, and half the width of its interval."""

    def adder(self, of: "OnePass", posterior: Any) -> Adder:
        """What sums contributions at that estimate."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OnePass:
    """sides: of an experiment, if there is one: its numbers come after those that are learnt from. gains: std of
    release k per unit of the noise's, the last one also that of all later ones. unit: of rewards, where the link is the
    identity. prior: what is known from elsewhere."""

    plan: Plan
    sides: Sides | None
    contribution: Contribution
    link: Link
    unit: float
    tuning: Tuning
    prior: Known
    gains: Array

    @property
    def form(self) -> Form:
        if self.by_fields:
            return fields
        if isinstance(self.contribution, CentredContribution):
            return centred
        if isinstance(self.contribution, ScoreContribution):
            return scores
        return curvature

    @property
    def own(self) -> int:
        """Coordinates of one block."""
        return self.plan.dim // self.plan.blocks

    def coordinates(self, live: Integers) -> Integers:
        """Those of these blocks."""
        out: Integers = (self.own * live[:, None] + np.arange(self.own)).ravel()
        return out

    def std(self, step: int) -> float:
        """Of the noise in each number of that release."""
        return self.plan.mechanism.sigma * float(self.gains[min(step, len(self.gains) - 1)])

    def after(self, std: float) -> "OnePass":
        mechanism = self.plan.mechanism
        return dataclasses.replace(self, gains=gains_after(self.gains, std / mechanism.sigma, mechanism.fading))

    # estimates

    def live(self, declared: Any) -> Integers:
        return arm_sets.live([one.until is None for one in declared], self.plan.blocks)

    def blank(self, live: Integers) -> OnePassEstimate:
        return OnePassEstimate(self.form.blank(self, live), 0, not self.prior.theta.size)

    def estimate(
        self,
        before: OnePassEstimate,
        released: Released,
        step: int,
        live: Integers,
        chosen: int | None = None,
    ) -> OnePassEstimate:
        learnt = self.learnt(released)
        posterior = type(before.arrays)(*(part.copy() for part in before.arrays))
        if isinstance(posterior, FieldPosterior):
            fields.fold(self, learnt, step, live, step - 1 if chosen is None else chosen, posterior)
        self.form.fit(self, learnt, step, live, posterior)
        return OnePassEstimate(posterior, step, False, self._people(learnt))

    def of_arrays(self, arrays: Posterior, released: Released, step: int) -> OnePassEstimate:
        if step == 0:
            return OnePassEstimate(arrays, 0, not self.prior.theta.size)
        learnt = self.learnt(released)
        return OnePassEstimate(arrays, step, False, self._people(learnt))

    def _people(self, learnt: Released) -> Array | None:
        return fields.people(self, learnt) if self.by_fields else None

    @np.errstate(under="ignore")  # of tiny features, whatever errors the program raises
    def pick(self, estimate: OnePassEstimate, arms: Array, rng: Generator) -> Integers:
        if estimate.random:
            return irls.choose_many(rng, arms, estimate.arrays, random=True)
        return self.form.pick(self, estimate.arrays, arms, rng)

    @np.errstate(under="ignore")  # of tiny features, whatever errors the program raises
    def chance(self, estimate: OnePassEstimate, arms: Array, index: int, *, chosen: bool = True) -> Chance:
        if estimate.random:
            return Chance(1 / len(arms), 0.0)
        find = chances.of_chosen if chosen else chances.chance
        return find(self.form.values(self, estimate.arrays, arms), index)

    def chances(self, estimate: OnePassEstimate, arms: Array) -> Array:
        if estimate.random:
            return np.full(len(arms), 1 / len(arms))
        return chances.of_each(self.form.values(self, estimate.arrays, arms))

    def beliefs(self, estimate: OnePassEstimate, arms: Array, level: float) -> tuple[Array, Array]:
        return self.form.beliefs(self, estimate.arrays, arms, level)

    def mean(self, z: Array) -> Array:
        low, high = self.plan.rewards
        if isinstance(self.contribution, Linear):
            return np.asarray(low + (high - low) * np.clip(z + self.contribution.centre, 0.0, 1.0))
        low, high = (low, high) if self.link.bounded else (0.0, 1.0)
        return np.asarray(low + (high - low) * self.link.mean(z))

    def theta(self, estimate: OnePassEstimate) -> Array:
        out: Array = estimate.arrays.theta.flatten()
        return out

    @property
    def by_fields(self) -> bool:
        return isinstance(self.contribution, FieldContribution)

    def segments(self, estimate: OnePassEstimate, live: Integers) -> Segments | None:
        if estimate.people is None or estimate.random:
            return None
        return segments.of(self, estimate.arrays, estimate.people, estimate.step, live)

    # contributions

    def row(
        self,
        arms: Array,
        picked: int,
        place: int,
        name: str | None,
        declared: tuple[str, ...],
    ) -> Raw[Array]:
        x: Array = arms[picked]
        if self.sides is None:
            return self.logged(x)
        return Raw(np.concatenate([x, self.sides.tail(x, place, name, declared)]))

    def logged(self, x: Array) -> Raw[Array]:
        more = self.plan.row - self.plan.width
        return Raw(np.concatenate([x, np.zeros(more)]) if more else x.copy())

    @property
    def tally(self) -> Tally:
        """How rows count for an experiment."""
        low, high = map(float, self.plan.rewards)
        if self.sides is None:
            return Tally(0, 0, 0, 0.0, low, high, NO_SIDES)
        start = self.plan.mechanism.size - self.sides.size
        return Tally(start, self.sides.size, self.plan.width, self.sides.part, low, high, self.sides.weights)

    def adder(self, estimate: OnePassEstimate) -> Adder:
        return self.form.adder(self, estimate.arrays)

    # an experiment

    def experiment(self, released: Released) -> Released | None:
        return None if self.sides is None else leaves.part(released, slice(self._learnt, None))

    @property
    def control(self) -> Control | None:
        return None if self.sides is None else self.sides.control

    def trial_sums(
        self, looks: Sequence[Released], counts: Callable[[int], tuple[int, ...]], ended: int | None
    ) -> TrialSums:
        assert self.sides is not None
        return trial_sums(self.sides, self.plan.mechanism, self.plan.schedule, looks, counts, ended)

    @property
    def _learnt(self) -> int:
        """Numbers that are learnt from."""
        return self.plan.mechanism.size - (0 if self.sides is None else self.sides.size)

    def learnt(self, released: Released) -> Released:
        """What is learnt from."""
        return released if self.sides is None else leaves.part(released, slice(0, self._learnt))

    # simulation

    @property
    def loop(self) -> Loop | None:
        if self.sides is not None:
            return None
        if self.by_fields:
            return functools.partial(fields.play, self)
        if isinstance(self.contribution, CentredContribution):
            return functools.partial(centred.play, self)
        form = scores if isinstance(self.contribution, ScoreContribution) else curvature
        return functools.partial(form.play, self)

    @property
    def by_step(self) -> bool:
        return isinstance(self.contribution, Linear)
