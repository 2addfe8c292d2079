"""Inverse-gap weighting: the worse an arm looks, the less it is played."""

import numpy as np
from numpy.random import Generator

from tacit.checks import Array
from tacit.kernels.squarecb import gap_rows, gap_weights


def choose_many(rng: Generator, arms: Array, theta: Array, greed: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For each row of (n, K, d): an arm drawn with `propensities`."""
    out = np.empty(len(arms), np.int64)
    gap_rows(rng, arms, theta, greed, out)
    return out


def propensities(arms: Array, theta: Array, greed: float) -> Array:
    """1 / (K + greed sqrt(K) gap) for each of (K, d) arms, and the rest for the best."""
    out = np.empty(len(arms))
    gap_weights(arms, theta, greed, out)
    return out
