"""A probability with its error, and one that is computed when it is asked for: for bandits and for devices."""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple


class Chance(NamedTuple):
    """A probability, and its standard error: 0 where it is exact (up to rounding, about 1e-11)."""

    value: float
    error: float


class Later:
    """What computes a chance when it is first asked for, and then keeps it."""

    def __init__(self, compute: Callable[[], Chance]) -> None:
        self._compute = compute

    @functools.cached_property
    def _chance(self) -> Chance:
        return self._compute()

    def __call__(self) -> float:
        return self._chance.value

    @property
    def error(self) -> float:
        return self._chance.error


def by_draws(hits: int, draws: int) -> Chance:
    """Of what was chosen once, and came so often in fresh draws: the choice counts as one of them, so that it is never
    impossible."""
    value = (hits + 1) / (draws + 1)
    return Chance(value, math.sqrt(value * (1 - value) / draws))
