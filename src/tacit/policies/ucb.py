"""Optimism: the arm with the largest upper confidence bound."""

import numpy as np

from tacit.checks import Array
from tacit.estimators.ridge import Confidence
from tacit.kernels.linear import Estimate, optimistic_rows, radius


def choose_many(arms: Array, estimate: Estimate, confidence: Confidence) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For each row of (n, K, d): argmax of <theta, x> + width |x|_{V^-1} + drift |V^-1 x|; the first one of equals."""
    out = np.empty(len(arms), np.int64)
    optimistic_rows(arms, estimate, radius(confidence.numbers, estimate.logdet[0]), confidence.drift, out)
    return out
