"""A sum with its noise, within a compiled loop."""

import math

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Exact, Released
from reticent.kernels.compile import inlined, kernel


@kernel
def with_noise(total: Exact, noise: Array, cell: float) -> Released:
    """total + noise, noise drawn by the caller; with cell > 0 both are whole numbers, of cells."""
    if cell > 0.0:
        return Released((total + noise) * cell)
    return Released(total + noise)


@inlined
def coins(rng: Generator, trials: float, chance: float) -> float:
    """Bin(trials, chance) - trials chance; a normal number of the same variance beyond 2^50 trials."""
    if trials < 1.0:
        return 0.0
    if trials < 1125899906842624.0:
        return float(rng.binomial(int(trials), chance)) - trials * chance
    return math.sqrt(trials * chance * (1.0 - chance)) * rng.standard_normal()


@kernel
def with_coins(rng: Generator, total: Exact, scale: float, trials: float, chance: float) -> Released:
    """(total + centred coins of all users) / scale: the law of a shuffled sum, from the sum of vectors that were
    rounded to whole numbers of 1 / scale."""
    out = np.empty(total.size)
    for i in range(total.size):
        out[i] = (total[i] + coins(rng, trials, chance)) / scale
    return Released(out)
