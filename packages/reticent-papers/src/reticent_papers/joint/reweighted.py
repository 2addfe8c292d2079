"""Generalised linear bandits by private reweighted regression and elimination, under joint privacy."""

import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reticent import checks
from reticent.core.choices import Index
from reticent.data import Array, Exact
from reticent.errors import NotSecure
from reticent.kernels.block import Block
from reticent.kernels.rounds import BOUNDARY, CHOICES, Range, draw_arm, outcome
from reticent.model.glm import in_units
from reticent.privacy import relations
from reticent.privacy.ledger import GaussianRelease
from reticent.process import owner_only
from reticent_papers import elimination, spanner
from reticent_papers.epochs import EPOCH, EpochBandit
from reticent_papers.kernels.batched import SEEN, BatchState, batch_learn
from reticent_papers.kernels.spanner import span_rounds
from reticent_papers.regression.base import Regressor
from reticent_papers.regression.estimate import lengths
from reticent_papers.regression.glm import ReweightedGLM
from reticent_papers.regression.linear import ReweightedLinear
from reticent_papers.regression.reweighting import Sample
from reticent_papers.regression.theory import SCHEDULES

PAPER = "The paper's schedule is simulated: the claim holds only if every reward comes before the next choice."


@dataclass(kw_only=True, eq=False)
class JointReweighted(EpochBandit):
    """Epochs of doubling length. Within an epoch: arms that some earlier epoch's interval rules out are dropped, and
    one is drawn from a spanner of the rest. At its end: private reweighted regression on the epoch's own data.

    Guarantee: (epsilon, delta)-joint differential privacy for replacing one user, whatever later users do: each user's
    datum enters the releases of one epoch, each epoch's releases spend the whole budget, and a reward that comes in
    another epoch is covered, because each sensitivity is at least sqrt 2 times the largest norm of a contribution and
    every row that came is summed, however many: none pushes out another.
    Regret: of order d_A d sqrt T + 1 / epsilon up to powers of d, kappa and logarithms, for i.i.d. contexts and the
    paper's widths (Theorems 5.1 and 5.2).
    Reference: Chen, Li, Rakhlin & Simchi-Levi 2025, arXiv:2502.13115, Algorithms 3, 4 and 11, with 12 (identity) or 2.
    Departure: estimators and widths as in ReweightedLinear and ReweightedGLM: half-widths are `width` standard
    deviations plus the largest bias of the ridge. width=3 covers (measured, docs/papers/reweighted.md), width=1 has
    less regret and does not. schedule="paper" has the paper's estimators and widths (those of Algorithm 12 for the
    identity, of Theorem 4.4 for other links; constants 1): at epsilon 1 the first rule out arms from epochs of about a
    million users on, the second not in four million. It splits an epoch's rows as they come, so a reward that is late
    or missing moves others across parts: for experiments in which every reward comes at once, and refused with secure
    noise.
    Sums are divided by the epoch's length, which is public, not by the rewards that came. Memory grows with the
    horizon.
    """

    rewards: tuple[float, float] = (0.0, 1.0)
    width: float = 3.0
    factor: float = spanner.FACTOR
    schedule: str = "practical"
    _state: BatchState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._check()
        checks.positive(width=self.width)
        checks.one_of(SCHEDULES, schedule=self.schedule)
        if not self.factor > 1:
            raise ValueError(f"Expected factor above 1, got {self.factor!r}.")
        if self.schedule == "paper" and self.source.private and self.budget.epsilon < math.inf:
            raise NotSecure(
                "Expected schedule='practical' with secure noise, got 'paper': it simulates the paper's schedule, "
                "which keeps a user in one part of an epoch only if every reward comes at once; give "
                "source=Simulated(seed)."
            )
        asked = self._regressor().plan(self.dim, self.first)
        self._asked = dataclasses.replace(asked, relation=relations.REPLACE)  # a row is a user's round
        self.epsilon = self._asked.epsilon
        super().__post_init__()

    def _regressor(self) -> Regressor:
        kind: Any = ReweightedGLM if self._link.bounded else ReweightedLinear
        options = {"budget": self.budget, "radius": self.radius, "link": self.link, "targets": self.rewards}
        regressor: Regressor = kind(**options, source=self.source, schedule=self.schedule)
        return regressor

    # the algorithm

    def init(self) -> BatchState:
        assert self.horizon is not None
        state = elimination.empty(self.dim, self.horizon, self._ends)
        if self._summed:  # both matrices of b(phi)
            return state._replace(inverses=np.zeros((len(self._ends), 2, self.dim, self.dim)))
        return state

    @property
    def _summed(self) -> bool:
        """Whether half-widths are those of Algorithm 12, a sum of two norms: played without a compiled loop."""
        return self.schedule == "paper" and not self._link.bounded

    def _close(self) -> None:
        counts, epoch, seen = self._state.counts, self.closed, int(self._state.counts[SEEN])
        rows = self._state.rows[:seen]
        rows = rows / np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
        fit = self._regressor().estimate(Sample(rows, Exact(self._state.values[:seen].copy()), self._length(epoch)))
        self._state.thetas[epoch] = fit.theta
        self._state.inverses[epoch] = (fit.spread, fit.bias) if fit.summed else fit.shape(self.width)
        counts[SEEN] = 0
        counts[EPOCH] = epoch + 1
        counts[BOUNDARY] = self._ends[epoch + 1]

    def _pick(self, features: Array) -> Index:
        if not self._summed:
            return spanner.pick(self, features)
        return np.array([draw_arm(self.policy.random(), self._weights(arms)) for arms in features], np.int64)

    def _propensity(self, features: Array, index: int) -> Callable[[], float]:
        if not self._summed:
            return spanner.propensity(self, features, index)
        weights = self._weights(features)
        return lambda: float(weights[index])

    def _weights(self, arms: Array) -> Array:
        """The probability of each arm where half-widths are sums."""
        alive = np.ones(len(arms), np.bool_)
        for middle, half in self._ends_of(arms):
            alive &= middle + half >= (middle - half)[alive].max()
        return spanner.weights(arms, alive, self.factor)

    def _learn(self, x: Array, reward: float) -> None:
        batch_learn(x, in_units(reward, self._link.code, *self.rewards), self._state)

    def _rounds(self, block: Block, start: int) -> int:
        rewards = Range(*map(float, self.rewards))
        if not self._summed:
            return int(span_rounds(self.policy, block, self._state, rewards, self._link.code, self.factor, start))
        for t in range(start, len(block.noise)):
            if self._due:
                return t
            index = int(self._pick(block.arms[t : t + 1])[0])
            if outcome(block, t, index):
                self._state.counts[CHOICES] += 1
                self._learn(block.arms[t, index], float(block.reward[t]))
        return len(block.noise)

    def _releases(self) -> tuple[GaussianRelease, ...]:
        return self._asked.releases()

    def _costliest(self) -> tuple[GaussianRelease, ...]:
        return self._asked.costliest()

    def _caveats(self) -> tuple[str, ...]:
        return (PAPER,) if self.schedule == "paper" else ()

    # what may be shown

    @owner_only
    def intervals(self, arms: Array) -> list[tuple[Array, Array]]:
        """For each closed epoch, estimates of <x, theta*> (in units of the rewards for the identity) and
        half-widths."""
        unit = 1.0 if self._link.bounded else max(map(abs, self.rewards))
        return [(unit * middle, unit * half) for middle, half in self._ends_of(arms)]

    def _ends_of(self, arms: Array) -> Iterator[tuple[Array, Array]]:
        """The middle and the half-width of each closed epoch's intervals, in units of the link."""
        for k in range(self.closed):
            shapes = self._state.inverses[k] if self._summed else self._state.inverses[k : k + 1]
            yield arms @ self._state.thetas[k], np.asarray(sum(lengths(arms, shape) for shape in shapes))
