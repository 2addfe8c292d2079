"""LinUCB under joint differential privacy: noisy Gram matrices by continual release."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tacit import checks
from tacit.bandits import ridge
from tacit.bandits.actions import Declared
from tacit.bandits.choices import Index, certain
from tacit.bandits.joint.continual import steps_before
from tacit.bandits.joint.earning import EarningBandit
from tacit.bandits.joint.lin_ucb_kernel import JointState, joint_rounds
from tacit.bandits.joint.summing import Cells, LinearSummer, Summer
from tacit.data import Array, Integers, Released
from tacit.errors import NoHorizon
from tacit.kernels.block import Block
from tacit.kernels.formulas import add_linear
from tacit.kernels.linear import Estimate
from tacit.kernels.matrices import unpacked
from tacit.kernels.rounds import Range, Schedule
from tacit.lock import requires_durable
from tacit.mechanisms.grid import Grid, worst_gain
from tacit.mechanisms.toeplitz import Toeplitz
from tacit.model.linear import LinearContribution, balanced_scale
from tacit.model.vectors import packed_size
from tacit.privacy import ledger, relations
from tacit.privacy.ledger import Release
from tacit.privacy.noise import generator_of

FIRST, GROWTH = 15, 1.1  # choices in the shortest step, and the factor of later ones: no record of their choice


class Statistics(NamedTuple):
    """What has been released: noisy sums, gram of x x' and moment of y x, and the (public) std of their noise."""

    gram: Array
    moment: Array
    gram_sigma: float
    moment_sigma: float


@dataclass(kw_only=True, eq=False)
class JointLinUCB(EarningBandit):
    """Optimism with ridge regression on noisy sums of x x' and y x, released as the public schedule says.

    Guarantee: (epsilon, delta)-joint differential privacy for replacing one user, whatever later users do: all that
    leaves is the released sums and, to each user, a function of them and of that user's own arms. With probability
    1 - failure the confidence set holds in all rounds, for rewards linear in x, |theta*| <= radius.
    Reference: Shariff & Sheffet 2018, arXiv:1810.00068, Algorithm 1 and section 4.
    A row of a batch that is refused counts as a choice; a request that is refused alone is no user.
    Departure: the exact Gaussian curve instead of the paper's constants, the tight sensitivity of (x x', y x) without
    y^2, whose sum is never released, and a confidence width that shrinks where the released Gram matrix is large. Steps
    grow by `growth`, with square-root Toeplitz noise over them. The paper's own: tacit.papers.ShariffLinUCB.

    max_rounds_per_person and what goes with it: see ContinualBandit.
    blocks: as in JointGLM: sums, noise and work are those of each arm's own part, and bounds on the noise are those of
    its dim / blocks dimensions, for all parts at once.
    source: of noise. Secure by default; Simulated(seed) for experiments.
    """

    rewards: tuple[float, float] = (-1.0, 1.0)
    blocks: int | None = None
    subgaussian: float | None = None
    failure: float | None = None
    width_scale: float = 1.0
    first: int = FIRST
    growth: float = GROWTH
    _counts_answers = True
    _state: JointState = field(init=False, repr=False)
    _prior_std = 0.0  # of the noise in what an earlier incarnation released, which does not fade

    def __post_init__(self) -> None:
        self._check()
        if self.horizon is None:
            raise NoHorizon("Expected a horizon, the most choices that will be made, got none.")
        checks.positive_int(first=self.first)
        self.first = int(self.first)
        checks.non_negative(width_scale=self.width_scale)
        if not 1 < self.growth < math.inf:
            raise ValueError(f"Expected growth above 1, got {self.growth!r}.")
        if self.failure is None:
            self.failure = 1 / max(2, self.rounds)
        checks.probability(failure=self.failure)
        if self.subgaussian is None:
            self.subgaussian = (self.rewards[1] - self.rewards[0]) / 2
        checks.positive(subgaussian=self.subgaussian)
        self._plan()
        super().__post_init__()

    @property
    def rounds(self) -> int:
        assert self.horizon is not None
        return self.horizon

    def _plan(self) -> None:
        """Budget -> noise -> bounds -> width, all from public settings; the ledger checks the result."""
        largest = max(map(abs, self.rewards))
        self._schedule = Schedule(float(self.first), float(self.growth))
        zero_out = self.budget.adjacency == relations.ZERO_OUT
        self.contribution = LinearContribution(
            dim=self.dim,
            scale=balanced_scale(self._own_dim, self.radius, largest, zero_out=zero_out),
            low=self.rewards[0],
            high=self.rewards[1],
            blocks=self._blocks,
        )
        self._make_noise(1 + steps_before(self.rounds, self._schedule))
        self.epsilon = ledger.check(self._planned(), self.budget)
        self._regularize(0.0)

    def _make_noise(self, leaves: int) -> None:
        self._open_purse(self.contribution.size, self._bound(self.contribution))
        noiseless = Toeplitz(leaves=leaves, size=self._size, sigma=0.0, **self._columns(self._schedule))
        self.mechanism = self._with_noise(noiseless, self._sensitivity, self._mu)

    def _regularize(self, prior_std: float) -> None:
        """Bounds of each block in each release, so that they hold in all of them."""
        assert self.failure is not None and self.subgaussian is not None
        self._prior_std = prior_std
        self.regularizer = ridge.gaussian_bounds(
            math.hypot(prior_std, self.mechanism.sigma * worst_gain(self.mechanism)),
            self.mechanism.leaves * self._blocks,
            self._own_dim,
            self.failure,
            self.radius,
            self.contribution.scale,
        )
        self.confidence = ridge.by_direction(
            self.regularizer, dim=self.dim, radius=self.radius, subgaussian=self.subgaussian, failure=self.failure
        ).scaled(self.width_scale)

    def _prior_noise(self, std: float) -> None:
        self._regularize(std)

    def _std(self) -> float:
        own = self.mechanism.sigma * float(self.mechanism.gain(np.array([float(self._steps)]))[0])
        return math.hypot(own, self._prior_std)

    def _releases(self, steps: int) -> tuple[Release, ...]:
        """What has happened to the data after that many steps."""
        if steps == 0:
            return ()
        return self._entries(f"sums of x x' and y x, {self._numbers(self.contribution.size)}, by batched", steps)

    # the algorithm

    def init(self) -> JointState:
        self._filled = None
        return JointState(self._opened(2), self.mechanism.init(self.source), self._before())

    def _before(self) -> Estimate:
        """Before anything was released."""
        bounds = self.regularizer
        start = max(bounds.shift, bounds.floor)
        if self._blocks > 1:
            return ridge.empty_blocks(self._own_dim, self._blocks, start, bounds.floor, self._live)
        return ridge.empty(self.dim, start)

    def _update(self, released: Released) -> None:
        scale, bounds, estimate = self.contribution.scale, self.regularizer, self._state.estimate
        learnt = self._for_learning(released)
        if self._blocks > 1:
            ridge.update_blocks(learnt, scale, bounds.shift, bounds.floor, self._live, estimate)
        else:
            ridge.update(learnt, scale, bounds.shift, estimate)

    def _reestimate(self) -> None:
        if self._steps:
            self._update(self._state.prefix.released)
        else:
            self._state.estimate.logdet[:] = self._before().logdet

    def _estimated(self, declared: tuple[Declared, ...]) -> Integers:
        """Retired ones, too: the confidence set is of all rounds, theirs as well."""
        return np.arange(len(declared)) if declared and self._blocks > 1 else super()._estimated(declared)

    def _pick(self, features: Array) -> Index:
        return ridge.choose_many(features, self._state.estimate, self.confidence)

    _propensity = certain

    def _offers(self, features: Array) -> Callable[[], Array]:
        certainly = np.eye(len(features))[int(self._pick(features[None])[0])]
        return lambda: certainly

    def _beliefs(self, features: Array, level: float) -> tuple[Array, Array]:
        """By the confidence set of all rounds at once, which arms are chosen by: at 1 - failure, whatever `level`."""
        return ridge.beliefs(features, self._state.estimate, self.confidence)

    def _mean(self, z: Array) -> Array:
        return np.clip(z, *self.rewards)

    def _learn(self, x: Array, reward: float) -> None:
        c = self.contribution
        kept, x, part = x, x[: self._width], slice(0, c.size)
        if c.blocks > 1:
            x, part = x[:-1], c.part(int(x[-1]))
        add = functools.partial(add_linear, x, reward, c.scale, c.low, c.high)
        self._add(kept, reward, add, part)

    def _summer(self) -> Summer | None:
        c, grid = self.contribution, self.mechanism
        if not isinstance(grid, Grid):
            return None
        return LinearSummer(c.scale, c.low, c.high, c.blocks, Cells.of(grid, c.size))

    def _play(self, block: Block) -> None:
        if self._blocks > 1 or self._purse is not None:
            super()._play(block)
            return
        joint_rounds(
            generator_of(self.source),
            block,
            self._state,
            self.mechanism.law,
            self._schedule,
            Range(*map(float, self.rewards)),
            self.contribution.scale,
            self.regularizer.shift,
            self.confidence.width,
            self.confidence.drift,
        )

    def _plan_numbers(self) -> list[float]:
        return [*super()._plan_numbers(), self.contribution.scale, self.regularizer.shift]

    # what may be shown

    @property
    @requires_durable
    def statistics(self) -> Statistics:
        """The released sums; where there are blocks, with one more axis, the first: of blocks."""
        return statistics(self, self._blocks)


def statistics(bandit: Any, blocks: int = 1) -> Statistics:
    """What a linear bandit has released."""
    std = float(bandit.mechanism.gain(np.array([float(max(1, bandit._steps))]))[0] * bandit.mechanism.sigma)
    own, scale = bandit.dim // blocks, bandit.contribution.scale
    pairs = bandit._state.prefix.released[: bandit.contribution.size].reshape(blocks, -1)
    gram = np.stack([unpacked(pair[: packed_size(own)], own) for pair in pairs])
    moment = pairs[:, packed_size(own) :] / scale
    gram, moment = (gram, moment) if blocks > 1 else (gram[0], moment[0])
    return Statistics(gram, moment, std, std / scale)
