"""Where a condition that is false below and true above a number begins to be true."""

import math
from collections.abc import Callable


def bisect(
    reached: Callable[[float], bool], low: float, high: float, *, tolerance: float = 1e-12, halvings: int = 2000
) -> tuple[float, float]:
    """(below, above): `reached` is false at the first, true at the second, if it is so at `low` and `high`, and they
    are within `tolerance` of each other, relative to the second, or as near as so many halvings bring them. A caller
    who may not go too far takes the one that errs on the safe side."""
    for _ in range(halvings):
        if high - low <= tolerance * high:
            break
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return low, high


def crossing(
    reached: Callable[[float], bool], *, start: float = 1.0, most: float = math.inf, tolerance: float = 1e-12
) -> tuple[float, float]:
    """The same between 0, where it is false, and wherever doubling `start` finds it true; (most, inf) if it is still
    false beyond `most`."""
    low, high = 0.0, start
    while not reached(high):
        low, high = high, 2 * high
        if high > most:
            return most, math.inf
    return bisect(reached, low, high, tolerance=tolerance)
