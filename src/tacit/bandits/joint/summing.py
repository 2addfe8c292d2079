"""What sums the contributions of rows: public numbers alone, so that it may go to another machine."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tacit.data import Array, Exact
from tacit.mechanisms.grid import Grid
from tacit.protocols import Adder


class Summer(NamedTuple):
    """At the estimate of one release: the grid's version of an adder, its numbers, how many numbers a row adds to, and
    what they are rounded by (mechanisms.grid)."""

    add: Callable[..., None]
    given: tuple[Any, ...]
    size: int
    cell: float
    longest: float

    @classmethod
    def of(cls, adder: Adder, grid: Grid, size: int) -> "Summer":
        """A row of a log counts for learning alone, so that nothing is added for an experiment."""
        *numbers, tally = adder.given
        return cls(adder.cells, (*numbers, tally._replace(size=0)), size, grid.cell, grid.longest)

    def __call__(self, rows: Array, rewards: Array) -> Exact:
        """The sum over checked rows, in whole cells; a row whose reward is NaN contributes nothing."""
        out = Exact(np.zeros(self.size, np.int64))
        self.add(rows, rewards, *self.given, self.cell, self.longest, out)
        return out
