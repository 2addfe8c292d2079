"""What a device of the shuffle model does to a bounded vector before it leaves, with numpy and the standard library
alone: whole numbers of a grid, each hidden by its own coins. A report is for the shuffler; the sum of a batch is what
the guarantee is about (calibration)."""

import math

import numpy as np
import numpy.typing as npt

from reticent.data import Coded, Exact, Sent
from reticent.privacy.randomness import Randomness

FEWEST = 50  # coins of a batch in one coordinate: with fewer, no guarantee can be shown
TAILS = 40  # Laplace noise, of simulations, is cut at so many times its scale


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


def packed(head: bytes, counts: Coded, dtype: npt.DTypeLike) -> Sent:
    """A report behind what is public about it."""
    return Sent(head + counts.astype(dtype).tobytes())


def unpacked(data: bytes, dtype: npt.DTypeLike, size: int, start: int) -> Coded:
    """The numbers of a report, or of a sum of reports."""
    return Coded(np.frombuffer(data, dtype, size, start).astype(np.int64))


def nothing_coded(size: int) -> Coded:
    """Zeros: a sum of no reports."""
    return Coded(np.zeros(size, np.int64))
