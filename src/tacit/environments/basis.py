"""The unit vectors as arms: a plain multi-armed bandit, where no arm tells about another."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from tacit.environments.base import Environment, World
from tacit.environments.worlds_kernel import fill_fixed


@dataclass(frozen=True, kw_only=True)
class basis(Environment):
    arms: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.arms != self.dim:
            raise ValueError(f"Expected as many arms as dimensions for basis, got {self.arms} and {self.dim}.")

    def start(self, rng: Generator, horizon: int) -> World:
        theta = self.parameter(rng)
        arms = np.eye(self.dim)
        return World(lambda block: fill_fixed(rng, block, arms, theta, self.code), theta)
