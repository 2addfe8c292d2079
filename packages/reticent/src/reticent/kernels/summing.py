"""The contributions of many rows at one public estimate, summed: as they are, row after row, or each in whole cells of
the noise grid (mechanisms.grid). Whole numbers: any order and any split of the rows gives the same bits. The sums of a
model are beside it (models)."""

import numpy as np

from reticent.data import Array, Exact, Integers
from reticent.kernels.compile import inlined, kernel


@kernel
def add_rounded(v: Array, cell: float, out: Integers) -> None:
    """out += round(v / cell)."""
    for j in range(v.size):
        out[j] += np.int64(np.rint(v[j] / cell))


@kernel
def join_row(own: Exact, weight: float, places: Integers, cell: float, longest: float, out: Exact) -> None:
    """out[places] += weight own, in whole cells, or as it is where cell = 0; `own` is 0 afterwards. In cells
    `own` is left out whole if it is longer than any user's, or no number, whatever its weight."""
    s = 0.0
    for j in range(own.size):
        s += own[j] * own[j]
        own[j] *= weight
    inside = s <= longest * longest
    for j in range(own.size):
        if cell == 0.0:
            out[places[j]] += own[j]
        elif inside:
            out[places[j]] += np.int64(np.rint(own[j] / cell))
        own[j] = 0.0


@inlined
def block_of_row(row: Array, width: int, blocks: int) -> int:
    """The number of its block, after so many features."""
    return int(row[width]) if blocks > 1 else 0
