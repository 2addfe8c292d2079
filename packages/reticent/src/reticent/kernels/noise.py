"""Draws of privacy noise from a generator: simulation only, floats.

One kernel serves every mechanism, by the kind of its law:
    SILENT    out = 0
    GAUSSIAN  out ~ N(0, scale^2 I)
"""

from typing import NamedTuple

from numpy.random import Generator

from reticent.data import Array
from reticent.kernels.compile import inlined

SILENT, GAUSSIAN = 0, 1


class NoiseLaw(NamedTuple):
    """Of fresh, independent noise vectors."""

    kind: int
    scale: float


def gaussian_law(sigma: float) -> NoiseLaw:
    """Standard deviation sigma in each coordinate; no noise, and no draws, where it is 0."""
    return NoiseLaw(GAUSSIAN if sigma else SILENT, float(sigma))


@inlined
def draw(rng: Generator, law: NoiseLaw, out: Array) -> None:
    """One noise vector for one released node, in the coordinates of the statistic."""
    if law.kind == GAUSSIAN:
        for i in range(out.size):
            out[i] = law.scale * rng.standard_normal()
    else:
        out[:] = 0.0
