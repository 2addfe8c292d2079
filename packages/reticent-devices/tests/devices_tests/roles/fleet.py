"""Many devices at once, for load tests."""

from typing import Any

import numpy as np
import numpy.typing as npt

from reticent.data import Array, Coded, Exact
from reticent.privacy import randomness
from reticent_devices.mechanisms.shuffle.encoding import nothing_coded
from reticent_devices.roles import billboard as boards
from reticent_devices.roles import limits, wire

PARTS = 256  # of a grid cell that the first eight random bits decide between
ROWS = 4096  # reports made at a time: their numbers stay in the processor's cache
Whole = npt.NDArray[np.integer[Any]]


class Fleet:
    """The reports of many users of one batch, each with its own rounding and coins from the operating system.

    The law of a report is Client's."""

    def __init__(self, billboard: bytes) -> None:
        self.parameters, document = boards.shuffle(billboard)
        limits.cost(document, None)
        self._grid, self._norm = document["plan"]["grid"], document["plan"]["norm"]

    def reports(self, vectors: Array) -> bytes:
        """From (n, m) contributions, one after another; those longer than the plan's norm are cut to it, and those that
        are not finite numbers are sent as noise alone: one user's bad row does not keep back the others' reports."""
        of = self.parameters
        vectors = np.asarray(vectors, np.float64)  # squares of integers could wrap around
        if vectors.ndim != 2 or vectors.shape[1] != of.size:
            raise ValueError(f"Expected contributions of shape (n, {of.size}), got others.")
        good = (np.abs(vectors) < 1e100).all(axis=1, keepdims=True)
        if not good.all():
            vectors = np.where(good, vectors, 0.0)
        squares, out = np.einsum("ij,ij->i", vectors, vectors), np.empty(len(vectors), of.record)
        out[:] = np.frombuffer(wire.encode_report(of, bytes(8), nothing_coded(of.size)), of.record)
        out["id"] = randomness.words(len(vectors))
        factors = self._grid * PARTS * np.minimum(1.0, self._norm / np.sqrt(np.maximum(squares, self._norm**2)))
        for start in range(0, len(vectors), ROWS):
            piece = slice(start, start + ROWS)
            scaled = Exact(vectors[piece] * factors[piece, None])
            out["counts"][piece] = coded_rows(scaled, reach=of.reach, trials=of.trials)
        return out.tobytes()


def coded_rows(scaled: Exact, *, reach: int, trials: int) -> Coded:
    """encoding.coded for many users at once, from their vectors in units of 1 / (grid PARTS): rounding compares the
    first eight bits of the fractional part with a random byte, and where they are equal the rest with 64 more bits."""
    kind = np.int32 if reach * PARTS < 2**30 else np.int64
    rounded = _rounded(scaled, kind)
    np.clip(rounded, -reach, reach, out=rounded)
    rounded += reach
    rounded += _coins(trials, rounded.size).reshape(rounded.shape)
    return Coded(np.asarray(rounded, kind))


def _rounded(scaled: Array, kind: Any) -> Whole:
    """floor(scaled / PARTS + U), U uniform on the multiples of 2^-53 / PARTS: with scaled = k PARTS + f + rest, up if a
    random byte is above PARTS - 1 - f, and if it is equal, with probability `rest`."""
    parts = np.floor(scaled)
    out: Whole = parts.astype(kind)
    out += np.frombuffer(randomness.octets(out.size), np.uint8).reshape(out.shape)
    equal = np.nonzero((out & (PARTS - 1)) == PARTS - 1)
    out >>= 8
    out[equal] += randomness.words(equal[0].size) * 2.0**-64 < scaled[equal] - parts[equal]
    return out


def _coins(trials: int, count: int) -> Whole:
    """Binomial(trials, 1/2), from no more random bytes than the next power of two."""
    if trials > 64:
        return randomness.halves(trials, count)
    width = next(w for w in (1, 2, 4, 8) if trials <= 8 * w)
    drawn = np.frombuffer(randomness.octets(width * count), f"<u{width}")
    ones: Whole = np.bitwise_count(drawn & drawn.dtype.type((1 << trials) - 1))
    return ones
