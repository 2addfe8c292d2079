"""What a reward is: its range, how it follows from features, and when a choice counts with it."""

import math
from dataclasses import dataclass

import numpy as np

from reticent import checks, durations
from reticent.model.links import Link


@dataclass(frozen=True)
class Reward:
    """link: how a score becomes an expected reward: "logistic" (default), "probit", "identity" for amounts, or one of
    your own (`reticent.model.links.given`). radius: a bound on |theta*|: with "logistic" and 3, chances lie between 5
    and 95 %. Too large costs some regret, and never privacy. range: of rewards; the mean is low + (high - low) mu(z),
    and z for identity.

    base_rate: the share of the range that is usual, where it is small (0.01: one click in a hundred). Public, declared
    before anybody comes; wrong by a factor of 3 it costs little. The chance of a reward is then linear in the features:
    link and radius are refused.

    window: a choice counts once so many later ones have been made, or so much time has passed ("1 hour"), with the
    reward that came by then; one that comes later never counts. Without it, in memory, a reward counts when it comes.
    default: the reward of a choice that has none by then, for where only clicks are reported and silence means 0;
    without it, such a choice teaches nothing."""

    link: str | Link = "logistic"
    radius: float = 1.0
    range: tuple[float, float] = (0.0, 1.0)
    base_rate: float | None = None
    window: float | str | None = None
    default: float | None = None

    __repr__ = checks.concise

    def __post_init__(self) -> None:
        if not isinstance(self.link, str | Link):
            raise ValueError(f"Expected link to be a name or a Link, got {type(self.link).__name__}.")
        checks.size(radius=self.radius)
        checks.interval(range=self.range)
        object.__setattr__(self, "range", tuple(self.range))
        if self.base_rate is not None:
            checks.probability(base_rate=self.base_rate)
        if self.window is not None:
            checks.positive(window=durations.seconds(self.window, "window"))
        if self.default is not None:
            if reward_problem(self.default, *self.range):
                low, high = self.range
                raise ValueError(
                    f"Expected default to be a reward in [{low:g}, {high:g}], or none, got {self.default!r}."
                )
            object.__setattr__(self, "default", float(self.default))

    @property
    def unit(self) -> float:
        """Of rewards, where the link is the identity."""
        return max(abs(end) for end in self.range)


def reward_problem(reward: object, low: float, high: float) -> str | None:
    """What is wrong with it; never its value."""
    if not isinstance(reward, int | float | np.bool_ | np.integer | np.floating):
        return f"Expected a reward that is a number, got {type(reward).__name__}."
    try:
        inside = low <= float(reward) <= high and abs(float(reward)) < math.inf
    except OverflowError:
        inside = False
    return None if inside else f"Expected a finite reward in [{low:g}, {high:g}], got one outside."


def window_in_choices(reward: Reward, per_day: float | None) -> int | None:
    """For where there is no clock; ValueError for a time without a pace, or a part of a choice."""
    from reticent.algorithms.schedules import rounds

    if reward.window is None:
        if reward.default is not None:
            raise ValueError(
                "Expected window with default, the later choices after which a reward is missing, got none."
            )
        return None
    if isinstance(reward.window, str):
        return max(1, math.ceil(rounds(reward.window, per_day, "window")))
    if reward.window != int(reward.window):
        checks.positive_int(window=reward.window)
    return int(reward.window)
