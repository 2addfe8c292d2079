"""GLM-UCB (Filippi et al. 2010)."""

import math
from dataclasses import dataclass, field

import numpy as np

from reticent.core.choices import Index
from reticent.data import Array
from reticent.kernels.block import Block
from reticent_lab import plain
from reticent_papers.references.glm_ucb_kernel import MeanState, mean_learn, mean_rounds, mean_rows
from reticent_papers.references.mle_ucb import history


@dataclass(kw_only=True, eq=False)
class GLMUCB(plain.Reference):
    """The arm with the largest mu(<x, theta>) + rho(t) |x|_{V^-1}: theta the quasi-likelihood fit, V the sum of x x',
    rho(t) = 2 L kappa c R sqrt(2 d log(t) log(2 d T / failure)), L the largest slope, c^2 = 3 + 2 log(1 + 2 / ridge).

    Guarantee: none of privacy. Regret of order kappa d sqrt(T) log T with probability 1 - failure.
    Reference: Filippi, Cappe, Garivier & Szepesvari 2010, Algorithm 1 and Theorem 2.
    Departure: a ridge of d in place of d independent first arms; no projection of the estimate on |theta| <= radius,
    which the width hides; theta is refitted when the data has grown by 5 %. kappa is the worst case for the declared
    radius, or oracle_kappa. Memory grows with the horizon: all data is kept.
    """

    failure: float | None = None
    oracle_kappa: float | None = None
    _state: MeanState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._link = plain.check(self)
        self.kappa = plain.kappa(self._link, self.radius, self.oracle_kappa)
        assert self.horizon is not None and self.failure is not None
        self._ridge = float(self.dim)
        steepest = float(self._link.slope(0.0))
        bound = plain.largest(self._link, self.rewards)
        c = math.sqrt(3 + 2 * math.log(1 + 2 / self._ridge))
        logs = 2 * self.dim * math.log(2 * self.dim * self.horizon / self.failure)
        self.width = self.width_scale * 2 * steepest * self.kappa * c * bound * math.sqrt(logs)
        super().__post_init__()

    def init(self) -> MeanState:
        return MeanState(*history(self, self._ridge), np.eye(self.dim) / self._ridge)

    def _pick(self, features: Array) -> Index:
        return plain.choose_rows(mean_rows, features, features, self._state, self._link.code, self.width)

    def _learn(self, x: Array, reward: float) -> None:
        mean_learn(x, self._in_units(reward), self._link.code, self._ridge, self._state)

    def _play(self, block: Block) -> bool:
        settings = self._link.code, self._ridge, self.width
        mean_rounds(block, self._state, self._range, *settings)
        return True
