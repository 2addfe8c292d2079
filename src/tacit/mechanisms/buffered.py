"""A buffered linear Toeplitz mechanism: the square-root factorisation's error from ten buffers, for any horizon."""

import functools
import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tacit.data import Array
from tacit.kernels.continual import BUFFERED, ContinualState
from tacit.mechanisms.continual import Continual
from tacit.privacy.noise import Source

BUFFERS = 10  # no record of the choice


@dataclass(frozen=True, kw_only=True)
class Buffered(Continual):
    """Prefix sums by (prefix matrix) = B C with B's coefficients b_k = sum_i weight_i decay_i^k.

    The noise is sum_i weight_i s_i, s_i <- decay_i s_i + z: ten buffers a coordinate, whatever the horizon.
    Guarantee: mu-GDP, mu = column_norm sensitivity / sigma, with the column norm of C = B^-1 (prefix matrix) exactly:
    the zeros of b(x) = sum_i weight_i / (1 - decay_i x) interlace with its poles, so that c(x) = 1 / ((1 - x) b(x))
    is a sum of exponentials again, and sums of squares of exponentials are geometric.
    Design: 1 / sqrt(1 - x) = (1 / pi) int_0^1 u^(-1/2) (1 - u)^(-1/2) / (1 - u x) du by the trapezoidal rule in
    log(-log u), with the two ends of the rule chosen to minimise the worst error for the horizon.
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


class Exponentials(NamedTuple):
    """The sequence a_k = sum_i weights_i exp(-rates_i k), plus `first` at k = 0."""

    weights: Array
    rates: Array
    first: float = 0.0

    def terms(self, count: int) -> Array:
        """a_0 .. a_{count-1}."""
        out: Array = np.exp(-np.outer(np.arange(count), self.rates)) @ self.weights
        out[0] += self.first
        return out

    def squares(self, count: int) -> float:
        """sum_{k < count} a_k^2."""
        rate = self.rates[:, None] + self.rates
        with np.errstate(divide="ignore", invalid="ignore"):
            sums = np.where(rate == 0, count, np.expm1(-rate * count) / np.expm1(-rate))
        total = float(self.weights @ sums @ self.weights)
        return total + self.first * (self.first + 2 * float(self.weights.sum()))


def quadrature(slowest: float, fastest: float) -> Exponentials:
    """binom(2k, k) / 4^k = (1 / pi) int exp(-k s) exp(-s / 2) / sqrt(1 - exp(-s)) ds, trapezoidal in log s."""
    log_rates = np.linspace(math.log(slowest), math.log(fastest), BUFFERS)
    s = np.exp(log_rates)
    spacing = log_rates[1] - log_rates[0]
    return Exponentials(spacing / math.pi * s * np.exp(-s / 2) / np.sqrt(-np.expm1(-s)), s)


def encoder_of(decoder: Exponentials) -> Exponentials:
    """The coefficients of 1 / ((1 - x) b(x)), b(x) = sum_i w_i / (1 - exp(-s_i) x), by partial fractions.

    With x = exp(q): 1 - exp(-s_i) x = -expm1(q - s_i). Zeros of b: one q between each two neighbouring s_i. The pole
    at x = exp(q) has coefficient -exp(-q) / ((1 - exp(q)) b'(exp(q))), the pole at 1 has 1 / b(1), and the limit at
    infinity, 1 / sum_i w_i exp(s_i), is left over at k = 0."""
    from scipy.optimize import brentq  # a tenth of a second to import

    w, s = decoder.weights, decoder.rates

    def b(log_q: float) -> float:
        return float(np.sum(w / -np.expm1(math.exp(log_q) - s)))

    edges = np.log(s)
    inset = 1e-9 * (edges[1] - edges[0])
    rates = [0.0]
    weights = [1 / float(np.sum(w / -np.expm1(-s)))]
    for left, right in itertools.pairwise(edges):
        q = math.exp(brentq(b, left + inset, right - inset, xtol=1e-15, rtol=1e-14))
        slope = float(np.sum(w * np.exp(-s) / np.expm1(q - s) ** 2))
        rates.append(q)
        weights.append(math.exp(-q) / (math.expm1(q) * slope))
    return Exponentials(np.array(weights), np.array(rates), 1 / float(np.sum(w * np.exp(s))))


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
