"""How long a dimension-free descent should be, and how well it then predicts: from public numbers only."""

import math
from typing import NamedTuple

import numpy as np


class Descent(NamedTuple):
    """length = (number of steps) times (their size); error: root mean square of <phi, theta - theta*>, bounded by bias,
    privacy noise and sampling, constants 1."""

    length: float
    error: float


def best_descent(count: int, *, radius: float, noise: float, variance: float, length_scale: float = 1.0) -> Descent:
    """The length that minimises radius^2 / (2 e length) + (length noise)^2 + variance length / count, times
    `length_scale`. The first term is the largest bias of gradient descent in the mean square (Lemma A.7 of
    arXiv:2502.13115); noise is the std of theta per unit of length."""
    lengths = np.geomspace(1.0, count, 400)
    cost = radius**2 / (2 * math.e * lengths) + (lengths * noise) ** 2 + variance * lengths / count
    best = length_scale * float(lengths[np.argmin(cost)])
    error = radius**2 / (2 * math.e * best) + (best * noise) ** 2 + variance * best / count
    return Descent(best, math.sqrt(error))
