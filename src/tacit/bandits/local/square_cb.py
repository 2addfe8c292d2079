"""Linear bandits whose regret does not depend on the dimension, under local privacy."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.bandits import epochs
from tacit.bandits.epochs import ONE_REPORT
from tacit.bandits.square_cb import EPOCH, SquareCB
from tacit.data import Array
from tacit.kernels.block import Block
from tacit.kernels.rounds import BOUNDARY, CHOICES
from tacit.kernels.squarecb import SquareState, add_gradient, square_rounds
from tacit.privacy import gaussian
from tacit.privacy.certificate import Certificate, certify
from tacit.privacy.ledger import GaussianRelease
from tacit.privacy.noise import generator_of

BATCH = 2


@dataclass(kw_only=True, eq=False)
class LocalSquareCB(SquareCB):
    """Epochs of doubling length, each of K batches. Within an epoch: arms by inverse-gap weighting on the last epoch's
    estimate; each user sends one noisy gradient at the batch's public iterate.

    Guarantee: (epsilon, delta)-local differential privacy: a report is x (clip_R(<x, theta>) - y) of norm at most R +
    1 plus Gaussian noise that covers replacing the user's whole datum (sensitivity 2 (R + 1)), and a user sends one
    report.
    Regret: of order sqrt K epsilon^-1/3 T^5/6, free of d, for i.i.d. contexts (Theorem 6.4).
    Reference: Chen, Li, Rakhlin & Simchi-Levi 2025, arXiv:2502.13115, Algorithms 6 and 13.
    Departure: R = radius; the number of batches, their step and gamma = greed sqrt(K) / error have practical
    constants. Both halves run in one process here, as in LocalReweighted.

    source: of noise, Simulated(seed): it has to be given.
    """

    first: int = 2000
    source: Any = None

    def __post_init__(self) -> None:
        epochs.simulated(self)
        super().__post_init__()

    def _releases(self) -> tuple[GaussianRelease, ...]:
        statistic = "one user's gradient x (clip <x, theta> - y)"
        sigma = self.sensitivity / gaussian.mu(self.budget)
        return (GaussianRelease("gaussian", statistic, self.sensitivity, 1.0, sigma),)

    def _journey(self, epoch: int) -> tuple[int, float, float]:
        """(batches, eta, error) of that epoch: public."""
        length, plan = self._planned(epoch, 0.5)
        batches = max(1, min(math.ceil(plan.length), length))
        return batches, min(plan.length / batches, 1.0), plan.error

    def _open(self, state: SquareState) -> None:
        epoch, batch = int(state.counts[EPOCH]), int(state.counts[BATCH])
        state.open[:] = 0.0
        state.counts[BOUNDARY] = self._ends[epoch]
        if epoch + 1 < len(self._ends):
            start, length = (int(self._ends[epoch - 1]) if epoch else 0), epochs.length(self._ends, epoch)
            batches, state.numbers[1], _ = self._journey(epoch)
            state.counts[BOUNDARY] = start + length * (batch + 1) // batches

    def _advance(self) -> None:
        state = self._state
        while state.counts[CHOICES] >= state.counts[BOUNDARY]:
            epoch = int(state.counts[EPOCH])
            batches, step, error = self._journey(epoch)
            state.theta[:] -= step * state.open * batches / epochs.length(self._ends, epoch)
            state.counts[BATCH] += 1
            if state.counts[BATCH] == batches:
                state.played[:] = state.theta
                state.numbers[0] = self.greed / error
                state.counts[EPOCH] += 1
                state.counts[BATCH] = 0
                state.theta[:] = 0.0
            self._open(state)

    def _learn(self, x: Array, reward: float) -> None:
        law = np.array([1.0, self._state.numbers[2], 0.0])
        add_gradient(x, reward / self._unit, self._clip, self._state, self.source.rows(1, self.dim, law)[0])

    def _play(self, block: Block) -> None:
        played = 0
        while played < len(block.noise):
            self._advance()
            settings = self._unit, self._clip, True
            played = square_rounds(self.policy, generator_of(self.source), block, self._state, *settings, played)

    @property
    def privacy(self) -> Certificate:
        assert self.horizon is not None
        return certify(
            type(self).__name__,
            model="local",
            budget=self.budget,
            releases=self._releases(),
            spent=self._releases() if self.choices else (),
            source=self.source,
            rounds=self.horizon,
            relation=ONE_REPORT,
        )
