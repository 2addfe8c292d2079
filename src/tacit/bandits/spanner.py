"""Elimination by all earlier intervals, then uniform play on a spanner of what is left."""

import numpy as np
from numpy.random import Generator

from tacit.data import Array
from tacit.kernels.batched import Closed
from tacit.kernels.spanner import span_rows, span_weights, spanner

FACTOR = 2.0


def choose_many(
    rng: Generator, arms: Array, state: Closed, *, factor: float = FACTOR
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For each row of (n, K, d): drop the arms that a closed epoch's interval rules out; draw from a spanner of the
    rest."""
    out = np.empty(len(arms), np.int64)
    span_rows(rng, arms, state, factor, out)
    return out


def propensities(arms: Array, state: Closed, *, factor: float = FACTOR) -> Array:
    """The probability of each of (K, d) arms."""
    out = np.empty(len(arms))
    span_weights(arms, state, factor, out)
    return out


def barycentric(arms: Array, *, factor: float = FACTOR) -> tuple[list[int], float]:
    """An approximate barycentric spanner of (K, d) arms, and its certified factor: every arm is a combination of these
    with coefficients of at most that size.

    Reference: Awerbuch & Kleinberg 2008, Figure 2; Chen et al. 2025, arXiv:2502.13115, Definition 7."""
    if not factor > 1:
        raise ValueError(f"Expected factor above 1, got {factor!r}.")
    chosen = np.empty(len(arms), np.int64)
    rank, largest = spanner(np.ascontiguousarray(arms, np.float64), np.ones(len(arms), np.bool_), factor, chosen)
    return [int(i) for i in chosen[:rank]], float(largest)
