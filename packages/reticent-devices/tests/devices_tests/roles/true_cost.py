"""What a shuffled sum really costs, slowly: the law of the privacy loss of two users' data, enumerated. No formula of
the calibration is used here."""

import math

import numpy as np
from scipy.signal import fftconvolve
from scipy.stats import binom

STEP, MOST = 1e-3, 30.0  # losses are rounded down to STEP, and to MOST: what is found is never above the truth
TAILS = 12.0  # standard deviations of the coins that are enumerated


def law(u, coins, first, length):
    """Of floor(u + U) + Bin(coins, 1/2) on first, first + 1, ..."""
    k = np.arange(first, first + length)
    low, share = math.floor(u), u - math.floor(u)
    return (1 - share) * binom.pmf(k - low, coins, 0.5) + share * binom.pmf(k - low - 1, coins, 0.5)


def losses(u, v, coins):
    """The law of ln P/Q under P of one number, on multiples of STEP from -MOST to MOST; and the mass without Q."""
    width = math.ceil(TAILS * math.sqrt(coins) / 2)
    first = max(0, coins // 2 - width) + math.floor(min(u, v))
    length = min(coins, 2 * width) + math.ceil(abs(u - v)) + 4
    p, q = law(u, coins, first, length), law(v, coins, first, length)
    alone, both = p[(q == 0) & (p > 0)].sum(), (p > 0) & (q > 0)
    cells = np.floor(np.clip(np.log(p[both]) - np.log(q[both]), -MOST, MOST) / STEP).astype(np.int64)
    half = round(MOST / STEP)
    return np.bincount(np.maximum(cells + half, 0), p[both], 2 * half + 1), float(alone)


def delta_of_two(u, v, coins, epsilon):
    """P(S) - e^epsilon Q(S) for the best set S of results, of vectors u and v in cells of the grid, whose numbers have
    so many coins each; the worse of both directions."""
    return max(_one_way(u, v, coins, epsilon), _one_way(v, u, coins, epsilon))


def _one_way(u, v, coins, epsilon):
    total, certain, start = np.ones(1), 1.0, 0.0
    for one, other in zip(u, v, strict=True):
        if one == other:
            continue
        mass, alone = losses(float(one), float(other), coins)
        used = np.flatnonzero(mass > 1e-18)
        if used.size:
            total = fftconvolve(total, mass[used[0] : used[-1] + 1])
            start += used[0] * STEP - MOST
        certain *= 1 - alone
    at = start + STEP * np.arange(total.size)
    above = at > epsilon
    return 1 - certain + float((np.maximum(total[above], 0) * -np.expm1(epsilon - at[above])).sum()) * certain
