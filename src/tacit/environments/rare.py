"""The direction that matters most is offered in 5 % of rounds, and it may be good or bad."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from tacit.environments.base import Environment, World, orthonormal
from tacit.environments.worlds_kernel import direction, fill_rare


@dataclass(frozen=True, kw_only=True)
class rare(Environment):
    """theta* = radius (+-.8 e + .6 v); arms uniform in the unit ball across e; in a share `chance` of the rounds one of
    them is e itself."""

    chance: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim < 2:
            raise ValueError(f"Expected dim of at least 2 for rare, got {self.dim}.")
        if not 0 < self.chance <= 1:
            raise ValueError(f"Expected chance in (0, 1], got {self.chance!r}.")

    def start(self, rng: Generator, horizon: int) -> World:
        columns = orthonormal(rng, self.dim)
        good, across = np.ascontiguousarray(columns[:, 0]), np.ascontiguousarray(columns[:, 1:])
        rest = np.empty(self.dim - 1)
        direction(rng, rest)
        sign = 1.0 if rng.random() < 0.5 else -1.0
        theta = self.radius * (0.8 * sign * good + 0.6 * across @ rest)
        return World(lambda block: fill_rare(rng, block, across, good, self.chance, theta, self.code), theta)
