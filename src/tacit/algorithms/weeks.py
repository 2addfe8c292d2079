"""Weeks of people's rounds: groups of whole steps, counted in choices.

A week ends with the step in which its `week`-th choice is planned, so each leaf of the mechanism belongs to one
week. Which step is in which week follows from the schedule alone, and not from how many choices really came until
the step closed (a batch may be longer than its step): a week then has at least as many leaves as the bound on a
person's columns assumes, whatever happens. A clock would do as well for one week's claim, but the number of leaves
in it would be that of people who came: the claim for a year would have to assume one leaf a week."""

import math

from tacit.kernels.rounds import Schedule, next_boundary


class Weeks:
    """Public. Which week a step is in."""

    def __init__(self, schedule: Schedule, week: float) -> None:
        self._schedule, self._length = schedule, week
        self._step = self._planned = self._week = self._start = 0

    def of(self, step: int) -> int:
        """Asked for one step after the other, this is a look at the next."""
        if step < self._step:
            self._step = self._planned = self._week = self._start = 0
        while self._step < step:
            self._step += 1
            self._planned = int(next_boundary(self._planned, *self._schedule))
            if self._planned - self._start >= self._length:
                self._week, self._start = self._week + 1, self._planned
        return self._week


def fewest_leaves(schedule: Schedule, week: float, horizon: int) -> int:
    """No week has fewer: its choices divided by those of the longest step before the horizon."""
    longest = max(schedule.first, math.floor((schedule.growth - 1) * horizon) + 1)
    return max(1, math.ceil(week / min(longest, schedule.longest)))


def most_weeks(week: float, horizon: int) -> int:
    """There are no more up to the horizon."""
    return 1 + math.floor((horizon - 1) / week)
