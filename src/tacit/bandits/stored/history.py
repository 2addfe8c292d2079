"""What a bandit believed at each of its releases: functions of released sums and of the public schedule."""

from typing import NamedTuple

import numpy as np

from tacit.algorithms.earnings import Earned
from tacit.bandits.joint.continual import SummedBandit
from tacit.data import Array
from tacit.kernels.rounds import next_boundary
from tacit.model.arms import coordinates

LEVEL = 0.9  # of intervals, where a bandit's have a level of choice


class Past(NamedTuple):
    """A version: the number of choices that its last step closed at, when it became visible (0 before any release), and
    for each coordinate of theta* the estimate and an interval, both cut to the radius. earned: as the bandit has it."""

    choices: int
    visible_at: float
    estimate: Array
    low: Array
    high: Array
    earned: Earned | None


class Offers(NamedTuple):
    """For each of some arms: the probability of being offered, and the mean reward with its interval; and their names,
    if they have any."""

    probability: Array
    mean: Array
    low: Array
    high: Array
    names: tuple[str, ...] = ()


def past(bandit: SummedBandit, before: Past | None, visible_at: float) -> Past:
    """The bandit as it is now, after that earlier version."""
    choices = 0 if before is None else int(next_boundary(before.choices, *bandit._schedule))
    middle, half = bandit._beliefs(coordinates(bandit.dim, bandit._blocks, bandit._shared), LEVEL)
    most = bandit.radius
    estimate, low, high = (np.clip(end, -most, most) for end in (middle, middle - half, middle + half))
    return Past(choices, visible_at, estimate, low, high, bandit.earned)
