"""LinUCB under joint differential privacy as published, with its variants."""

import functools
import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from reticent import checks
from reticent.algorithms import ridge
from reticent.algorithms.schedules import steps_before
from reticent.core.choices import Index
from reticent.data import Array, Raw, Released
from reticent.errors import NoHorizon, NotSecure
from reticent.kernels import linear
from reticent.kernels.block import Block
from reticent.kernels.continual import JointState
from reticent.kernels.formulas import add_linear
from reticent.kernels.rounds import Held, Range, Schedule
from reticent.mechanisms.continual import Continual
from reticent.mechanisms.grid import MOST_LEAVES
from reticent.mechanisms.memory import PrefixSums, run
from reticent.model.linear import LinearContribution
from reticent.model.vectors import packed_size
from reticent.privacy import ledger, relations
from reticent.privacy.ledger import Release, RepeatedRelease
from reticent.privacy.noise import generator_of
from reticent.process import owner_only
from reticent_lab.mechanisms.buffered import Buffered
from reticent_lab.mechanisms.toeplitz import Toeplitz
from reticent_lab.mechanisms.tree import Tree
from reticent_papers.confidence import Regularizer, balanced_scale, by_direction, gaussian_bounds, worst_gain
from reticent_papers.joint import shariff_published as published
from reticent_papers.joint.continual import ContinualBandit
from reticent_papers.joint.shariff_kernel import joint_rounds
from reticent_papers.joint.wishart import WishartTree
from reticent_papers.joint.wishart_kernel import wishart_rounds
from reticent_papers.kernels.matrices import unpacked

FIRST, GROWTH = 15, 1.1  # choices in the shortest step, and the factor of later ones, where steps grow
NOISES = ("gaussian", "wishart", "wishart-unshifted")
CALIBRATIONS = ("exact", "paper")
NOBODY_WAITS = Held(0, np.nan, np.zeros(0, np.int64), np.zeros((0, 0)), np.zeros((0, 0), np.uint8), np.zeros(0))
EVERY_CHOICE = Schedule(1.0, 1.0)  # each choice is a step
RELEASES: dict[str, Any] = {  # mechanisms of Gaussian noise
    "tree": Tree,
    "consistent-tree": functools.partial(Tree, consistent=True),
    "toeplitz": Toeplitz,
    "buffered": Buffered,
    "batched": Toeplitz,
}


def check_leaves(bandit: ContinualBandit, noiseless: Continual) -> None:
    """NotSecure where secure noise would keep too many leaves, of which a tree keeps none."""
    if bandit.source.private and bandit._mu < math.inf and noiseless.kind is None and noiseless.window > MOST_LEAVES:
        raise NotSecure(
            f"Expected at most {MOST_LEAVES} steps of a {type(noiseless).__name__} mechanism with secure noise, got "
            f"{noiseless.window}: use longer steps, or release='tree', or source=Simulated(seed) in experiments."
        )


class Statistics(NamedTuple):
    """What has been released: noisy sums, gram of x x' and moment of y x, and the (public) std of their noise."""

    gram: Array
    moment: Array
    gram_sigma: float
    moment_sigma: float


@dataclass(kw_only=True, eq=False)
class ShariffLinUCB(ContinualBandit):
    """Optimism with ridge regression on noisy sums of x x' and y x, which are released after each choice.

    Guarantee: (epsilon, delta)-joint differential privacy for replacing one user, whatever later users do: all that
    leaves is the released sums and, to each user, a function of them and of that user's own arms. With probability
    1 - failure the confidence set holds in all rounds, for rewards linear in x, |theta*| <= radius.
    Reference: Shariff & Sheffet 2018, arXiv:1810.00068, Algorithm 1 and section 4.
    Departure: calibration="paper" keeps the paper's constants, and the certificate shows the epsilon that they really
    give. calibration="exact" replaces them: Gaussian noise by its exact curve, the tight sensitivity of (x x', y x)
    without y^2 and a confidence width that shrinks where the released Gram matrix is large; Wishart noise by optimal
    composition. The sum of y^2 is never released. Wishart noise: see papers.joint.wishart.WishartTree.

    noise: "gaussian", or "wishart" and "wishart-unshifted", in simulations only (source=Simulated(seed)).
    release: of Gaussian noise: "tree", "consistent-tree", "toeplitz" (memory grows with the horizon) or "buffered"; or
    "batched", in steps that grow by a tenth, which has the least regret (ours).
    shift: what is added to the noisy Gram matrix's diagonal; None is the paper's choice.
    max_rounds_per_person: see ContinualBandit; for Gaussian noise.
    """

    rewards: tuple[float, float] = (-1.0, 1.0)
    noise: str = "gaussian"
    calibration: str = "exact"
    release: str = "tree"
    shift: float | None = None
    subgaussian: float | None = None
    failure: float | None = None
    width_scale: float = 1.0
    _state: JointState[PrefixSums] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._check()
        if self.horizon is None:
            raise NoHorizon("Expected a horizon, the most choices that will be made, got none.")
        checks.non_negative(width_scale=self.width_scale)
        checks.one_of(NOISES, noise=self.noise)
        checks.one_of(CALIBRATIONS, calibration=self.calibration)
        checks.one_of(tuple(RELEASES) if self.noise == "gaussian" else ("tree",), release=self.release)
        if self.failure is None:
            self.failure = 1 / max(2, self.horizon)
        checks.probability(failure=self.failure)
        if self.subgaussian is None:
            self.subgaussian = (self.rewards[1] - self.rewards[0]) / 2
        checks.positive(subgaussian=self.subgaussian)
        if self.noise != "gaussian":
            self._check_wishart()
        self._plan(self.horizon, self.failure, self.subgaussian)
        super().__post_init__()

    def _check_wishart(self) -> None:
        if self.budget.epsilon == math.inf:
            raise ValueError("Expected a finite epsilon for Wishart noise: its shift follows from the noise.")
        if self.max_rounds_per_person not in (None, 1):
            raise ValueError("Expected Gaussian noise for max_rounds_per_person above 1, got Wishart noise.")
        if self.source.private:
            raise NotSecure(
                "Expected Gaussian noise where people's data are protected, got Wishart noise, which is floats only: "
                "for experiments give source=Simulated(seed)."
            )

    def _plan(self, horizon: int, failure: float, subgaussian: float) -> None:
        """Budget -> noise -> bounds -> width, all from public settings; the ledger checks the result."""
        gaussian, paper = self.noise == "gaussian", self.calibration == "paper"
        largest = max(map(abs, self.rewards))
        self._schedule = Schedule(float(FIRST), GROWTH) if self.release == "batched" else EVERY_CHOICE
        leaves = 1 + steps_before(horizon, self._schedule)
        if paper and self.release == "tree":
            leaves = 1 << (leaves - 1).bit_length()  # the paper's m = 1 + ceil(log2 n) levels
        scale = 1.0
        if gaussian:  # the paper's moment is an off-diagonal of the Gram matrix of [x, y]
            scale = math.sqrt(2) if paper else balanced_scale(self.dim, self.radius, largest)
        self.contribution = LinearContribution(dim=self.dim, scale=scale, low=self.rewards[0], high=self.rewards[1])
        bounds = (self._gaussian if gaussian else self._wishart)(horizon, failure, leaves, leaves.bit_length())
        self.epsilon = ledger.check(self._planned(), self.budget)
        self.regularizer = bounds
        width = published.by_norms if bounds.drift == math.inf else by_direction
        self.confidence = width(
            bounds, dim=self.dim, radius=self.radius, subgaussian=subgaussian, failure=failure
        ).scaled(self.width_scale)

    def _gaussian(self, horizon: int, failure: float, leaves: int, levels: int) -> Regularizer:
        user, paper = self.contribution, self.calibration == "paper"
        noiseless = RELEASES[self.release](leaves=leaves, size=user.size, sigma=0.0)
        sigma = None
        if paper:
            sigma = published.gaussian_paper_sigma(self.budget, levels, user.largest_reward)
            sigma *= self.max_rounds_per_person or 1
        check_leaves(self, noiseless)
        self.mechanism = self._with_noise(noiseless, user.sensitivity, self._mu, sigma=sigma)
        sigma = self.mechanism.sigma
        if paper:
            return published.gaussian_paper_bounds(sigma, levels, horizon, self.dim, failure, self.shift)
        worst = sigma * worst_gain(self.mechanism)
        return gaussian_bounds(worst, leaves, self.dim, failure, self.radius, user.scale, self.shift)

    def _wishart(self, horizon: int, failure: float, leaves: int, levels: int) -> Regularizer:
        user, paper = self.contribution, self.calibration == "paper"
        node = published.wishart_paper_node if paper else published.wishart_exact_node
        self._node = node(self.budget, levels)
        dof = published.wishart_dof(*self._node, self.dim)
        largest = user.largest_reward
        self.mechanism = WishartTree(leaves=leaves, size=user.size, scale=math.sqrt(1 + largest**2), dof=dof)
        shift = 0.0 if self.noise == "wishart-unshifted" and self.shift is None else self.shift
        return published.wishart_bounds(dof, levels, horizon, self.dim, failure, largest, shift, paper)

    def _releases(self, steps: int) -> tuple[Release, ...]:
        if steps == 0:
            return ()
        user = self.contribution
        statistic = f"sums of x x' and y x, {user.size} numbers, by {self.release}"
        if isinstance(self.mechanism, WishartTree):
            count = 2 * steps.bit_length() - 1  # a late reward moves a user between leaves, from one path to another
            name = "Shariff & Sheffet 2018, Theorem 8"
            proved = *self._node, count, self.mechanism.dof
            return (RepeatedRelease(self.noise, statistic, name, *proved, relation=relations.REPLACE),)
        own = user.sensitivity, steps, self.max_rounds_per_person or 1
        return (self.mechanism.entry("gaussian", statistic, *own, relation=self._relation),)

    # the algorithm

    def init(self) -> JointState[PrefixSums]:
        bounds = self.regularizer
        before = ridge.empty(self.dim, max(bounds.shift, bounds.floor))
        return JointState(self._opened(3), PrefixSums(self.mechanism, self.source), before)

    def _update(self, released: Released) -> None:
        linear.ridge(released, self.contribution.scale, self.regularizer.shift, self._state.estimate)

    def _pick(self, features: Array) -> Index:
        return ridge.choose_many(features, self._state.estimate, self.confidence)

    def _join(self, row: Raw[Array], reward: Raw[float]) -> None:
        user = self.contribution
        bounds = user.scale, user.low, user.high
        self._state.prefix.absorb(lambda x, y, out: add_linear(x, y, *bounds, out), row, reward)

    def _play(self, block: Block) -> bool:
        rng, rewards = generator_of(self.source), Range(*map(float, self.rewards))
        rest = self.contribution.scale, self.regularizer.shift, self.confidence.width, self.confidence.drift
        if isinstance(self.mechanism, WishartTree):
            noise = float(self.mechanism.scale), float(self.mechanism.dof)
            run(wishart_rounds, rng, block, self._state, noise, rewards, *rest)
        else:
            law, steps = self.mechanism.law, self._schedule
            run(joint_rounds, rng, block, NOBODY_WAITS, self._state, law, steps, rewards, *rest)
        return True

    def _plan_numbers(self) -> list[float]:
        return [*super()._plan_numbers(), self.contribution.scale, self.regularizer.shift]

    # what may be shown

    @property
    @owner_only
    def statistics(self) -> Statistics:
        """The released sums."""
        released, scale = np.asarray(self._state.prefix.released), self.contribution.scale
        packed = packed_size(self.dim)
        std = float(self.mechanism.gain(np.array([float(max(1, self._steps))]))[0] * self.mechanism.sigma)
        return Statistics(unpacked(released[:packed], self.dim), released[packed:] / scale, std, std / scale)
