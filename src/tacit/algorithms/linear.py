"""Ridge regression on released sums and its confidence set, as a value with pure functions (protocols.Algorithm)."""

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from tacit.algorithms import ridge
from tacit.algorithms.linear_kernel import joint_rounds
from tacit.algorithms.ridge import Confidence, Regularizer
from tacit.algorithms.summed import Summed
from tacit.data import Array, Integers, Released
from tacit.kernels.block import Block
from tacit.kernels.continual import JointState, PrefixState
from tacit.kernels.linear import RidgeEstimate as Ridge
from tacit.kernels.matrices import unpacked
from tacit.kernels.rounds import Held, Range
from tacit.kernels.summing import Plain, each_linear, sum_linear
from tacit.mechanisms import leaves
from tacit.mechanisms.continual import Continual
from tacit.mechanisms.grid import worst_gain
from tacit.model.chances import Chance
from tacit.model.linear import LinearContribution
from tacit.model.vectors import packed_size
from tacit.protocols import Adder, Loop


class Statistics(NamedTuple):
    """What has been released: noisy sums, gram of x x' and moment of y x, and the (public) std of their noise."""

    gram: Array
    moment: Array
    gram_sigma: float
    moment_sigma: float


class LinearEstimate(NamedTuple):
    """What choices are made by after `step` releases. PUBLIC, and never written to. released: what it is made from."""

    arrays: Ridge
    step: int
    released: Released


@dataclass(frozen=True, kw_only=True, eq=False)
class Linear(Summed):
    """failure: the probability with which the confidence set may fail. subgaussian: of rewards. width_scale: of the
    confidence set. prior_std: of the noise in what a predecessor released, which does not fade."""

    contribution: LinearContribution
    failure: float
    subgaussian: float
    width_scale: float
    prior_std: float = 0.0

    @functools.cached_property
    def regularizer(self) -> Regularizer:
        """Bounds of each block in each release, so that they hold in all of them."""
        plan, mechanism = self.plan, self.plan.mechanism
        worst = math.hypot(self.prior_std, mechanism.sigma * worst_gain(mechanism))
        times = mechanism.leaves * plan.blocks
        return ridge.gaussian_bounds(worst, times, self.own, self.failure, plan.radius, self.contribution.scale)

    @functools.cached_property
    def confidence(self) -> Confidence:
        plan, sure = self.plan, {"subgaussian": self.subgaussian, "failure": self.failure}
        return ridge.by_direction(self.regularizer, dim=plan.dim, radius=plan.radius, **sure).scaled(self.width_scale)

    @property
    def own(self) -> int:
        """Dimensions of one block."""
        return self.plan.dim // self.plan.blocks

    def std(self, step: int) -> float:
        """Of the noise in each number of that release."""
        mechanism = self.plan.mechanism
        return math.hypot(mechanism.sigma * float(mechanism.gain(np.array([float(step)]))[0]), self.prior_std)

    def after(self, std: float) -> "Linear":
        return dataclasses.replace(self, prior_std=std)

    # estimates

    def live(self, declared: Any) -> Integers:
        """Retired ones, too: the confidence set is of all rounds, theirs as well."""
        return np.arange(len(declared) if declared and self.plan.blocks > 1 else self.plan.blocks)

    def blank(self, live: Integers) -> LinearEstimate:
        bounds, blocks = self.regularizer, self.plan.blocks
        start = max(bounds.shift, bounds.floor)
        if blocks > 1:
            made = ridge.empty_blocks(self.own, blocks, start, bounds.floor, live)
        else:
            made = ridge.empty(self.plan.dim, start)
        return LinearEstimate(made, 0, leaves.nothing(self.contribution.size))

    def estimate(
        self,
        before: LinearEstimate,
        released: Released,
        step: int,
        live: Integers,
        chosen: int | None = None,
    ) -> LinearEstimate:
        out = self.of_arrays(Ridge(*(part.copy() for part in before.arrays)), released, step)
        scale, bounds = self.contribution.scale, self.regularizer
        if self.plan.blocks > 1:
            ridge.update_blocks(out.released, scale, bounds.shift, bounds.floor, live, out.arrays)
        else:
            ridge.update(out.released, scale, bounds.shift, out.arrays)
        return out

    def of_arrays(self, arrays: Ridge, released: Released, step: int) -> LinearEstimate:
        return LinearEstimate(arrays, step, leaves.part(self.learnt(released), slice(None)))

    def pick(self, estimate: LinearEstimate, arms: Array, rng: Generator) -> Integers:
        return ridge.choose_many(arms, estimate.arrays, self.confidence)

    def chance(self, estimate: LinearEstimate, arms: Array, index: int, *, chosen: bool = True) -> Chance:
        """Nothing is drawn: what was picked would be picked again."""
        return Chance(1.0 if chosen else float(self.chances(estimate, arms)[index]), 0.0)

    def chances(self, estimate: LinearEstimate, arms: Array) -> Array:
        out: Array = np.eye(len(arms))[int(ridge.choose_many(arms[None], estimate.arrays, self.confidence)[0])]
        return out

    def beliefs(self, estimate: LinearEstimate, arms: Array, level: float) -> tuple[Array, Array]:
        """By the confidence set of all rounds at once, which arms are chosen by: at 1 - failure, whatever `level`."""
        return ridge.beliefs(arms, estimate.arrays, self.confidence)

    def mean(self, z: Array) -> Array:
        return np.clip(z, *self.plan.rewards)

    def theta(self, estimate: LinearEstimate) -> Array:
        out: Array = estimate.arrays.theta.flatten()
        return out

    def statistics(self, estimate: LinearEstimate) -> Statistics:
        """The released sums; where there are blocks, with one more axis, the first: of blocks."""
        return statistics(estimate.released, estimate.step, self.plan.mechanism, self.contribution)

    # contributions

    def adder(self, estimate: LinearEstimate) -> Adder:
        c, (low, high) = self.contribution, map(float, self.plan.rewards)
        places = np.arange(c.size).reshape(self.plan.blocks, -1)
        return Adder(each_linear, sum_linear, (Plain(float(c.scale), low, high), places, self.tally))

    # simulation

    by_step = False

    @property
    def loop(self) -> Loop | None:
        return None if self.plan.blocks > 1 else self._play

    def _play(
        self, policy: Any, rng: Generator, block: Block, held: Held, state: JointState[PrefixState], live: Integers
    ) -> None:
        plan, width, drift = self.plan, self.confidence.width, self.confidence.drift
        rest = Range(*map(float, plan.rewards)), self.contribution.scale, self.regularizer.shift, width, drift
        joint_rounds(rng, block, held, state, plan.mechanism.law, plan.schedule, *rest)


def statistics(released: Released, step: int, mechanism: Continual, user: LinearContribution) -> Statistics:
    """Of what a linear bandit has released."""
    std = float(mechanism.gain(np.array([float(max(1, step))]))[0] * mechanism.sigma)
    own, scale = user.dim // user.blocks, user.scale
    pairs = np.asarray(released)[: user.size].reshape(user.blocks, -1)
    gram = np.stack([unpacked(pair[: packed_size(own)], own) for pair in pairs])
    moment = pairs[:, packed_size(own) :] / scale
    gram, moment = (gram, moment) if user.blocks > 1 else (gram[0], moment[0])
    return Statistics(gram, moment, std, std / scale)
