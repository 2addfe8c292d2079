"""What the two dimension-free linear bandits share: epochs, inverse-gap weighting, settings."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from tacit import checks
from tacit.bandits import epochs
from tacit.bandits.base import Bandit, Index
from tacit.data import Array, Raw, Released
from tacit.kernels.rounds import BOUNDARY, CHOICES
from tacit.kernels.squarecb import SquareState, gap_rows, gap_weights
from tacit.lock import requires_durable
from tacit.mechanisms.queries import nothing_released
from tacit.privacy import ledger
from tacit.privacy.budget import Budget
from tacit.privacy.ledger import GaussianRelease
from tacit.privacy.noise import Secure
from tacit.regression import descent
from tacit.regression.descent import Journey

EPOCH = 3


@dataclass(kw_only=True, eq=False)
class SquareCB(Bandit):
    """Epochs of doubling length; in each, arms by inverse-gap weighting on the estimate of the one before."""

    budget: Budget
    radius: float = 1.0
    rewards: tuple[float, float] = (-1.0, 1.0)
    first: int = 200
    greed: float = 8.0
    travel: float = 1.0
    link: str = "identity"
    source: Any = field(default_factory=Secure)
    policy: Any = field(default=None, repr=False)  # a Generator; by default fresh, seeded by the operating system
    _state: SquareState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._link = epochs.check(self)
        self._policy_given = self.policy is not None
        self.policy = self.policy or default_rng()
        if self._link.bounded:
            raise ValueError(f"Expected link='identity', got {self.link!r}.")
        checks.positive(greed=self.greed)
        checks.size(travel=self.travel)
        assert self.horizon is not None
        self._ends = epochs.ends(self.first, self.horizon)
        self._check_source()
        self._unit = max(map(abs, self.rewards))
        self._clip = self.radius / self._unit
        self.epsilon = ledger.check(self._releases(), self.budget)
        super().__post_init__()

    @property
    def sensitivity(self) -> float:
        """Of one user's step, for steps of length 1: each of two gradients is at most R + 1 long."""
        return 2 * (self._clip + 1)

    def _check_source(self) -> None:
        """Refuse a source of noise that cannot do what this schedule asks of it."""

    @abstractmethod
    def _releases(self) -> tuple[GaussianRelease, ...]:
        """What one user's data go through."""

    @abstractmethod
    def _open(self, state: SquareState) -> None:
        """Start the next epoch, or the next part of it."""

    def _planned(self, epoch: int, exponent: float) -> tuple[int, Journey]:
        """The length of that epoch, and its journey if noise falls with that power of the length: public."""
        length = epochs.length(self._ends, epoch) if epoch + 1 < len(self._ends) else int(self._ends[-2])
        noise = self._releases()[0].sigma / length**exponent
        variance = ((self.rewards[1] - self.rewards[0]) / (2 * self._unit)) ** 2
        return length, descent.journey(length, radius=self._clip, noise=noise, variance=variance, travel=self.travel)

    def init(self) -> SquareState:
        d = self.dim
        played, theta = nothing_released(d), Raw(np.zeros(d))
        state = SquareState(np.zeros(4, np.int64), played, theta, np.zeros(d), np.zeros(3))
        state.numbers[2] = self._releases()[0].sigma
        self._open(state)
        return state

    def _pick(self, features: Array) -> Index:
        return choose_many(self.policy, features, self._state.played, float(self._state.numbers[0]))

    def _propensity(self, features: Array, index: int) -> Callable[[], float]:
        chance = float(propensities(features, self._state.played, float(self._state.numbers[0]))[index])
        return lambda: chance

    def _plan_numbers(self) -> list[float]:
        return [self._releases()[0].mu, self._unit]

    @property
    def _steps(self) -> int:
        return self.closed

    @property
    def _due(self) -> bool:
        return bool(self._state.counts[CHOICES] >= self._state.counts[BOUNDARY])

    @property
    def closed(self) -> int:
        """Epochs closed so far."""
        return int(self._state.counts[EPOCH])

    @property
    @requires_durable
    def theta(self) -> Array:
        """The estimate that arms are chosen by."""
        return np.asarray(self._state.played * self._unit)


def choose_many(rng: Generator, arms: Array, theta: Released, greed: float) -> Index:
    """For each row of (n, K, d): an arm drawn with `propensities`."""
    out = np.empty(len(arms), np.int64)
    gap_rows(rng, arms, theta, greed, out)
    return out


def propensities(arms: Array, theta: Released, greed: float) -> Array:
    """1 / (K + greed sqrt(K) gap) for each of (K, d) arms, and the rest for the best."""
    out = np.empty(len(arms))
    gap_weights(arms, theta, greed, out)
    return out
