"""What a bandit believed at each of its releases: functions of released sums and of the public schedule."""

from typing import NamedTuple

import numpy as np

from tacit.core.estimator import Estimator
from tacit.data import Array
from tacit.model.arms import coordinates

LEVEL = 0.9  # of intervals, where a bandit's have a level of choice


class Past(NamedTuple):
    """A version: the number of choices that its last step closed at, when it became visible (0 before any release), and
    for each coordinate of theta* the estimate and an interval, both cut to the radius."""

    choices: int
    visible_at: float
    estimate: Array
    low: Array
    high: Array


class Offers(NamedTuple):
    """For each of some arms: the probability of being offered, and the mean reward with its interval; and their names,
    if they have any."""

    probability: Array
    mean: Array
    low: Array
    high: Array
    names: tuple[str, ...] = ()


def past(estimator: Estimator, before: Past | None, visible_at: float) -> Past:
    """As it is now, after that earlier version."""
    plan, algorithm = estimator.algorithm.plan, estimator.algorithm
    middle, half = algorithm.model.beliefs(estimator.estimate.arrays, coordinates(plan.dim, plan.blocks), LEVEL)
    most = plan.reward.radius
    estimate, low, high = (np.clip(end, -most, most) for end in (middle, middle - half, middle + half))
    return Past(estimator.entries, visible_at, estimate, low, high)
