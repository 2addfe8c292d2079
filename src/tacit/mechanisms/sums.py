"""Sums of rows, and what stands where nothing has been released."""

from typing import NamedTuple, Protocol

import numpy as np

from tacit.data import Array, Exact, Integers, Raw, Released
from tacit.mechanisms.continual import RowAdder


def nothing_released(size: int | tuple[int, ...]) -> Released:
    """Zeros: what stands where nothing has been released."""
    return Released(np.zeros(size))


class RowSum(Protocol):
    def __call__(self, rows: Array, rewards: Array) -> Exact:
        """The sum over checked rows at one estimate; a row whose reward is NaN contributes nothing."""
        ...


class Summer(NamedTuple):
    """At the estimate of one release: an adder, how many numbers a row adds to, and what they are rounded by
    (mechanisms.grid). Public numbers alone, so that it may go to another machine."""

    adder: RowAdder
    size: int
    cell: float
    longest: float

    def __call__(self, rows: Array, rewards: Array) -> Exact:
        """In whole cells."""
        out = Exact(np.zeros(self.size, np.int64))
        self.adder.add(rows, rewards, self.cell, self.longest, out)
        return out


class Whole(NamedTuple):
    """All of a step."""

    total: Raw[Exact]
    wrong: Integers  # by row: what is wrong with it, or 0


def no_rows(rows: Array, rewards: Array) -> Exact:
    """A RowSum that adds none: for whoever asks what is wrong with rows."""
    return Exact(np.zeros(0, np.int64))
