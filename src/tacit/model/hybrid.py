"""Vectors with a part that all actions share and a part for each action: x = (s, 0, ..., z, ..., 0), z in block a.

Most of x x' is zeros for everybody: what is kept is s s', and for each block s z' and z z', beside s and z themselves.
In that order, with p_s = shared and p numbers a block:
    svec(s s'), s, and for each block:  sqrt 2 s z' row by row, svec(z z'), z
which is p_s (p_s + 3) / 2 + blocks (p_s p + p (p + 3) / 2) numbers instead of d (d + 3) / 2, d = p_s + blocks p."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.data import Array, Integers
from tacit.model.vectors import packed_size, pair_size


class Layout(NamedTuple):
    """shared: the first coordinates, of all actions; then `blocks` times `own`, of one action each."""

    shared: int
    blocks: int
    own: int

    @property
    def dim(self) -> int:
        return self.shared + self.blocks * self.own

    @property
    def each(self) -> int:
        """Numbers that are kept for a block."""
        return self.shared * self.own + pair_size(self.own)

    @property
    def size(self) -> int:
        return pair_size(self.shared) + self.blocks * self.each

    def coordinates(self, blocks: npt.ArrayLike) -> Integers:
        """Those of the shared part and of these blocks."""
        starts = self.shared + self.own * np.atleast_1d(np.asarray(blocks, np.int64))
        own: Integers = (starts[:, None] + np.arange(self.own)).ravel()
        return np.concatenate([np.arange(self.shared), own])

    def places(self, coordinates: Integers) -> Integers:
        """Where the numbers of (svec(x x'), x), x with these coordinates in increasing order, are kept: -1 for those
        between two blocks, which are not."""
        i, j = np.triu_indices(len(coordinates))
        one, other = coordinates[i], coordinates[j]
        (a, within), (b, place) = self._split(one), self._split(other)
        out = np.full(len(i), -1)
        base = pair_size(self.shared) + b * self.each
        both, cross, same = b < 0, (a < 0) & (b >= 0), (a >= 0) & (a == b)
        out[both] = _packed(one, other, self.shared)[both]
        out[cross] = (base + one * self.own + place)[cross]
        out[same] = (base + self.shared * self.own + _packed(within, place, self.own))[same]
        block, place = self._split(coordinates)
        moment = pair_size(self.shared) + block * self.each + self.shared * self.own + packed_size(self.own) + place
        return np.concatenate([out, np.where(block < 0, packed_size(self.shared) + coordinates, moment)])

    def whole(self, rows: Array) -> Array:
        """Rows (s, z, a) as vectors, with their zeros."""
        out = np.zeros((*rows.shape[:-1], self.dim))
        out[..., : self.shared] = rows[..., : self.shared]
        starts = self.shared + self.own * rows[..., -1:].astype(np.int64)
        np.put_along_axis(out, starts + np.arange(self.own), rows[..., self.shared : -1], axis=-1)
        return out

    def _split(self, coordinates: Any) -> tuple[Any, Any]:
        """The block of a coordinate, -1 for the shared part, and its place there."""
        block = (coordinates - self.shared) // self.own
        return np.where(coordinates < self.shared, -1, block), (coordinates - self.shared) % self.own


def _packed(i: Any, j: Any, dim: int) -> Any:
    """Where entry (i, j), i <= j, is in the svec of a (dim, dim) matrix."""
    return i * dim - i * (i - 1) // 2 + j - i
