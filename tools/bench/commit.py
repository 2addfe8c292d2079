"""Explore, then commit: the simplest private bandit, for comparison."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from reticent.core.choices import Index
from reticent.core.live import Live, certain
from reticent.data import Array, Integers, Raw
from reticent.kernels.rounds import CHOICES
from reticent.privacy import gaussian
from reticent.privacy.budget import Budget
from reticent.privacy.certificate import Certificate, plain_certificate
from reticent.privacy.noise import Simulated, generator_of


class CommitState(NamedTuple):
    counts: Integers  # (2,): choices, and the place that all get from now on, -1 before
    sums: Array  # (most,): of rewards by place. RAW


@dataclass(kw_only=True, eq=False)
class ExploreThenCommit(Live):
    """Each place among the arms in turn until (arms horizon^2)^(1/3) choices were made, or half of all; then always the
    one with the largest sum of rewards, with Gaussian noise.

    Guarantee: in simulation only: (epsilon, delta)-joint differential privacy for replacing one user, whose number
    decides the place, so that one sum moves by at most the range of rewards.
    Reference: none; this is what somebody would do who has no bandit.
    Departure: none.
    """

    horizon: int
    budget: Budget
    source: Simulated
    rewards: tuple[float, float] = (0.0, 1.0)
    most: int = 50  # arms
    _state: CommitState = field(init=False, repr=False)

    def init(self) -> CommitState:
        return CommitState(np.array([0, -1]), np.zeros(self.most))

    _propensity = certain

    def _pick(self, features: Array) -> Index:
        """The one release follows from here, where it is known how many arms there are."""
        count, state = features.shape[1], self._state
        explored = min(math.ceil((count * self.horizon**2) ** (1 / 3)), self.horizon // 2)
        if state.counts[1] < 0 and state.counts[CHOICES] < explored:
            return np.full(len(features), state.counts[CHOICES] % count)
        if state.counts[1] < 0:
            sigma = (self.rewards[1] - self.rewards[0]) / gaussian.mu(self.budget)
            noisy = state.sums[:count] + sigma * generator_of(self.source).standard_normal(count)
            state.counts[1] = int(noisy.argmax())
        return np.full(len(features), state.counts[1])

    def _row(self, offered: Array, picked: int, *_: Any) -> Raw[Array]:
        return Raw(np.array([picked], np.float64))

    @property
    def _row_size(self) -> int:
        return 1

    def _learn(self, x: Array, reward: float) -> None:
        if self._state.counts[1] < 0:
            self._state.sums[int(x[0])] += reward

    @property
    def privacy(self) -> Certificate:
        return plain_certificate("ExploreThenCommit", "This bandit is for comparison in simulations.")
