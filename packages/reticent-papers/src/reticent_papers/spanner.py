"""Elimination by all earlier intervals, then uniform play on a spanner of what is left."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reticent.core.choices import Index
from reticent.data import Array, Booleans
from reticent_papers.kernels.spanner import span_rows, span_weights, spanner

FACTOR = 2.0  # any number above 1 will do: smaller ones take more swaps. No record of its choice


def pick(bandit: Any, features: Array) -> Index:
    """`_pick` of a bandit with a state, a policy and a factor: for each row of (n, K, d) drop the arms that a closed
    epoch's interval rules out; draw from a spanner of the rest."""
    out = np.empty(len(features), np.int64)
    span_rows(bandit.policy, features, bandit._state, bandit.factor, out)
    return out


def propensity(bandit: Any, features: Array, index: int) -> Callable[[], float]:
    """`_propensity` of the same."""
    weights = np.empty(len(features))
    span_weights(features, bandit._state, bandit.factor, weights)
    return lambda: float(weights[index])


def weights(arms: Array, alive: Booleans, factor: float) -> Array:
    """The probability of each arm: equal ones on a spanner of those alive."""
    out, chosen = np.zeros(len(arms)), np.empty(len(arms), np.int64)
    rank, _ = spanner(np.ascontiguousarray(arms, np.float64), alive, factor, chosen)
    out[chosen[:rank] if rank else alive] = 1 / rank if rank else 1 / alive.sum()
    return out
