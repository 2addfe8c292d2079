"""When steps close and how fast they fade, where a bandit forgets for ever.

Without `forget` steps grow with the number of choices, and so does the time that a discount by the step takes to
forget. With `forget = n` rounds, steps stop growing at n SHARE choices (or at the shortest step that the noise allows,
if that is longer), and each fades by what makes a round n choices old count 1 / e. All of it is public: it depends on
settings and on the number of choices alone."""

import math
from collections.abc import Callable

from reticent import checks, durations
from reticent.kernels.rounds import Schedule, next_boundary

# Chosen among 6 settings by regret on tuning seeds (docs/change.md); neither touches privacy.
SHARE = 0.05  # of `forget`: the longest step
LEAST_GROWTH = (
    1.1  # of steps that still grow: else the discount, which is larger than without `forget`, wastes the start
)
FARTHEST = 10**12  # choices that a schedule is planned for where there is no horizon
FEWEST_STEPS = 8  # in `forget`: with fewer, most of the past would be in one step


def rounds(length: float | str, per_day: float | None, name: str) -> float:
    """A time as a number of rounds, where it may be "30 days" of so many choices a day, which are expected: a setting,
    since a real count would make the noise depend on it."""
    if isinstance(length, str):
        found = durations.days(length)
        if found is None or per_day is None:
            came = "a text of another form" if found is None else "a time without it"
            raise ValueError(f'Expected {name} to be a number of rounds, or as "30 days" with per_day, got {came}.')
        checks.positive(per_day=per_day)
        length = found * per_day
    checks.positive(**{name: length})
    return length


def schedule(first: int, growth: float, forget: float | None) -> Schedule:
    """Steps of at least `first` choices that grow by `growth`, or LEAST_GROWTH, up to a length in proportion to
    `forget`."""
    if forget is None:
        return Schedule(float(first), float(growth))
    return Schedule(float(first), max(LEAST_GROWTH, float(growth)), float(max(first, math.floor(SHARE * forget))))


def discount(steps: Schedule, forget: float | None, otherwise: float) -> float:
    """The factor by which earlier steps fade at each step: e^-1 in `forget` choices, once steps stop growing."""
    return otherwise if forget is None else math.exp(-steps.longest / forget)


def steps_before(horizon: int, schedule: Schedule) -> int:
    """How many steps the schedule closes before the horizon."""
    if horizon <= 1:
        return 0
    if schedule.growth == 1.0:
        return (horizon - 1) // int(schedule.first)
    count, before, boundary = 0, 0, next_boundary(0, *schedule)
    while boundary < horizon and boundary - before < schedule.longest:
        count, before, boundary = count + 1, boundary, next_boundary(boundary, *schedule)
    if boundary < horizon:  # from here on all steps are as long as this one
        count += 1 + (horizon - 1 - boundary) // (boundary - before)
    return count


def check(forget: float | None, shortest: Callable[[float], int]) -> None:
    """ValueError where the shortest step, which may depend on `forget`, is too long for it."""
    if forget is not None and not _fits(forget, shortest):
        raise ValueError(
            f"Expected forget of at least {_least(shortest)}, which is {FEWEST_STEPS} of the shortest steps that the "
            f"budget or `first` allows, got {forget:g}."
        )


def _fits(forget: float, shortest: Callable[[float], int]) -> bool:
    return forget >= FEWEST_STEPS and forget >= FEWEST_STEPS * shortest(forget)


def _least(shortest: Callable[[float], int]) -> int:
    """The least whole number that would do: steps get longer with `forget`, but more slowly than it does."""
    low, high = 0, FEWEST_STEPS
    while not _fits(high, shortest):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _fits(middle, shortest) else (middle, high)
    return high


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
