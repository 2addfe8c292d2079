"""A buffered linear Toeplitz mechanism: the square-root factorisation's error from ten buffers, for any horizon."""

import functools
import math
from dataclasses import dataclass

import numpy as np

from reticent.data import Array
from reticent.kernels.continual import BUFFERED, ContinualState
from reticent.mechanisms.continual import Continual
from reticent.mechanisms.recursive import BUFFERS, Exponentials, encoder_of, quadrature
from reticent.privacy.noise import Source


@dataclass(frozen=True, kw_only=True)
class Buffered(Continual):
    """Prefix sums by (prefix matrix) = B C with B's coefficients b_k = sum_i weight_i decay_i^k.

    The noise is sum_i weight_i s_i, s_i <- decay_i s_i + z: ten buffers a coordinate, whatever the horizon.
    Guarantee: mu-GDP, mu = column_norm sensitivity / sigma, with the column norm of C = B^-1 (prefix matrix) exactly
    (mechanisms.exponentials); the two ends of its rule minimise the worst error for the horizon.
    Reference: Dvijotham, McMahan, Pillutla, Steinke & Thakurta 2024, arXiv:2404.16706.
    Departure: this quadrature instead of their rational approximation; it needs no table and no gradient descent.
    """

    @property
    def memory(self) -> int:
        return BUFFERS

    def sum_norm_after(self, steps: int, weeks: int) -> float:
        return weeks * math.sqrt(encoder_of(_design(self.leaves)).squares(steps))

    def gain(self, steps: Array) -> Array:
        decoder = _design(self.leaves)
        return np.array([math.sqrt(decoder.squares(int(t))) for t in steps])

    def noise_state(self, source: Source) -> ContinualState:
        decoder = _design(self.leaves)
        return self._state(BUFFERED, levels=BUFFERS, weights=decoder.weights, decay=np.exp(-decoder.rates))

    def encoder(self) -> Array:
        return encoder_of(_design(self.leaves)).terms(self.leaves)


@functools.lru_cache(maxsize=64)
def _design(leaves: int) -> Exponentials:
    from scipy.optimize import minimize

    def worst(ends: Array) -> float:
        decoder = quadrature(math.exp(ends[0]), math.exp(ends[1]))
        return math.log(decoder.squares(leaves) * encoder_of(decoder).squares(leaves))

    start = [math.log(0.005 / leaves), math.log(5.0)]
    options = {"xatol": 1e-3, "fatol": 1e-6}
    ends = minimize(worst, start, method="Nelder-Mead", options=options).x
    return quadrature(math.exp(ends[0]), math.exp(ends[1]))
