"""Linear bandits whose regret does not depend on the dimension, under joint privacy."""

import math
from dataclasses import dataclass

from reticent.data import Array, Exact
from reticent.kernels.block import Block
from reticent.kernels.rounds import BOUNDARY
from reticent.mechanisms.grid import cell_for
from reticent.privacy import gaussian, relations
from reticent.privacy.ledger import GaussianRelease
from reticent_papers.epochs import EPOCH
from reticent_papers.kernels.squarecb import SquareState, gradient_step, joint_square_rounds
from reticent_papers.mechanisms.sums import rounded_sensitivity, sigma_on, with_noise
from reticent_papers.square_cb import SquareCB


@dataclass(kw_only=True, eq=False)
class JointSquareCB(SquareCB):
    """Epochs of doubling length. Within an epoch: arms by inverse-gap weighting on the last released estimate, and one
    gradient step for each reward, on an iterate that nobody sees. At its end that iterate is released with noise.

    Guarantee: (epsilon, delta)-joint differential privacy for replacing one user, whatever later users do. Each step
    is a contraction (eta |x|^2 <= 2, and projection on |theta| <= R), so one user moves the epoch's last iterate by at
    most what its own step does: 2 (R + 1) eta, and by half of that in each of two epochs if its reward comes late. Any
    number of rewards may come: nothing is divided by their count.
    Regret: of order sqrt K (T^3/4 + epsilon^-1/3 T^2/3), free of d, for i.i.d. contexts (Theorem 6.4).
    Reference: Chen, Li, Rakhlin & Simchi-Levi 2025, arXiv:2502.13115, Algorithms 5 and 13.
    Departure: batches of one user with steps eta = (length of the descent) / (epoch's length), so that memory is a few
    vectors; R = radius; the descent's length and gamma = greed sqrt(K) / error have practical constants.
    """

    def _releases(self) -> tuple[GaussianRelease, ...]:
        statistic = "the last iterate of an epoch, in units of its step"
        cell = cell_for(self.sensitivity, self.dim) if self.source.private and self.budget.epsilon < math.inf else 0.0
        apart = rounded_sensitivity(self.sensitivity, self.dim, cell)
        noise = sigma_on(cell, apart, gaussian.mu(self.budget)), 1, cell, self.dim
        return (GaussianRelease("gaussian", statistic, apart, 1.0, *noise, relation=relations.REPLACE),)

    def _step_and_error(self, epoch: int) -> tuple[float, float]:
        """(eta, error) of that epoch: public."""
        length, best = self._planned(epoch, 1.0)
        return min(best.length / length, 1.0), best.error

    def _open(self, state: SquareState) -> None:
        epoch = int(state.counts[EPOCH])
        state.theta[:] = 0.0
        state.counts[BOUNDARY] = self._ends[epoch]
        state.step[0] = self._step_and_error(epoch)[0] if len(self._ends) > 1 else 0.0

    def _close(self) -> None:
        state, release = self._state, self._release
        step, greed = float(state.step[0]), self.greed / self._step_and_error(self.closed)[1]
        released = with_noise(Exact(state.theta / step), release.sigma, release.grid, self.source)
        state.counts[EPOCH] += 1
        self._open(state)  # the epoch is over before anything is shown: an interruption releases nothing twice
        state.played[:], state.greed[0] = step * released, greed

    def _learn(self, x: Array, reward: float) -> None:
        gradient_step(x, reward / self._unit, float(self._state.step[0]), self._clip, self._state.theta)

    def _rounds(self, block: Block, start: int) -> int:
        return joint_square_rounds(self.policy, block, self._state, self._unit, self._clip, start)
