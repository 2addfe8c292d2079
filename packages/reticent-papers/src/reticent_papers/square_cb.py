"""Dimension-free linear bandits: epochs, inverse-gap weighting, settings."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from reticent import checks
from reticent.core.choices import Index
from reticent.data import Array, Exact, Released
from reticent.mechanisms.leaves import nothing_released
from reticent.privacy import ledger
from reticent.process import owner_only
from reticent_papers.epochs import EpochBandit
from reticent_papers.kernels.squarecb import SquareState, gap_rows, gap_weights
from reticent_papers.regression.descent import Descent, best_descent

GREED = 8.0  # gamma of the weights, times error / sqrt K: a practical constant, no record of its choice


@dataclass(kw_only=True, eq=False)
class SquareCB(EpochBandit):
    """Epochs of doubling length; in each, arms by inverse-gap weighting on the estimate of the one before."""

    rewards: tuple[float, float] = (-1.0, 1.0)
    first: int = 200
    greed: float = GREED
    length_scale: float = 1.0
    link: str = "identity"
    _state: SquareState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._check()
        if self._link.bounded:
            raise ValueError(f"Expected link='identity', got {self.link!r}.")
        checks.positive(greed=self.greed)
        checks.size(length_scale=self.length_scale)
        self._unit = max(map(abs, self.rewards))
        self._clip = self.radius / self._unit
        self._release = self._releases()[0]
        self.epsilon = ledger.check(self._releases(), self.budget)
        super().__post_init__()

    @property
    def sensitivity(self) -> float:
        """Of one user's step, for steps of length 1: each of two gradients is at most R + 1 long."""
        return 2 * (self._clip + 1)

    @abstractmethod
    def _open(self, state: SquareState) -> None:
        """Start the next epoch, or the next part of it."""

    def _planned(self, epoch: int, exponent: float) -> tuple[int, Descent]:
        """The length of that epoch, and its descent if noise falls with that power of the length: public."""
        length = self._length(epoch) if epoch + 1 < len(self._ends) else int(self._ends[-2])
        noise = self._release.sigma / length**exponent
        variance = ((self.rewards[1] - self.rewards[0]) / (2 * self._unit)) ** 2
        best = best_descent(length, radius=self._clip, noise=noise, variance=variance, length_scale=self.length_scale)
        return length, best

    def init(self) -> SquareState:
        d = self.dim
        played, theta = nothing_released(d), Exact(np.zeros(d))
        state = SquareState(np.zeros(4, np.int64), played, theta, np.zeros(1), np.zeros(1))
        self._open(state)
        return state

    def _pick(self, features: Array) -> Index:
        return choose_many(self.policy, features, self._state.played, float(self._state.greed[0]))

    def _propensity(self, features: Array, index: int) -> Callable[[], float]:
        chance = float(propensities(features, self._state.played, float(self._state.greed[0]))[index])
        return lambda: chance

    def _plan_numbers(self) -> list[float]:
        return [*super()._plan_numbers(), self._unit]

    @property
    @owner_only
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
