"""How likely a Thompson draw makes an arm the best one: exact where the draw moves arms in at most two directions.

Arm a has the value m_a + <b_a, z> with z standard normal in r dimensions, and the largest value is chosen, the first
one of equals. Only differences between arms matter, so r is at most K - 1, and at most the number of directions in
which there is a draw:

    r = 0   nothing is drawn that matters
    r = 1   arm a is best on an interval of z
    r = 2   arm a is best on a convex polygon, whose Gaussian measure is a sum over its edges (Owen's T function)
    r > 2   along the direction in which arms differ most by the interval, the others by quasi-Monte Carlo: SHIFTS
            shifted copies of a lattice, the same each time, whose differences tell the error (at most some 0.002)

Nothing here takes from a source of noise or from the policy's generator."""

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.random import default_rng

from reticent import special
from reticent.data import Array
from reticent.kernels.lines import ahead_between
from reticent.model.chances import Chance

POINTS, GENERATOR = 1021, 76  # of a Korobov lattice
SHIFTS = 8
TIE = 1e-12  # values are told apart by so much, relative to their size, in the order of the arms


class Values(NamedTuple):
    """mean (K,) and slopes (K, r) of the arms' values, in few directions, the most important one first."""

    mean: Array
    slopes: Array


def values(arms: Array, theta: Array, root: Array) -> Values:
    """The values of (K, d) arms under theta + root z."""
    return of_moves(arms @ theta, arms @ root)


def of_moves(mean: Array, moves: Array) -> Values:
    """The same from <x, theta> (K,) and how x moves along each number of z (K, r)."""
    _, sizes, axes = np.linalg.svd(moves - moves[0], full_matrices=False)
    slopes = (moves - moves[0]) @ axes[sizes > TIE * sizes.max(initial=0.0)].T
    size = float(np.abs(mean - mean[0]).max() + np.abs(slopes).max(initial=0.0))
    return Values(mean - mean[0] - TIE * size * np.arange(len(mean)), slopes)


def chance(of: Values, index: int) -> Chance:
    """The probability that arm `index` is the best."""
    ahead, faster = of.mean[index] - of.mean, of.slopes[index] - of.slopes  # the differences to each arm
    ahead, faster = np.delete(ahead, index), np.delete(faster, index, axis=0)
    directions = faster.shape[1]
    if directions == 0:
        return Chance(float(np.all(ahead > 0)), 0.0)
    if directions == 1:
        return Chance(float(_on_lines(ahead[None], faster[:, 0])[0]), 0.0)
    if directions == 2:
        return Chance(_on_plane(ahead, faster), 0.0)
    means = [_on_lines(ahead + points @ faster[:, 1:].T, faster[:, 0]).mean() for points in _points(directions - 1)]
    return Chance(float(np.mean(means)), float(np.std(means, ddof=1) / math.sqrt(SHIFTS)))


def of_chosen(of: Values, index: int) -> Chance:
    """The same for an arm that was chosen, which is never impossible."""
    value, error = chance(of, index)
    directions = of.slopes.shape[1]
    if directions == 0:
        return Chance(1.0, 0.0)
    least = TIE if directions <= 2 else 1 / (SHIFTS * POINTS)
    return Chance(value, error) if value >= least else Chance(least, error + least * (directions > 2))


def mixed(bandits: Chance, index: int, parts: tuple[float, Array]) -> Chance:
    """Of arm `index`, where the bandit's choice is played with a probability, and in addition each arm with one."""
    share, others = parts
    return Chance(share * bandits.value + float(others[index]), share * bandits.error)


def of_each(of: Values) -> Array:
    """The probability of each arm."""
    return np.array([chance(of, index).value for index in range(len(of.mean))])


def _on_lines(ahead: Array, faster: Array) -> Array:
    """For each row of (n, K - 1): P(ahead + faster z > 0 in all columns), z one normal number."""
    low, high = np.empty(len(ahead)), np.empty(len(ahead))
    ahead_between(ahead, np.ascontiguousarray(faster), low, high)
    never = low >= high
    flip = low > 0  # the upper tail by the lower one, which keeps its digits
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    return np.where(never, 0.0, special.ndtr(high) - special.ndtr(low))


def _on_plane(ahead: Array, faster: Array) -> float:
    """P(ahead_k + <faster_k, z> > 0 for all k), z two normal numbers.

    A ray from the origin leaves or enters the polygon where it crosses an edge, and the measure beyond an edge at
    distance h, seen from the origin, between the positions s and t on its line is T(h, t / h) - T(h, s / h)."""
    total = float(np.all(ahead > 0))
    lengths = np.hypot(*faster.T)
    if (ahead[lengths == 0] < 0).any():
        return 0.0
    for k in np.flatnonzero(lengths > 0):
        normal = faster[k] / lengths[k]
        distance = ahead[k] / lengths[k]
        along = np.array([-normal[1], normal[0]])
        start, slope = np.delete(ahead - distance * (faster @ normal), k), np.delete(faster @ along, k)
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = -start / slope
        low = float(np.where(slope > 0, ends, -np.inf).max(initial=-np.inf))
        high = float(np.where(slope < 0, ends, np.inf).min(initial=np.inf))
        if low < high and not ((slope == 0) & (start < 0)).any():
            h = abs(distance)
            beyond = special.owens_t(h, high / h) - special.owens_t(h, low / h)
            total -= math.copysign(float(beyond), distance)
    return min(max(total, 0.0), 1.0)


@functools.lru_cache(maxsize=8)
def _points(dim: int) -> Array:
    """(SHIFTS, POINTS, dim) normal numbers that fill the space evenly: a lattice, each copy moved by a shift of its own
    and folded (1 - |2 u - 1|)."""
    steps = [pow(GENERATOR, k, POINTS) for k in range(dim)]
    lattice = np.outer(np.arange(POINTS), steps) / POINTS
    shifted = (lattice + default_rng(0).random((SHIFTS, 1, dim))) % 1.0
    out: Array = special.ndtri(np.clip(1 - np.abs(2 * shifted - 1), 1e-16, 1 - 1e-16))
    return out
