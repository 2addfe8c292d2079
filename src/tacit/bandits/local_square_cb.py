"""Linear bandits whose regret does not depend on the dimension, under local privacy."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from tacit import checks
from tacit.bandits import epochs
from tacit.bandits.face import Bandit, Index
from tacit.checks import Array
from tacit.estimators import descent
from tacit.kernels.block import Block
from tacit.kernels.rounds import BOUNDARY, CHOICES
from tacit.kernels.squarecb import SquareState, add_gradient, square_rounds
from tacit.policies import squarecb
from tacit.privacy import gaussian, ledger
from tacit.privacy.budget import Budget
from tacit.privacy.certificate import Certificate, joint_certificate
from tacit.privacy.ledger import GaussianRelease
from tacit.privacy.noise import Secure, Simulated

BATCH, EPOCH = 2, 3


@dataclass(kw_only=True, eq=False)
class LocalSquareCB(Bandit):
    """Epochs of doubling length, each of K batches. Within an epoch: arms by inverse-gap weighting on the last epoch's
    estimate; each user sends one noisy gradient at the batch's public iterate.

    Guarantee: (epsilon, delta)-local differential privacy: a report is x (clip_R(<x, theta>) - y) of norm at most R +
    1 plus Gaussian noise that covers replacing the user's whole datum (sensitivity 2 (R + 1)), and a user sends one
    report.
    Regret: of order sqrt K epsilon^-1/3 T^5/6, free of d, for i.i.d. contexts (Theorem 6.4).
    Reference: Chen, Li, Rakhlin & Simchi-Levi 2025, arXiv:2502.13115, Algorithms 6 and 13.
    Departure: R = radius; the number of batches, their step and gamma = greed sqrt(K) / error have practical
    constants. Both halves run in one process here, as in LocalReweighted.
    """

    budget: Budget
    radius: float = 1.0
    rewards: tuple[float, float] = (-1.0, 1.0)
    first: int = 2000
    greed: float = 8.0
    travel: float = 1.0
    link: str = "identity"
    source: Any = field(default_factory=Secure)
    policy: Generator = field(default_factory=default_rng, repr=False)

    def __post_init__(self) -> None:
        self._link = epochs.check(self)
        epochs.simulated(self.source)
        if self._link.bounded:
            raise ValueError(f"Expected link='identity', got {self.link!r}.")
        checks.positive(greed=self.greed, travel=self.travel)
        assert self.horizon is not None
        self._ends = epochs.ends(self.first, self.horizon)
        self._unit = max(map(abs, self.rewards))
        self._clip = self.radius / self._unit
        self.epsilon = ledger.check(self._releases(), self.budget)
        super().__post_init__()

    @property
    def sensitivity(self) -> float:
        """Of a user's gradient."""
        return 2 * (self._clip + 1)

    def _releases(self) -> tuple[GaussianRelease, ...]:
        statistic = "one user's gradient x (clip <x, theta> - y)"
        sigma = self.sensitivity / gaussian.mu(self.budget)
        return (GaussianRelease("gaussian", statistic, self.sensitivity, 1.0, sigma),)

    def _journey(self, epoch: int) -> tuple[int, float, float]:
        """(batches, eta, error) of that epoch: public."""
        length = epochs.length(self._ends, epoch) if epoch + 1 < len(self._ends) else int(self._ends[-2])
        noise = self._releases()[0].sigma / length**0.5
        variance = ((self.rewards[1] - self.rewards[0]) / (2 * self._unit)) ** 2
        plan = descent.journey(length, radius=self._clip, noise=noise, variance=variance, travel=self.travel)
        batches = max(1, min(math.ceil(plan.length), length))
        return batches, min(plan.length / batches, 1.0), plan.error

    # the algorithm

    def init(self) -> SquareState:
        d = self.dim
        state = SquareState(np.zeros(4, np.int64), np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(3))
        state.numbers[2] = self._releases()[0].sigma
        self._open(state, 0)
        return state

    def _open(self, state: SquareState, batch: int) -> None:
        """Start that batch of the present epoch."""
        epoch = int(state.counts[EPOCH])
        state.open[:] = 0.0
        state.counts[BATCH] = batch
        state.counts[BOUNDARY] = self._ends[epoch]
        if epoch + 1 < len(self._ends):
            start, length = (int(self._ends[epoch - 1]) if epoch else 0), epochs.length(self._ends, epoch)
            batches, state.numbers[1], _ = self._journey(epoch)
            state.counts[BOUNDARY] = start + length * (batch + 1) // batches

    def _advance(self) -> None:
        state = self._state
        while state.counts[CHOICES] >= state.counts[BOUNDARY]:
            epoch, batch = int(state.counts[EPOCH]), int(state.counts[BATCH])
            batches, step, error = self._journey(epoch)
            state.theta[:] -= step * state.open * batches / epochs.length(self._ends, epoch)
            if batch + 1 < batches:
                self._open(state, batch + 1)
            else:
                state.played[:] = state.theta
                state.numbers[0] = self.greed / error
                state.counts[EPOCH] += 1
                state.theta[:] = 0.0
                self._open(state, 0)

    def _pick(self, features: Array) -> Index:
        return squarecb.choose_many(self.policy, features, self._state.played, float(self._state.numbers[0]))

    def _propensity(self, features: Array, index: int) -> Callable[[], float]:
        chance = float(squarecb.propensities(features, self._state.played, float(self._state.numbers[0]))[index])
        return lambda: chance

    def _learn(self, x: Array, reward: float) -> None:
        law = np.array([1.0, self._state.numbers[2], 0.0])
        add_gradient(x, reward / self._unit, self._clip, self._state, self.source.rows(1, self.dim, law)[0])

    def _play(self, block: Block) -> None:
        if not isinstance(self.source, Simulated):
            raise ValueError("Expected simulated noise for a simulated block of rounds, got another source.")
        played = 0
        while played < len(block.noise):
            self._advance()
            settings = self._unit, self._clip, True
            played = square_rounds(self.policy, self.source.generator, block, self._state, *settings, played)

    def _plan_numbers(self) -> list[float]:
        return [self._releases()[0].mu, self._unit]

    # what may be shown

    @property
    def closed(self) -> int:
        """Epochs closed so far."""
        return int(self._state.counts[EPOCH])

    @property
    def theta(self) -> Array:
        """The estimate that arms are chosen by."""
        return np.asarray(self._state.played * self._unit)

    @property
    def privacy(self) -> Certificate:
        assert self.horizon is not None
        return joint_certificate(
            type(self).__name__,
            budget=self.budget,
            epsilon=self.epsilon,
            releases=self._releases(),
            spent=self._releases() if self.choices else (),
            source=self.source,
            rounds=self.horizon,
            model="local",
        )
