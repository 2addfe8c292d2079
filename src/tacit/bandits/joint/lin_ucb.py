"""LinUCB under joint differential privacy: noisy Gram matrices by continual release."""

import dataclasses
import functools
import math
from dataclasses import dataclass, field

import numpy as np

from tacit import checks
from tacit.algorithms import accounting, ridge
from tacit.algorithms.forgetting import steps_before
from tacit.algorithms.linear import Estimate, Linear, Statistics
from tacit.algorithms.summed import row_size
from tacit.bandits.joint.joint import OWN, Joint
from tacit.bandits.joint.lin_ucb_kernel import JointState, joint_rounds
from tacit.core.actions import Declared
from tacit.data import Array, Integers
from tacit.errors import NoHorizon
from tacit.kernels.block import Block
from tacit.kernels.rounds import Range, Schedule
from tacit.lock import owner_only
from tacit.mechanisms import leaves
from tacit.mechanisms.grid import worst_gain
from tacit.mechanisms.toeplitz import Toeplitz
from tacit.model.linear import LinearContribution, balanced_scale
from tacit.privacy import ledger, relations
from tacit.privacy.noise import generator_of
from tacit.protocols import Limits, Plan

FIRST, GROWTH = 15, 1.1  # choices in the shortest step, and the factor of later ones: no record of their choice


@dataclass(kw_only=True, eq=False)
class JointLinUCB(Joint):
    """Optimism with ridge regression on noisy sums of x x' and y x, released as the public schedule says.

    Guarantee: (epsilon, delta)-joint differential privacy for replacing one user, whatever later users do: all that
    leaves is the released sums and, to each user, a function of them and of that user's own arms. With probability
    1 - failure the confidence set holds in all rounds, for rewards linear in x, |theta*| <= radius.
    Reference: Shariff & Sheffet 2018, arXiv:1810.00068, Algorithm 1 and section 4.
    A row of a batch that is refused counts as a choice; a request that is refused alone is no user.
    Departure: the exact Gaussian curve instead of the paper's constants, the tight sensitivity of (x x', y x) without
    y^2, whose sum is never released, and a confidence width that shrinks where the released Gram matrix is large. Steps
    grow by `growth`, with square-root Toeplitz noise over them. The paper's own: tacit.papers.ShariffLinUCB.

    max_rounds_per_person and what goes with it: see ContinualBandit; hold, missing_as, earnings: see Joint.
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
    algorithm: Linear = field(init=False, repr=False)
    _counts_answers = True
    _state: JointState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._check()
        self._check_hold()
        if self.horizon is None:
            raise NoHorizon("Expected a horizon, the most choices that will be made, got none.")
        checks.positive_int(first=self.first)
        self.first = int(self.first)
        checks.non_negative(width_scale=self.width_scale)
        if not 1 < self.growth < math.inf:
            raise ValueError(f"Expected growth above 1, got {self.growth!r}.")
        if self.failure is None:
            self.failure = 1 / max(2, self.horizon)
        checks.probability(failure=self.failure)
        if self.subgaussian is None:
            self.subgaussian = (self.rewards[1] - self.rewards[0]) / 2
        checks.positive(subgaussian=self.subgaussian)
        self._schedule = Schedule(float(self.first), float(self.growth))
        zero_out, largest = self.budget.adjacency == relations.ZERO_OUT, max(map(abs, self.rewards))
        self.contribution = LinearContribution(
            dim=self.dim,
            scale=balanced_scale(self._own_dim, self.radius, largest, zero_out=zero_out),
            low=self.rewards[0],
            high=self.rewards[1],
            blocks=self._blocks,
        )
        self._open_purse(self.contribution.size, self._bound(self.contribution))
        steps = 1 + steps_before(self.horizon, self._schedule)
        noiseless = Toeplitz(leaves=steps, size=self._size, sigma=0.0, **self._columns(self._schedule))
        self.mechanism = self._with_noise(noiseless, self._sensitivity, self._mu)
        self.algorithm = Linear(
            plan=self._plan(self.horizon),
            contribution=self.contribution,
            failure=self.failure,
            subgaussian=self.subgaussian,
            width_scale=self.width_scale,
            purse=self._purse,
        )
        self.epsilon = ledger.check(self._planned(), self.budget)
        super().__post_init__()

    def _plan(self, horizon: int) -> Plan:
        most, mechanism, scale = self.max_rounds_per_person, self.mechanism, self.contribution.scale
        statistic = f"sums of x x' and y x, {self._numbers(self.contribution.size)}, by batched"
        parts = self.contribution.size, self._from, self._purse
        releases = functools.partial(accounting.entries, statistic, mechanism, *parts, most or 1, self._relation)
        claim = releases(mechanism.leaves), mechanism, most, self._week, horizon
        assert self.failure is not None
        times, worst = mechanism.leaves * self._blocks, mechanism.sigma * worst_gain(mechanism)
        bounds = ridge.gaussian_bounds(worst, times, self._own_dim, self.failure, self.radius, scale)
        return Plan(
            name=type(self).__name__,
            settings={f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init and f.name not in OWN},
            budget=self.budget,
            dim=self.dim,
            blocks=self._blocks,
            shared=0,
            width=self._width,
            row=row_size(self._width, self._purse),
            contexts=0,
            weighs=self._weighs,
            rewards=self.rewards,
            radius=self.radius,
            horizon=horizon,
            schedule=self._schedule,
            mechanism=mechanism,
            limits=Limits(most, self._serves, self._week),
            features=self.features,
            relation=self._relation,
            numbers=(mechanism.step, mechanism.sigma, mechanism.column_norm, scale, bounds.shift),
            caveats=(),
            releases=releases,
            person=functools.partial(accounting.person, *claim),
        )

    # the algorithm

    def init(self) -> JointState:
        before = self.algorithm.blank(self._live).ridge
        return JointState(self._opened(3), self.mechanism.init(self.source), before)

    @property
    def _estimate(self) -> Estimate:
        size = self.contribution.size
        released = leaves.part(self._state.prefix.released, slice(0, size))
        earnings = None
        if self._purse is not None and self._steps:
            earnings = leaves.part(self._state.prefix.released, slice(size, None))
        return Estimate(self._state.estimate, self._steps, released, earnings)

    def _show(self, new: Estimate) -> None:
        self._state = self._state._replace(estimate=new.ridge)

    @property
    def _estimate_key(self) -> Array:
        return self._state.estimate.theta

    def _estimated(self, declared: tuple[Declared, ...]) -> Integers:
        """Retired ones, too: the confidence set is of all rounds, theirs as well."""
        return np.arange(len(declared)) if declared and self._blocks > 1 else super()._estimated(declared)

    def _play(self, block: Block) -> None:
        if self._blocks > 1 or self._purse is not None or self.missing_as is not None:
            super()._play(block)
            return
        copied = type(self._state.estimate)(*(part.copy() for part in self._state.estimate))
        self._state = self._state._replace(estimate=copied)  # choices hold what it was
        algorithm = self.algorithm
        joint_rounds(
            generator_of(self.source),
            block,
            self._held,
            self._state,
            self.mechanism.law,
            self._schedule,
            Range(*map(float, self.rewards)),
            self.contribution.scale,
            algorithm.regularizer.shift,
            algorithm.confidence.width,
            algorithm.confidence.drift,
        )

    # what may be shown

    @property
    @owner_only
    def statistics(self) -> Statistics:
        """The released sums; where there are blocks, with one more axis, the first: of blocks."""
        return self.algorithm.statistics(self._estimate)
