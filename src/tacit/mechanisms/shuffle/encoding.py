"""What a device of the shuffle model does to a bounded vector before it leaves, with numpy and the standard library
alone: whole numbers of a grid, each hidden by its own coins. A report is for the shuffler; the sum of a batch is what
the guarantee is about (calibration)."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.data import Array, Coded, Exact, Sent
from tacit.privacy import entropy
from tacit.privacy.randomness import Randomness

FEWEST = 50  # coins of a batch in one coordinate: with fewer, no guarantee can be shown
TAILS = 40  # Laplace noise, of simulations, is cut at so many times its scale
PARTS = 256  # of a grid cell that the first eight random bits decide between

Whole = npt.NDArray[np.integer[Any]]


def reach(grid: float, norm: float, laplace: float = 0.0) -> int:
    """The largest number of a report before its coins, from the plan's grid and norm."""
    return math.ceil(grid * norm) + math.ceil(TAILS * laplace)


def coded(vector: Exact, noise: Randomness, *, grid: float, reach: int, trials: int, laplace: float = 0.0) -> Coded:
    """floor(grid v + U) + reach + Bin(trials, 1/2), coordinate by coordinate: in [0, 2 reach + trials]."""
    rounded = np.floor(vector * grid + noise.uniforms(vector.size)).astype(np.int64)
    out = np.clip(rounded, -reach, reach) + reach + noise.halves(trials, vector.size)
    if laplace > 0:  # differences of geometric numbers, in floating point: simulation only
        drawn = np.floor(-laplace * np.log(1 - noise.uniforms(2 * vector.size))).astype(np.int64)
        out = np.clip(out + drawn[::2] - drawn[1::2], 0, 2 * reach + trials)
    return Coded(out)


def coded_rows(scaled: Exact, *, reach: int, trials: int) -> Coded:
    """The same for many users at once, from their vectors in units of 1 / (grid PARTS): rounding compares the first
    eight bits of the fractional part with a random byte, and where they are equal the rest with 64 more bits."""
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
    out += np.frombuffer(entropy.octets(out.size), np.uint8).reshape(out.shape)
    equal = np.nonzero((out & (PARTS - 1)) == PARTS - 1)
    out >>= 8
    out[equal] += entropy.words(equal[0].size) * 2.0**-64 < scaled[equal] - parts[equal]
    return out


def _coins(trials: int, count: int) -> Whole:
    """Binomial(trials, 1/2), from no more random bytes than the next power of two."""
    if trials > 64:
        return entropy.halves(trials, count)
    width = next(w for w in (1, 2, 4, 8) if trials <= 8 * w)
    drawn = np.frombuffer(entropy.octets(width * count), f"<u{width}")
    ones: Whole = np.bitwise_count(drawn & drawn.dtype.type((1 << trials) - 1))
    return ones


# as bytes


def packed(head: bytes, counts: Coded, dtype: npt.DTypeLike) -> Sent:
    """A report behind what is public about it."""
    return Sent(head + counts.astype(dtype).tobytes())


def unpacked(data: bytes, dtype: npt.DTypeLike, size: int, start: int) -> Coded:
    """The numbers of a report, or of a sum of reports."""
    return Coded(np.frombuffer(data, dtype, size, start).astype(np.int64))


def nothing_coded(size: int) -> Coded:
    """Zeros: a sum of no reports."""
    return Coded(np.zeros(size, np.int64))
