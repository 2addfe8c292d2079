"""Where noise comes from. One interface; simulation is the first source.

A source fills rows with fresh noise of a law (kind, scale, degrees of freedom). `private` says whether what it draws
can carry a privacy claim; `description` goes into the certificate. A cryptographic source on a grid has its place
here: a class with the same three names."""

from typing import Protocol

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from tacit.checks import Array
from tacit.kernels.continual import draw_rows


class Source(Protocol):
    """What a bandit asks of a source of noise."""

    private: bool
    description: str

    def rows(self, count: int, size: int, law: Array) -> Array:
        """`count` fresh noise vectors of length `size`."""
        ...


class Simulated:
    """Fast floating-point noise from a seedable generator: for experiments, never for people's data."""

    private = False
    description = "simulated (NumPy PCG64, floating point): for experiments, not for people's data"

    def __init__(self, seed: int | SeedSequence | None = None) -> None:
        self.generator: Generator = default_rng(seed)

    def rows(self, count: int, size: int, law: Array) -> Array:
        out = np.empty((count, size))
        draw_rows(self.generator, law, out)
        return out

    def __repr__(self) -> str:
        return "Simulated()"
