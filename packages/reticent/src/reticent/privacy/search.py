"""Where a condition on a number begins to hold. The standard library alone: devices use it too."""

import math
from collections.abc import Callable

Condition = Callable[[float], bool]


def doubled(holds: Condition, low: float, high: float, *, most: float = math.inf) -> tuple[float, float]:
    """(low, high) with `holds(high)`: both move up, high by doubling, until that is so; high is infinite if it would
    have to exceed `most`."""
    while not holds(high):
        low, high = high, 2 * high
        if high > most:
            return low, math.inf
    return low, high


def halved(holds: Condition, low: float, high: float, *, digits: float, least: float = 1e-300) -> tuple[float, float]:
    """The same interval, halved until it is no longer than `digits` times its upper end, or that end is down to
    `least`. `holds` is taken to be false at low and true at high, and to change once between them."""
    while high - low > digits * high and high > least:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high
