"""LinUCB under joint differential privacy: noisy Gram matrices by continual release."""

import dataclasses
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit import checks
from tacit.algorithms import accounting, ridge
from tacit.algorithms.linear import Linear, Statistics
from tacit.bandits.joint import lin_ucb_published as published
from tacit.bandits.joint.continual import steps_before
from tacit.bandits.joint.earning import EarningBandit
from tacit.bandits.joint.lin_ucb_kernel import JointState, joint_rounds
from tacit.bandits.joint.summing import Summer
from tacit.core.actions import Declared
from tacit.core.choices import Index, certain
from tacit.data import Array, Integers, Released
from tacit.errors import NoHorizon, NotSecure
from tacit.kernels.block import Block
from tacit.kernels.formulas import add_linear
from tacit.kernels.linear import Estimate
from tacit.kernels.matrices import unpacked
from tacit.kernels.rounds import EVERY_CHOICE, Range, Schedule
from tacit.lock import owner_only
from tacit.mechanisms.buffered import Buffered
from tacit.mechanisms.continual import Continual
from tacit.mechanisms.grid import Grid, worst_gain
from tacit.mechanisms.toeplitz import Toeplitz
from tacit.mechanisms.tree import Tree, WishartTree
from tacit.model.linear import LinearContribution, balanced_scale
from tacit.model.vectors import packed_size
from tacit.privacy import ledger, relations
from tacit.privacy.ledger import Release, RepeatedRelease
from tacit.privacy.noise import generator_of
from tacit.protocols import Limits, Plan

NOISES = ("gaussian", "wishart", "wishart-unshifted")
FIRST, GROWTH = 15, 1.1  # choices in the shortest step, and the factor of later ones: no record of their choice
RELEASES = ("batched", "tree", "consistent-tree", "toeplitz", "buffered")


@dataclass(kw_only=True, eq=False)
class JointLinUCB(EarningBandit):
    """Optimism with ridge regression on noisy sums of x x' and y x, released as the public schedule says.

    Guarantee: (epsilon, delta)-joint differential privacy for replacing one user, whatever later users do: all that
    leaves is the released sums and, to each user, a function of them and of that user's own arms. With probability
    1 - failure the confidence set holds in all rounds, for rewards linear in x, |theta*| <= radius.
    Reference: Shariff & Sheffet 2018, arXiv:1810.00068, Algorithm 1 and section 4.
    A row of a batch that is refused counts as a choice; a request that is refused alone is no user.
    Departure: calibration="exact" replaces the paper's constants by the exact Gaussian curve, the tight sensitivity of
    (x x', y x) without y^2, and a confidence width that shrinks where the released Gram matrix is large.
    calibration="paper" keeps them (its certificate shows the epsilon that they really give). The sum of y^2 is never
    released. Wishart noise: see mechanisms.tree.WishartTree.

    release: "batched" (default for exact Gaussian noise; steps that grow by `growth`, square-root Toeplitz over them),
    or one step a choice by "tree", "consistent-tree", "toeplitz" (memory grows with the horizon), "buffered".
    max_rounds_per_person and what goes with it: see ContinualBandit.
    blocks: as in JointGLM, for exact Gaussian noise: sums, noise and work are those of each arm's own part, and bounds
    on the noise are those of its dim / blocks dimensions, for all parts at once.
    source: of noise. Secure by default; Simulated(seed) for experiments, which is what Wishart noise needs.
    shift: what is added to the noisy Gram matrix's diagonal; None is the paper's choice.
    """

    rewards: tuple[float, float] = (-1.0, 1.0)
    blocks: int | None = None
    noise: str = "gaussian"
    calibration: str = "exact"
    release: str | None = None
    shift: float | None = None
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
        checks.one_of(NOISES, noise=self.noise)
        checks.one_of(("exact", "paper"), calibration=self.calibration)
        if not 1 < self.growth < math.inf:
            raise ValueError(f"Expected growth above 1, got {self.growth!r}.")
        wishart = self.noise != "gaussian"
        if self.release is None:
            self.release = "tree" if wishart or self.calibration == "paper" else "batched"
        checks.one_of(("tree",) if wishart else RELEASES, release=self.release)
        if self.failure is None:
            self.failure = 1 / max(2, self.rounds)
        checks.probability(failure=self.failure)
        if self.subgaussian is None:
            self.subgaussian = (self.rewards[1] - self.rewards[0]) / 2
        checks.positive(subgaussian=self.subgaussian)
        if wishart and self.budget.epsilon == math.inf:
            raise ValueError("Expected a finite epsilon for Wishart noise: its shift follows from the noise.")
        if self.earnings is not None and (wishart or self.calibration == "paper"):
            raise ValueError("Expected exact Gaussian noise for earnings, got another calibration or Wishart noise.")
        if wishart and (self.max_rounds_per_person not in (None, 1) or self._later):
            raise ValueError("Expected Gaussian noise for max_rounds_per_person above 1, got Wishart noise.")
        if wishart and self.source.private:
            raise NotSecure(
                "Expected Gaussian noise where people's data are protected, got Wishart noise, which is floats only: "
                "for experiments give source=Simulated(seed)."
            )
        self._plan()
        super().__post_init__()

    @property
    def rounds(self) -> int:
        assert self.horizon is not None
        return self.horizon

    def _plan(self) -> None:
        """Budget -> noise -> bounds -> width, all from public settings; the ledger checks the result."""
        largest = max(map(abs, self.rewards))
        assert self.failure is not None and self.subgaussian is not None
        paper = self.calibration == "paper"
        batched = self.release == "batched"
        self._schedule = Schedule(float(self.first), float(self.growth)) if batched else EVERY_CHOICE
        leaves = 1 + steps_before(self.rounds, self._schedule)
        if paper and self.release == "tree":
            leaves = 1 << (leaves - 1).bit_length()  # the paper's m = 1 + ceil(log2 n) levels
        m = leaves.bit_length()
        scale, zero_out = 1.0, self.budget.adjacency == relations.ZERO_OUT
        if self.noise == "gaussian" and not paper:
            scale = balanced_scale(self._own_dim, self.radius, largest, zero_out=zero_out)
        if paper and self.noise == "gaussian":
            scale = math.sqrt(2)  # the moment is an off-diagonal of the Gram matrix of [x, y]
        self.contribution = LinearContribution(
            dim=self.dim, scale=scale, low=self.rewards[0], high=self.rewards[1], blocks=self._blocks
        )
        regularizer = self._gaussian(leaves, m) if self.noise == "gaussian" else self._wishart(leaves, m)
        self.epsilon = ledger.check(self._planned(), self.budget)
        self._regularize(regularizer)
        if self.noise == "gaussian":
            self.algorithm = self._algorithm(leaves)

    def _algorithm(self, leaves: int) -> Linear:
        """The same as a value, for databases."""
        most, mechanism, sigma = self.max_rounds_per_person, self.mechanism, self.mechanism.sigma

        def bounded(std: float) -> tuple[ridge.Regularizer, ridge.Confidence]:
            bounds = self._exact_bounds(math.hypot(std, sigma * worst_gain(mechanism)), mechanism.leaves)
            return bounds, self._confidence(bounds)

        statistic = f"sums of x x' and y x, {self._numbers(self.contribution.size)}, by {self.release}"
        parts = self.contribution.size, self._from, self._purse
        releases = functools.partial(accounting.entries, statistic, mechanism, *parts, most or 1, self._relation)
        claim = releases(mechanism.leaves), mechanism, most, self._week, self.rounds
        plan = Plan(
            name=type(self).__name__,
            settings={f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init},
            budget=self.budget,
            dim=self.dim,
            blocks=self._blocks,
            shared=0,
            width=self._width,
            row=self._keeps,
            contexts=0,
            weighs=self._weighs,
            rewards=self.rewards,
            radius=self.radius,
            horizon=self.horizon,
            schedule=self._schedule,
            mechanism=mechanism,
            limits=Limits(most, self._serves, self._week),
            features=self.features,
            relation=self._relation,
            numbers=tuple(self._plan_numbers()),
            caveats=(),
            releases=releases,
            person=functools.partial(accounting.person, *claim),
        )
        given: dict[str, Any] = {"regularizer": self.regularizer, "confidence": self.confidence, "bounded": bounded}
        return Linear(plan=plan, contribution=self.contribution, purse=self._purse, **given)

    def _confidence(self, regularizer: ridge.Regularizer) -> ridge.Confidence:
        assert self.failure is not None and self.subgaussian is not None
        width = ridge.by_direction if regularizer.drift < math.inf else ridge.by_norms
        return width(
            regularizer, dim=self.dim, radius=self.radius, subgaussian=self.subgaussian, failure=self.failure
        ).scaled(self.width_scale)

    def _regularize(self, regularizer: ridge.Regularizer) -> None:
        self.regularizer, self.confidence = regularizer, self._confidence(regularizer)

    def _gaussian(self, leaves: int, m: int) -> ridge.Regularizer:
        assert self.failure is not None
        self._open_purse(self.contribution.size, self._bound(self.contribution))
        mechanism = {"tree": Tree, "consistent-tree": Tree, "buffered": Buffered}.get(str(self.release), Toeplitz)
        options: dict[str, Any] = {"consistent": True} if self.release == "consistent-tree" else {}
        options |= self._columns(self._schedule)
        noiseless: Continual = mechanism(leaves=leaves, size=self._size, sigma=0.0, **options)
        sigma = None
        if self.calibration == "paper":
            sigma = published.gaussian_paper_sigma(self.budget, m, self.contribution.largest_reward)
            sigma *= self.max_rounds_per_person or 1
        self.mechanism = self._with_noise(noiseless, self._sensitivity, self._mu, sigma=sigma)
        sigma = self.mechanism.sigma
        if self.calibration == "paper":
            return published.gaussian_paper_bounds(sigma, m, self.rounds, self.dim, self.failure, self.shift)
        return self._exact_bounds(sigma * worst_gain(self.mechanism), leaves)

    def _exact_bounds(self, worst: float, leaves: int) -> ridge.Regularizer:
        """Of each block in each release, so that they hold in all of them."""
        assert self.failure is not None
        times = leaves * self._blocks
        return published.gaussian_exact_bounds(
            worst, times, self._own_dim, self.failure, self.radius, self.contribution.scale, self.shift
        )

    def _prior_noise(self, std: float) -> None:
        self._prior_std = std
        worst = math.hypot(std, self.mechanism.sigma * worst_gain(self.mechanism))
        self._regularize(self._exact_bounds(worst, self.mechanism.leaves))

    def _std(self) -> float:
        own = self.mechanism.sigma * float(self.mechanism.gain(np.array([float(self._steps)]))[0])
        return math.hypot(own, self._prior_std)

    def _wishart(self, leaves: int, m: int) -> ridge.Regularizer:
        assert self.failure is not None
        node = published.wishart_paper_node if self.calibration == "paper" else published.wishart_exact_node
        self._node = node(self.budget, m)
        dof = published.wishart_dof(*self._node, self.dim)
        largest = self.contribution.largest_reward
        self.mechanism = WishartTree(
            leaves=leaves, size=self.contribution.size, scale=math.sqrt(1 + largest**2), dof=dof
        )
        shift = 0.0 if self.noise == "wishart-unshifted" and self.shift is None else self.shift
        return published.wishart_bounds(
            dof, m, self.rounds, self.dim, self.failure, largest, shift, self.calibration == "paper"
        )

    def _releases(self, steps: int) -> tuple[Release, ...]:
        """What has happened to the data after that many steps."""
        statistic = f"sums of x x' and y x, {self._numbers(self.contribution.size)}, by {self.release}"
        if steps == 0:
            return ()
        if isinstance(self.mechanism, WishartTree):
            count = 2 * steps.bit_length() - 1  # a late reward moves a user between leaves, from one path to another
            name = "Shariff & Sheffet 2018, Theorem 8"
            proved = *self._node, count, self.mechanism.dof
            return (RepeatedRelease(self.noise, statistic, name, *proved, relation=relations.REPLACE),)
        return self._entries(statistic, steps)

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
        if not isinstance(self.mechanism, Grid):
            return None
        algorithm = self.algorithm
        return Summer.of(algorithm.adder(algorithm.blank(self._live)), self.mechanism, self.contribution.size)

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
    @owner_only
    def statistics(self) -> Statistics:
        """The released sums; where there are blocks, with one more axis, the first: of blocks."""
        std = self.mechanism.gain(np.array([float(max(1, self._steps))]))[0] * self.mechanism.sigma
        released, scale = self._state.prefix.released[: self.contribution.size], self.contribution.scale
        packed = packed_size(self._own_dim)
        pairs = released.reshape(self._blocks, -1)
        gram = np.stack([unpacked(pair[:packed], self._own_dim) for pair in pairs])
        moment = pairs[:, packed:] / scale
        gram, moment = (gram, moment) if self._blocks > 1 else (gram[0], moment[0])
        return Statistics(gram, moment, float(std), float(std) / scale)
