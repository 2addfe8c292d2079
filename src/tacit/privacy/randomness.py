"""Where a device's random numbers come from: the operating system; in simulation, a generator that may be seeded."""

from typing import Protocol

import numpy as np

from tacit.data import Array, Integers
from tacit.privacy import entropy


class Randomness(Protocol):
    """`private`: whether a privacy claim can rest on it."""

    private: bool

    def uniforms(self, count: int) -> Array:
        """Independent numbers, uniform on the multiples of 2^-53 in [0, 1)."""
        ...

    def halves(self, trials: int, count: int) -> Integers:
        """Binomial(trials, 1/2)."""
        ...

    def normals(self, count: int) -> Array:
        """Standard normal numbers, for policies only: no privacy rests on floating point."""
        ...


class System:
    """The operating system's cryptographic generator: exact integers, no seed, no state."""

    private = True

    def uniforms(self, count: int) -> Array:
        out: Array = (entropy.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return out

    def halves(self, trials: int, count: int) -> Integers:
        return entropy.halves(trials, count)

    def normals(self, count: int) -> Array:
        radii = np.sqrt(-2 * np.log1p(-self.uniforms(count)))
        return np.asarray(radii * np.cos(2 * np.pi * self.uniforms(count)))


class Seeded:
    """A NumPy generator, in an order that the simulation kernels repeat: never for people's data."""

    private = False

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator

    def uniforms(self, count: int) -> Array:
        return self.generator.random(count)

    def halves(self, trials: int, count: int) -> Integers:
        """The ones among `trials` bits, 53 of them from each uniform number."""
        whole, rest = divmod(trials, 53)
        words = (self.generator.random((count, whole + 1)) * 2.0**53).astype(np.uint64)
        words[:, whole] &= np.uint64((1 << rest) - 1)
        out: Integers = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
        return out

    def normals(self, count: int) -> Array:
        return self.generator.standard_normal(count)
