"""Many features of which few matter."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from reticent import checks
from reticent.environments.base import Environment, World
from reticent.environments.worlds_kernel import fill_sphere


@dataclass(frozen=True, kw_only=True)
class sparse(Environment):
    """Arms as in `sphere`, drawn anew each round; theta* has `nonzero` entries of equal size and random sign, at random
    places, and is 0 elsewhere (the setting of Chakraborty, Roy & Basu 2024)."""

    dim: int = 100
    arms: int = 10
    nonzero: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive_int(nonzero=self.nonzero)
        if self.nonzero > self.dim:
            raise ValueError(f"Expected at most {self.dim} entries that are not 0, got {self.nonzero}.")

    def start(self, rng: Generator, horizon: int) -> World:
        theta = np.zeros(self.dim)
        places = rng.permutation(self.dim)[: self.nonzero]
        theta[places] = rng.choice([-1.0, 1.0], self.nonzero) * self.radius / np.sqrt(self.nonzero)
        return World(lambda block: fill_sphere(rng, block, theta, self.code), theta)
