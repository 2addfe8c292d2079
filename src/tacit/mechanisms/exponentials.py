"""Toeplitz matrices whose coefficients are sums of exponentials, so that ten buffers hold what a release needs: near
the square root of the prefix matrix, with an inverse that is one again (arXiv:2404.16706).

Decoder B has coefficients b_k = sum_i weight_i decay_i^k, and C = B^-1 (prefix matrix). The zeros of
b(x) = sum_i weight_i / (1 - decay_i x) interlace with its poles, so that c(x) = 1 / ((1 - x) b(x)) is a sum of
exponentials again, and sums of squares of exponentials are geometric.
Design: 1 / sqrt(1 - x) = (1 / pi) int_0^1 u^(-1/2) (1 - u)^(-1/2) / (1 - u x) du by the trapezoidal rule in
log(-log u), with two ends of the rule to choose."""

import itertools
import math
from typing import NamedTuple

import numpy as np

from tacit.data import Array

BUFFERS = 10  # no record of the choice


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
