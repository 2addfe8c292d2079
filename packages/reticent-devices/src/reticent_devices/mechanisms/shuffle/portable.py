"""e^-q, ln x and the normal law by sums, products, quotients and roots alone, which every machine rounds alike. Devices
work out by them what a plan costs; js/src/numbers.js has the same steps in the same order, so that both find the same
number to the last bit."""

import math

import numpy as np

from reticent.data import Array

LN2 = math.log(2)
HIGH, LOW = 0.6931471803691238, 1.9082149292705877e-10  # ln 2 to 33 bits, so that k * HIGH is exact, and the rest
DIGITS = 1e-12  # relative error of `tail` and of what follows from it, with room to spare


def decay(q: Array) -> Array:
    """e^-q for q >= 0, within 4 units in the last place (proof: numbers.js); 0 beyond 745."""
    q = np.minimum(q, 745.0)
    k = np.floor(q / LN2)
    k += q / LN2 - k >= 0.5
    r = k * HIGH - q + k * LOW
    p = np.ones_like(r)
    for n in range(14, 0, -1):
        p = 1 + (r * p) / n
    return np.where(q < 745.0, np.ldexp(p, -k.astype(np.int64)), 0.0)


def tail(t: Array) -> Array:
    """P(N >= t) of a standard normal number: a series of positive terms, or Laplace's continued fraction."""
    size = np.abs(t)
    square = size * size
    density = decay(square / 2) / math.sqrt(2 * math.pi)
    out = np.empty_like(size)
    near = size < 2.5
    out[near] = 0.5 - density[near] * _series(size[near], square[near])
    far = size[~near]
    below = far.copy()
    for n in range(80, 0, -1):
        np.divide(n, below, out=below)
        below += far
    out[~near] = density[~near] / below
    return np.where(t < 0, 1 - out, out)


def _series(t: Array, square: Array) -> Array:
    """t + t^3 / 3 + t^5 / 15 + ..., until terms no longer count: more of them would change nothing."""
    total, term, n = t.copy(), t.copy(), 3
    while (term > total * 1e-18).any():
        term *= square / n
        total += term
        n += 2
    return total


def log(x: float) -> float:
    """ln x for a positive number that is not subnormal: 2 artanh((x - 1) / (x + 1)) of x brought near 1."""
    k = 0
    while x > 1.5:
        x, k = x / 2, k + 1
    while x < 0.75:
        x, k = x * 2, k - 1
    z = (x - 1) / (x + 1)
    p = 0.0
    for n in range(25, 0, -2):
        p = 1 / n + z * z * p
    return k * LN2 + 2 * z * p


def gaussian_delta(epsilons: Array, mu: Array) -> Array:
    """delta_Gauss(epsilon; mu), elementwise, for positive mu; rounded up."""
    first, second = tail(np.stack([epsilons / mu - mu / 2, epsilons / mu + mu / 2]))
    second = second / decay(epsilons)
    out: Array = first - second + DIGITS * (first + second)
    return out
