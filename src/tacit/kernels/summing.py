"""The contributions of many rows at one public estimate, each in whole cells of the noise grid (as mechanisms.grid's
`encode`), summed. Whole numbers: any order and any split of the rows gives the same bits."""

import numpy as np

from tacit.data import Array, Integers, Raw
from tacit.kernels.compile import inlined, kernel
from tacit.kernels.formulas import add_glm, add_linear
from tacit.model.links import Code


@inlined
def add_cells(v: Raw, cell: float, longest: float, out: Integers) -> None:
    """out += round(v / cell), or nothing if v is longer than any user's, or no number; v is 0 afterwards."""
    s = 0.0
    for j in range(v.size):
        s += v[j] * v[j]
    inside = s <= longest * longest
    for j in range(v.size):
        if inside:
            out[j] += np.int64(np.rint(v[j] / cell))
        v[j] = 0.0


@kernel
def add_rounded(v: Array, cell: float, out: Integers) -> None:
    """out += round(v / cell)."""
    for j in range(v.size):
        out[j] += np.int64(np.rint(v[j] / cell))


@kernel
def sum_glm(
    rows: Array,
    rewards: Array,
    theta: Array,
    inverse: Array,
    link: Code,
    blend: float,
    scale: float,
    low: float,
    high: float,
    cell: float,
    longest: float,
    out: Integers,
) -> None:
    """out[a] += the contributions of the rows in block a: (z, a) each where there are several blocks, out (blocks,
    size). A row whose reward is NaN contributes nothing."""
    blocks, p = theta.shape
    v = Raw(np.zeros(out.shape[1]))
    for i in range(rewards.size):
        if np.isnan(rewards[i]):
            continue
        a = int(rows[i, p]) if blocks > 1 else 0
        add_glm(rows[i, :p], rewards[i], theta[a], inverse[a], link, blend, scale, low, high, v)
        add_cells(v, cell, longest, out[a])


@kernel
def sum_linear(
    rows: Array, rewards: Array, scale: float, low: float, high: float, cell: float, longest: float, out: Integers
) -> None:
    """The same for linear models."""
    blocks = out.shape[0]
    p = rows.shape[1] - (1 if blocks > 1 else 0)
    v = Raw(np.zeros(out.shape[1]))
    for i in range(rewards.size):
        if not np.isnan(rewards[i]):
            a = int(rows[i, p]) if blocks > 1 else 0
            add_linear(rows[i, :p], rewards[i], scale, low, high, v)
            add_cells(v, cell, longest, out[a])
