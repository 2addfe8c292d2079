"""Linear bandits whose regret does not depend on the dimension, under local privacy."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reticent import checks
from reticent.core.reward import Reward
from reticent.data import Array, Released
from reticent.kernels.block import Block
from reticent.kernels.rounds import BOUNDARY
from reticent.mechanisms.leaves import nothing_released
from reticent_devices.bandits.server import numbers
from reticent_devices.mechanisms import local
from reticent_papers.epochs import EPOCH, STEP
from reticent_papers.local.epochs import EpochServer
from reticent_papers.local.square_cb_kernel import LocalSquareState, local_square_rounds, square_absorb
from reticent_papers.regression.descent import best_descent
from reticent_papers.square_cb import GREED


@dataclass(kw_only=True, eq=False)
class LocalSquareCB(EpochServer):
    """Epochs of doubling length, each of K batches. Within an epoch: arms by inverse-gap weighting on the last epoch's
    estimate; each device sends one noisy gradient at the batch's public iterate.

    Guarantee: (epsilon, delta)-local differential privacy: a report is x (clip_R(<x, theta>) - y), of norm at most
    R + 1 in units of the largest reward, plus discrete Gaussian noise that covers replacing the user's whole datum
    (sensitivity 2 (R + 1)), and a user sends one report.
    Regret: of order sqrt K epsilon^-1/3 T^5/6, free of d, for i.i.d. contexts (Theorem 6.4).
    Reference: Chen, Li, Rakhlin & Simchi-Levi 2025, arXiv:2502.13115, Algorithms 6 and 13.
    Departure: R = radius; the number of batches, their step and gamma = greed sqrt(K) / error have practical
    constants."""

    reward: Reward = field(default=Reward("identity", range=(-1.0, 1.0)), kw_only=False)
    greed: float = GREED
    length_scale: float = 1.0
    _state: LocalSquareState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._link.bounded or self.link != "identity":
            raise ValueError(f"Expected link='identity', got {self.link!r}.")
        checks.positive(greed=self.greed)
        checks.size(length_scale=self.length_scale)
        self._unit = max(map(abs, self.rewards))
        self._clip = self.radius / self._unit
        self._bound = self._clip + 1  # of a gradient's norm
        made = local.best(self.budget, sensitivity=2.0, radius=1.0, size=self.dim, kind="gaussian")
        self._calibrate(made, size=self.dim, sensitivity=2.0)
        self._state = self.init()

    def init(self) -> LocalSquareState:
        d = self.dim
        zeros = nothing_released(d), np.zeros(d), nothing_released(d), np.zeros(1), np.zeros(1)
        state = LocalSquareState(np.zeros(5, np.int64), *zeros)
        self._open(state)
        return state

    # the algorithm

    def _batches(self, epoch: int) -> tuple[int, float, float]:
        """(batches, eta, error) of that epoch: public."""
        length = self._length(epoch) if epoch + 1 < len(self._ends) else int(self._ends[-2])
        noise = self.std * self._bound / math.sqrt(length)
        variance = ((self.rewards[1] - self.rewards[0]) / (2 * self._unit)) ** 2
        best = best_descent(length, radius=self._clip, noise=noise, variance=variance, length_scale=self.length_scale)
        batches = max(1, min(math.ceil(best.length), length))
        return batches, min(best.length / batches, 1.0), best.error

    def _open(self, state: LocalSquareState) -> None:
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

    def _document(self) -> dict[str, Any]:
        state = self._state
        return {
            "theta": numbers(state.theta),
            "inverse": [],
            "report": {"name": "residual", "bound": self._bound, "clip": self._clip},
            "policy": {"name": "gap", "greed": float(state.greed[0]), "played": numbers(state.played)},
        }

    def _absorb(self, vector: Released) -> None:
        square_absorb(vector, self._bound, self._state)

    def _rounds(self, block: Block, start: int) -> int:
        policy, noise = self._generators()
        settings = self._unit, self._clip, self._bound
        return local_square_rounds(policy, noise, block, self._state, self._law, *settings, start)

    @property
    def theta(self) -> Array:
        """The estimate that arms are chosen by."""
        self._advance(self.transit(), self.users)
        return np.asarray(self._state.played * self._unit)

    def _statistic(self) -> str:
        return f"the gradient x (clip <x, theta> - y) of each user, {self._size} numbers, once"
