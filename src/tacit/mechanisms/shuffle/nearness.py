"""How near so many fair coins are to a rounded Gaussian number: step 3 of the proof in calibration. Devices work it out
as well as servers: numpy and the standard library alone."""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tacit.data import Array
from tacit.privacy import search

ROUNDING, TERMS = 1e-9, 10**5
PRODUCT_ROUNDING = 1 + 1e-9
REACHES = np.array([3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5, 8.0, 9.0])  # t: J = ceil(t s)
LARGEST_SHOWN = 64.0  # epsilon


class Near(NamedTuple):
    """For each of REACHES."""

    over: Array  # rho+
    under: Array  # rho-
    lost: Array  # tau_B
    missed: Array  # tau_G


def compare(trials: int, log_ndtr: Callable[[Array], Array]) -> Near:
    """Bin(trials, 1/2) beside the rounded Gaussian of its variance, by the logarithm of the normal law."""
    s = std(trials)
    half = trials // 2
    first = 0.5 * (trials % 2)  # the lattice: 0, 1, 2, ... or 1/2, 3/2, ...
    ends = np.minimum(np.ceil(REACHES * s).astype(np.int64), half)
    j = first + np.arange(ends[-1] + 2)
    edges = log_ndtr(-(np.append(j, j[-1] + 1) - 0.5) / s)
    upper, lower = edges[:-1], edges[1:]
    with np.errstate(divide="ignore"):
        binomial = log_central(trials) + np.concatenate(
            [[0.0], np.cumsum(np.log(np.maximum(trials / 2 - j[:-1], 0.0)) - np.log(trials / 2 + j[1:]))]
        )
        rounded = upper + np.log(-np.expm1(lower - upper))
    gap = np.where(np.isfinite(binomial), binomial - rounded, 0.0)  # the lattice ends within reach of few trials
    error = ROUNDING * max(1.0, j.size / TERMS)
    over = np.maximum.accumulate(np.maximum(gap, 0.0))[ends] + error
    under = np.maximum.accumulate(np.maximum(-gap, 0.0))[ends] + error
    after = np.exp(binomial[ends + 1])
    ratio = np.maximum(trials / 2 - j[ends + 1], 0.0) / (trials / 2 + j[ends + 1] + 1)
    lost = 2 * after / (1 - ratio)  # terms beyond fall at least geometrically
    missed = 2 * np.exp(lower[ends])
    return Near(over, under, lost, missed)


@functools.lru_cache(maxsize=64)
def near(trials: int) -> Near:
    """The same without scipy: math.erfc is good to a few units in the last place, far within ROUNDING."""
    return compare(trials, _log_ndtr)


def _log_ndtr(z: Array) -> Array:
    return np.log([0.5 * math.erfc(-each) for each in (z / math.sqrt(2)).tolist()])


def std(trials: int) -> float:
    """s: of the Gaussian number which rounding brings to the variance of that many coins."""
    return math.sqrt(trials / 4 - 1 / 12)


def log_central(trials: int) -> float:
    """ln of the largest probability of Bin(trials, 1/2): binom(2k, k) / 4^k, k = ceil(trials / 2), by Stirling's
    series, whose error is below the first term left out, 17 / (14336 k^7) < 2e-13."""
    k = (trials + 1) // 2
    return -0.5 * math.log(math.pi * k) - 1 / (8 * k) + 1 / (192 * k**3) - 1 / (640 * k**5)


def smallest(enough: Callable[[float], bool]) -> float:
    """The least epsilon up to LARGEST_SHOWN that is enough, rounded up; inf if none is."""
    low, high = search.doubled(enough, 0.0, 0.25, most=LARGEST_SHOWN)
    return math.inf if high == math.inf else search.halved(enough, low, high, digits=1e-7)[1]
