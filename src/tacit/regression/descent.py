"""How far a dimension-free descent should travel, and how well it then predicts: from public numbers only."""

import math
from typing import NamedTuple

import numpy as np


class Journey(NamedTuple):
    """length = (number of steps) times (their size); error: root mean square of <phi, theta - theta*>, bounded by bias,
    privacy noise and sampling, constants 1."""

    length: float
    error: float


def journey(count: int, *, radius: float, noise: float, variance: float, travel: float = 1.0) -> Journey:
    """The length that minimises radius^2 / (2 e length) + (length noise)^2 + variance length / count, times `travel`.
    The first is the largest bias of gradient descent in the mean square (Lemma A.7 of arXiv:2502.13115), noise the std
    of theta per unit of length."""
    lengths = np.geomspace(1.0, count, 400)
    cost = radius**2 / (2 * math.e * lengths) + (lengths * noise) ** 2 + variance * lengths / count
    best = travel * float(lengths[np.argmin(cost)])
    error = radius**2 / (2 * math.e * best) + (best * noise) ** 2 + variance * best / count
    return Journey(best, math.sqrt(error))
