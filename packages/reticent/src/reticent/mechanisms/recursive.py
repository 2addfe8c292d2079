"""Discounted prefix sums from ten buffers, for vectors so long that one for each leaf would take too much room."""

import functools
import itertools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from reticent.data import Array
from reticent.kernels.continual import BUFFERED, ContinualState
from reticent.mechanisms import together
from reticent.mechanisms.continual import Continual
from reticent.mechanisms.discounted import Discounted
from reticent.mechanisms.grid import MOST_LEAVES
from reticent.privacy.noise import Source

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


LARGEST_TABLE = 1 << 19  # numbers of all leaves of a window: 4 MiB, and as many of exact sums on a grid


@dataclass(frozen=True, kw_only=True)
class Recursive(Continual):
    """Releases sum_{s <= t} discount^(t-s) x_s by (that matrix) = B C, B's coefficients discount^k b_k and C's
    discount^k c_k, b and c those of mechanisms.exponentials: a product of series stays one if x is replaced by
    discount x.

    The noise is sum_i weight_i s_i, s_i <- discount decay_i s_i + z. Its std is that of Discounted, the square root,
    within a ten-thousandth.
    Guarantee: mu-GDP, mu = column_norm sensitivity / sigma, with the column norm of C over all leaves: a sum of squares
    of exponentials. c_k is a sum of exponentials with positive weights, so it is positive and falls: what late
    contributions (mechanisms.continual) and several weeks (mechanisms.together) need.
    Reference: Dvijotham, McMahan, Pillutla, Steinke & Thakurta 2024, arXiv:2404.16706.
    Departure: a quadrature instead of their rational approximation, which needs no gradient descent; a discount.
    """

    discount: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.discount < 1:
            raise ValueError(f"Expected discount in (0, 1), got {self.discount!r}.")

    @property
    def fading(self) -> float:
        return self.discount

    @property
    def memory(self) -> int:
        return BUFFERS

    def sum_norm_after(self, steps: int, weeks: int) -> float:
        return sum_norm(self.series, steps, weeks, self.spacing)

    def gain(self, steps: Array) -> Array:
        decoder = _design(self.leaves, self.discount)[0]
        out: Array = np.sqrt([decoder.squares(int(t)) for t in steps])
        return out

    def noise_state(self, source: Source) -> ContinualState:
        decoder = _design(self.leaves, self.discount)[0]
        return self._state(BUFFERED, levels=BUFFERS, weights=decoder.weights, decay=np.exp(-decoder.rates))

    @property
    def series(self) -> Exponentials:
        """C's coefficients; the first of the exponentials is discount^k."""
        return _design(self.leaves, self.discount)[1]


def discounted(*, leaves: int, size: int, discount: float, **columns: Any) -> Continual:
    """The mechanism for sums of so many numbers: the square root, or, where its table would be long, buffers. Those
    keep something of every leaf, so that the square root stays where leaves leave its window. A function of public
    numbers alone."""
    root = Discounted(leaves=leaves, size=size, discount=discount, sigma=0.0, **columns)
    if root.window * size <= LARGEST_TABLE or root.window < leaves or leaves > MOST_LEAVES or discount == 1:
        return root
    return Recursive(leaves=leaves, size=size, discount=discount, sigma=0.0, **columns)


def sum_norm(series: Exponentials, steps: int, weeks: int, spacing: int) -> float:
    """The largest norm of a sum of columns of C over so many steps (mechanisms.together), C's coefficients given."""
    if weeks == 1:
        return math.sqrt(series.squares(steps))
    return together.sum_norm(series.terms(steps), weeks, spacing)


@functools.lru_cache(maxsize=64)
def _design(leaves: int, discount: float) -> tuple[Exponentials, Exponentials]:
    """B's and C's coefficients, with the ends of the quadrature that make the noise of the last release smallest."""
    from scipy.optimize import minimize

    def faded(series: Exponentials) -> Exponentials:
        return series._replace(rates=series.rates - math.log(discount))

    def both(ends: Array) -> tuple[Exponentials, Exponentials]:
        decoder = quadrature(math.exp(ends[0]), math.exp(ends[1]))
        return faded(decoder), faded(encoder_of(decoder))

    def worst(ends: Array) -> float:
        return math.log(math.prod(series.squares(leaves) for series in both(ends)))

    start = [math.log(0.005 * max(1 / leaves, 1 - discount)), math.log(5.0)]
    return both(minimize(worst, start, method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-6}).x)
