"""What sums the contributions of rows: public numbers alone, so that it may go to another machine."""

from typing import NamedTuple, Protocol

import numpy as np

from tacit.data import Array, Integers, Raw
from tacit.kernels.summing import Linearised, Tally, sum_glm, sum_linear
from tacit.mechanisms.grid import Grid


class Summer(Protocol):
    def __call__(self, rows: Array, rewards: Array) -> Raw:
        """The sum over checked rows, in whole cells; a row whose reward is NaN contributes nothing."""
        ...


class Cells(NamedTuple):
    """How many numbers a row adds to, and of the grid (mechanisms.grid) what they are rounded by."""

    size: int
    cell: float
    longest: float

    @classmethod
    def of(cls, grid: Grid, size: int) -> "Cells":
        return cls(size, grid.cell, grid.longest)


class GLMSummer(NamedTuple):
    """At the estimate of one release. given: those of the algorithm's adder (kernels.summing)."""

    given: tuple[Linearised, Integers, Tally]
    cells: Cells

    def __call__(self, rows: Array, rewards: Array) -> Raw:
        size, cell, longest = self.cells
        out = Raw(np.zeros(size, np.int64))
        sum_glm(rows, rewards, *self.given, cell, longest, out)
        return out


class LinearSummer(NamedTuple):
    scale: float
    low: float
    high: float
    blocks: int
    cells: Cells

    def __call__(self, rows: Array, rewards: Array) -> Raw:
        size, cell, longest = self.cells
        out = np.zeros((self.blocks, size // self.blocks), np.int64)
        sum_linear(rows, rewards, self.scale, self.low, self.high, cell, longest, out)
        return Raw(out.reshape(-1))
