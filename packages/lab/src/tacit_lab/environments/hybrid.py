"""A world where arms share coefficients, and each has some of its own."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from tacit import checks
from tacit.environments.base import World
from tacit.environments.disjoint import Disjoint
from tacit.environments.worlds_kernel import ball_point, direction
from tacit_lab.environments.worlds_kernel import fill_hybrid


@dataclass(frozen=True, kw_only=True)
class hybrid(Disjoint):
    """x = (s, z) / sqrt 2: s, features of the arm, uniform in the unit ball of `shared` dimensions, has coefficients
    that all arms share; z, features of the person as in `disjoint`, has a parameter for each arm. Where arms are apart
    they are rows (s, z, a).

    common: the share of |theta*|^2 that the shared coefficients have. still: an arm has the same s in all rounds."""

    dim: int = 35
    arms: int = 6
    shared: int = 5
    common: float = 0.5
    still: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive_int(shared=self.shared)
        checks.probability(common=self.common)
        if self.dim <= self.shared or (self.dim - self.shared) % self.arms or self.arms == 1:
            raise ValueError(
                f"Expected dim to be shared={self.shared} and a multiple of arms={self.arms}, two or more, beside it, "
                f"got {self.dim}."
            )

    @property
    def parts(self) -> int | None:
        return None

    def start(self, rng: Generator, horizon: int) -> World:
        theta, features = np.empty(self.dim), np.empty((self.arms, self.shared))
        for part, share in ((theta[: self.shared], self.common), (theta[self.shared :], 1 - self.common)):
            direction(rng, part)
            part *= self.radius * math.sqrt(share)
        for s in features:
            ball_point(rng, s)
        given = theta, features, self.still, bool(self.apart), self.code
        return World(lambda block: fill_hybrid(rng, block, *given), theta)
