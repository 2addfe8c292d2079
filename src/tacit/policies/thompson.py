"""Thompson draws in the directions that have been sampled too little: a fresh one for each user."""

import numpy as np
from numpy.random import Generator

from tacit.checks import Array
from tacit.kernels.glm import Posterior, thompson_rows


def choose_many(
    rng: Generator, arms: Array, posterior: Posterior, *, random: bool
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For each row of (n, K, d): argmax of <x, theta + draw>, or a uniformly random arm."""
    out = np.empty(len(arms), np.int64)
    thompson_rows(rng, arms, posterior, random, out)
    return out


def propensity(arms: Array, posterior: Posterior, index: int, *, random: bool, draws: int = 4096) -> float:
    """The probability of arm `index` of (K, d): exact where nothing is drawn, else by simulation (and never 0)."""
    if random:
        return 1 / len(arms)
    if not posterior.spread.any():
        return 1.0
    rng = np.random.default_rng()
    target = (
        posterior.theta + (rng.standard_normal((draws, len(posterior.spread))) * posterior.spread) @ posterior.axes.T
    )
    hits = int(np.count_nonzero(np.argmax(target @ arms.T, axis=1) == index))
    return (hits + 1) / (draws + 1)
