"""Sums of rows, and what stands where nothing has been released."""

from typing import NamedTuple, Protocol

import numpy as np

from tacit.data import Array, Exact, Integers, Raw, Released


def nothing_released(size: int | tuple[int, ...]) -> Released:
    """Zeros: what stands where nothing has been released."""
    return Released(np.zeros(size))


class RowSum(Protocol):
    def __call__(self, rows: Array, rewards: Array) -> Exact:
        """The sum over checked rows at one estimate; a row whose reward is NaN contributes nothing."""
        ...


class Whole(NamedTuple):
    """All of a step."""

    total: Raw[Exact]
    wrong: Integers  # by row: what is wrong with it, or 0


def no_rows(rows: Array, rewards: Array) -> Exact:
    """A RowSum that adds none: for whoever asks what is wrong with rows."""
    return Exact(np.zeros(0, np.int64))
