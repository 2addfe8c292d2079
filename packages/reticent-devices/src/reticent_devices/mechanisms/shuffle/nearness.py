"""How near so many fair coins are to a rounded Gaussian number: step 3 of the proof in calibration. Devices work it out
as well as servers: numpy and the standard library alone, and the same steps in js/src/plans.js."""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from reticent.data import Array
from reticent.privacy import search
from reticent_devices.mechanisms.shuffle.portable import decay, log, tail

ROUNDING, TERMS = 1e-9, 10**5
PRODUCT_ROUNDING = 1 + 1e-9
REACHES = np.array([3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5, 8.0, 9.0])  # t: J = ceil(t s)
LEAST_SHOWN, LARGEST_SHOWN = 1e-9, 64.0  # epsilon


class Near(NamedTuple):
    """For each of REACHES."""

    over: Array  # rho+
    under: Array  # rho-
    lost: Array  # tau_B
    missed: Array  # tau_G


@functools.lru_cache(maxsize=256)
def near(trials: int) -> Near:
    """Bin(trials, 1/2) beside the rounded Gaussian of its variance: the work is the root of trials."""
    s = std(trials)
    half = trials // 2
    first = 0.5 * (trials % 2)  # the lattice: 0, 1, 2, ... or 1/2, 3/2, ...
    ends = np.minimum(np.ceil(REACHES * s).astype(np.int64), half)
    j = first + np.arange(ends[-1] + 2)
    edges = tail((np.append(j, j[-1] + 1) - 0.5) / s)
    ratios = np.maximum(trials / 2 - j, 0.0) / (trials / 2 + j + 1)  # of neighbouring probabilities
    binomial = central(trials) * np.cumprod(np.append(1.0, ratios[:-1]))
    gap = np.where(binomial > 0, binomial / (edges[:-1] - edges[1:]), 1.0)  # the lattice ends within reach of few
    error = ROUNDING * max(1.0, j.size / TERMS)
    over = np.array([log(each) for each in np.maximum.accumulate(np.maximum(gap, 1.0))[ends].tolist()]) + error
    under = np.array([-log(each) for each in np.minimum.accumulate(np.minimum(gap, 1.0))[ends].tolist()]) + error
    lost = 2 * binomial[ends + 1] / (1 - ratios[ends + 1])  # terms beyond fall at least geometrically
    return Near(over, under, lost, 2 * edges[ends + 1])


def binomial_delta(closeness: Array, epsilon: float, gaussian: Callable[[Array], Array]) -> float:
    """delta at epsilon by step 3, the least over REACHES, from delta_R at epsilons; closeness: the rows of Near, each
    summed over all numbers."""
    inner = epsilon - (closeness[0] + closeness[1])
    possible = inner >= 0
    if not possible.any():
        return 1.0
    (over, _, lost, missed), inner = closeness[:, possible], inner[possible]
    total = lost + (gaussian(inner) + missed / decay(inner)) / decay(over)
    return min(1.0, float(total.min()))


def std(trials: int) -> float:
    """s: of the Gaussian number which rounding brings to the variance of that many coins."""
    return math.sqrt(trials / 4 - 1 / 12)


def central(trials: int) -> float:
    """The largest probability of Bin(trials, 1/2): binom(2k, k) / 4^k, k = ceil(trials / 2), by Stirling's series,
    whose error is below the first term left out, 17 / (14336 k^7) < 2e-13."""
    k = float((trials + 1) // 2)
    rest = 1 / (8 * k) - 1 / (192 * k * k * k) + 1 / (640 * k * k * k * k * k)
    return float(decay(np.array(rest))) / math.sqrt(math.pi * k)


def smallest(enough: Callable[[float], bool]) -> float:
    """The least epsilon up to LARGEST_SHOWN that is enough, rounded up; inf if none is."""
    low, high = search.doubled(enough, 0.0, 0.25, most=LARGEST_SHOWN)
    return math.inf if high == math.inf else search.halved(enough, low, high, digits=1e-7, least=LEAST_SHOWN)[1]
