"""What sums the contributions of rows: public numbers alone, so that it may go to another machine."""

from typing import NamedTuple

import numpy as np

from tacit.data import Array, Exact
from tacit.mechanisms.continual import RowAdder


class Summer(NamedTuple):
    """At the estimate of one release: an adder, how many numbers a row adds to, and what they are rounded by
    (mechanisms.grid)."""

    adder: RowAdder
    size: int
    cell: float
    longest: float

    def __call__(self, rows: Array, rewards: Array) -> Exact:
        """The sum over checked rows, in whole cells; a row whose reward is NaN contributes nothing."""
        out = Exact(np.zeros(self.size, np.int64))
        self.adder.add(rows, rewards, self.cell, self.longest, out)
        return out
