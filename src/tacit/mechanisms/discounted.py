"""Discounted prefix sums: earlier steps fade, and the noise does not grow with the number of releases."""

import math
from dataclasses import dataclass

import numpy as np

from tacit.data import Array
from tacit.kernels.continual import HISTORY, ContinualState
from tacit.mechanisms.continual import Continual
from tacit.mechanisms.toeplitz import coefficients
from tacit.privacy.noise import Source


@dataclass(frozen=True, kw_only=True)
class Discounted(Continual):
    """Releases sum_{s <= t} discount^(t-s) x_s by the square root of that Toeplitz matrix.

    With f_k = binom(2k, k) / 4^k the coefficients discount^k f_k convolved with themselves are discount^k, so encoder
    and decoder are both lower triangular Toeplitz with discount^k f_k, which is non-negative.
    Guarantee: mu-GDP, mu = column_norm sensitivity / sigma, column_norm^2 = sum_k (discount^k f_k)^2: bounded for every
    number of leaves (1.462^2 at discount .99).
    Memory: one vector a leaf, meant for steps that grow geometrically.
    Reference: Fichtenberger, Henzinger & Upadhyay 2022, arXiv:2202.11205 (without discount).
    Departure: none.
    """

    discount: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.discount <= 1:
            raise ValueError(f"Expected discount in (0, 1], got {self.discount!r}.")

    @property
    def fading(self) -> float:
        return self.discount

    @property
    def memory(self) -> int:
        return self.leaves

    def column_norm_after(self, steps: int) -> float:
        return math.sqrt(float(np.sum(self._coefficients()[:steps] ** 2)))

    def gain(self, steps: Array) -> Array:
        squares = np.concatenate([[0.0], np.cumsum(self._coefficients() ** 2)])
        out: Array = np.sqrt(squares[steps.astype(np.int64)])
        return out

    def noise_state(self, source: Source) -> ContinualState:
        return self._state(HISTORY, weights=self._coefficients(), table=np.zeros((self.leaves, self.size)))

    def encoder(self) -> Array:
        return self._coefficients()

    def _coefficients(self) -> Array:
        return coefficients(self.leaves) * self.discount ** np.arange(self.leaves)
