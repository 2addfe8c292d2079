"""Bandits whose batches rule arms out: their state, and a choice by an optimal design over the arms that are left."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reticent.core.choices import Index
from reticent.data import Array, Exact
from reticent_papers.kernels.batched import BatchState, batch_rows, batch_weights


def empty(dim: int, horizon: int, ends: Index) -> BatchState:
    """Before the first choice: room for the data of a horizon, and for an estimate from each batch."""
    rows, values = Exact(np.zeros((horizon, dim))), Exact(np.zeros(horizon))
    estimates = np.zeros((len(ends), dim)), np.zeros((len(ends), dim, dim))
    return BatchState(np.array([0, ends[0], 0, 0]), rows, values, *estimates)


def pick(bandit: Any, features: Array) -> Index:
    """`_pick` of a bandit with a state, a policy, a link and widths."""
    out = np.empty(len(features), np.int64)
    batch_rows(bandit.policy, features, bandit._state, bandit._link.code, bandit._widths, out)
    return out


def propensity(bandit: Any, features: Array, index: int) -> Callable[[], float]:
    """`_propensity` of the same."""
    weights = np.empty(len(features))
    batch_weights(features, bandit._state, bandit._link.code, bandit._widths, weights)
    return lambda: float(weights[index])
