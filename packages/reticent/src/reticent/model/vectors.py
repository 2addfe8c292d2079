"""Bounded vectors, and symmetric matrices packed into vectors: what contributions are made of.

`svec` packs a symmetric matrix row by row, off-diagonals times sqrt 2, so that the Euclidean norm of the vector is the
Frobenius norm of the matrix: that is the norm that Gaussian noise is calibrated to. Plain functions, which devices call
and kernels compile (kernels.formulas)."""

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reticent import checks
from reticent.data import Array

ROOT2 = math.sqrt(2.0)
LARGE = 64  # dimensions from which on sums are taken in an order that is fast: below, in that of the formula
TINY = 1e-150  # vectors of a smaller norm contribute nothing: squares below 1e-308 lose digits, and x / |x| its length


def packed_size(dim: int) -> int:
    """Numbers in the svec of a symmetric (dim, dim) matrix."""
    return dim * (dim + 1) // 2


def pair_size(dim: int) -> int:
    """Numbers in the svec of such a matrix and a vector."""
    return packed_size(dim) + dim


def norm(x: Array) -> float:
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i]
    return math.sqrt(s)


def quadratic(x: Array, matrix: Array) -> float:
    """x' matrix x. From LARGE dimensions on each row is added up in four sums, which do not wait for each other."""
    s = 0.0
    if x.size < LARGE:
        for i in range(x.size):
            for j in range(x.size):
                s += x[i] * matrix[i, j] * x[j]
        return s
    fours = x.size // 4 * 4
    for i in range(x.size):
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for j in range(0, fours, 4):
            s0 += matrix[i, j] * x[j]
            s1 += matrix[i, j + 1] * x[j + 1]
            s2 += matrix[i, j + 2] * x[j + 2]
            s3 += matrix[i, j + 3] * x[j + 3]
        for j in range(fours, x.size):
            s0 += matrix[i, j] * x[j]
        s += x[i] * ((s0 + s1) + (s2 + s3))
    return s


def shortened(x: Array) -> Array:
    """x, cut to norm 1 if it is longer."""
    return x * (1.0 / max(1.0, norm(x)))


def add_outer(x: Array, weight: float, out: npt.NDArray[Any]) -> None:
    """out += svec(weight x x')."""
    k = 0
    for i in range(x.size):
        out[k] += weight * x[i] * x[i]
        k += 1
        for j in range(i + 1, x.size):
            out[k] += weight * ROOT2 * x[i] * x[j]
            k += 1


def add_pair(x: Array, weight: float, response: float, out: npt.NDArray[Any]) -> None:
    """out += (svec(weight x x'), response x)."""
    add_outer(x, weight, out)
    start = packed_size(x.size)
    for i in range(x.size):
        out[start + i] += response * x[i]


@dataclass(frozen=True, kw_only=True)
class PairContribution:
    """What contributions of a packed matrix and a vector have in common: rewards in [low, high], and the scale that
    balances the two parts.

    Blocks. Where x lies in one of `blocks` parts of its coordinates, with zeros elsewhere, v has zeros outside of the
    pair of that part, whoever the user is: what is summed is the pair of z, the numbers of x in that part, in that
    part's place among the pairs of all parts, blocks p (p + 3) / 2 numbers for p = dim / blocks. Numbers that are
    always 0 are left out, so distances are what they were, and the sensitivity is the same."""

    dim: int
    scale: float
    low: float
    high: float
    blocks: int = 1

    def __post_init__(self) -> None:
        checks.positive_int(dim=self.dim)
        checks.positive(scale=self.scale)
        checks.interval(rewards=(self.low, self.high))

    @property
    def size(self) -> int:
        return self.blocks * pair_size(self.dim // self.blocks)

    def part(self, block: int) -> slice:
        """Where a block's pair lies in the whole."""
        size = self.size // self.blocks
        return slice(block * size, (block + 1) * size)


# the same in numpy, for devices


def pair(x: Array, weight: float, response: float) -> Array:
    """(svec(weight x x'), response x)."""
    i, j, factors = _upper_half(x.size)
    return np.concatenate([weight * factors * x[i] * x[j], response * x])


@functools.lru_cache(maxsize=4)  # a few: billboards may ask for many sizes
def _upper_half(size: int) -> tuple[Any, Any, Array]:
    """Rows and columns of a symmetric matrix's upper half, and what its entries count: sqrt 2 off the diagonal."""
    i, j = np.triu_indices(size)
    return i, j, np.where(i == j, 1.0, ROOT2)
