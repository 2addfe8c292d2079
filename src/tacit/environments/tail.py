"""A random direction of norm 1 / sqrt 2 and a constant last entry, arms and parameter alike (Chowdhury & Zhou 2022)."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from tacit.environments.base import Environment, World
from tacit.environments.worlds_kernel import direction, fill_tail
from tacit.kernels.rewards import BERNOULLI


@dataclass(frozen=True, kw_only=True)
class tail(Environment):
    """With radius 1 and link="identity" the means lie in [0, 1] and rewards are 0 or 1."""

    arms: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim < 2:
            raise ValueError(f"Expected dim of at least 2 for tail, got {self.dim}.")

    @property
    def reward_kind(self) -> tuple[int, float]:
        if self.noise == "bounded" and self.radius <= 1:
            return BERNOULLI, 1.0
        return super().reward_kind

    def start(self, rng: Generator, horizon: int) -> World:
        rest = np.empty(self.dim - 1)
        direction(rng, rest)
        theta = self.radius * np.sqrt(0.5) * np.concatenate([rest, [1.0]])
        return World(lambda block: fill_tail(rng, block, theta, self.code), theta)
