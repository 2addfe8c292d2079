"""Linear bandits whose regret does not depend on the dimension, under local privacy."""

import math
from dataclasses import dataclass
from typing import Any

from tacit.bandits.epochs import EPOCH, STEP
from tacit.bandits.square_cb import SquareCB
from tacit.data import Array
from tacit.kernels.block import Block
from tacit.kernels.noise import gaussian_law
from tacit.kernels.rounds import BOUNDARY
from tacit.kernels.squarecb import SquareState, add_gradient, local_square_rounds
from tacit.privacy import gaussian
from tacit.privacy.ledger import GaussianRelease
from tacit.privacy.noise import generator_of


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

    _model = "local"

    def _releases(self) -> tuple[GaussianRelease, ...]:
        statistic = "one user's gradient x (clip <x, theta> - y)"
        sigma = self.sensitivity / gaussian.mu(self.budget)
        return (GaussianRelease("gaussian", statistic, self.sensitivity, 1.0, sigma),)

    def _batches(self, epoch: int) -> tuple[int, float, float]:
        """(batches, eta, error) of that epoch: public."""
        length, best = self._planned(epoch, 0.5)
        batches = max(1, min(math.ceil(best.length), length))
        return batches, min(best.length / batches, 1.0), best.error

    def _open(self, state: SquareState) -> None:
        epoch, batch = int(state.counts[EPOCH]), int(state.counts[STEP])
        state.open[:] = 0.0
        state.counts[BOUNDARY] = self._ends[epoch]
        if epoch + 1 < len(self._ends):
            batches, state.step[0], _ = self._batches(epoch)
            state.counts[BOUNDARY] = self._start(epoch) + self._length(epoch) * (batch + 1) // batches

    def _close(self) -> None:
        state, epoch = self._state, self.closed
        batches, step, error = self._batches(epoch)
        state.theta[:] -= step * state.open * batches / self._length(epoch)
        state.counts[STEP] += 1
        if state.counts[STEP] == batches:
            state.played[:] = state.theta
            state.greed[0] = self.greed / error
            state.counts[EPOCH] += 1
            state.counts[STEP] = 0
            state.theta[:] = 0.0
        self._open(state)

    def _learn(self, x: Array, reward: float) -> None:
        law = gaussian_law(self._release.sigma)
        add_gradient(x, reward / self._unit, self._clip, self._state, self.source.rows(1, self.dim, law)[0])

    def _rounds(self, block: Block, start: int) -> int:
        settings = self._unit, self._clip, self._release.sigma
        return local_square_rounds(self.policy, generator_of(self.source), block, self._state, *settings, start)
