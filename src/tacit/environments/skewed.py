"""Anisotropic arms and a constant entry that saturates the link in half of the rounds.

On isotropic arms a linear bandit ranks a generalised linear model's arms correctly, so those alone prove nothing. Here
some features vary mostly where the link is flat and others where it is steep: a linear fit weighs them wrongly."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from tacit.environments.base import Environment, World
from tacit.environments.worlds_kernel import direction, fill_skewed

CONSTANT = 0.5
DECAY = 0.6


@dataclass(frozen=True, kw_only=True)
class skewed(Environment):
    radius: float = 6.0
    link: str = "logistic"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim < 2:
            raise ValueError(f"Expected dim of at least 2 for skewed, got {self.dim}.")

    def start(self, rng: Generator, horizon: int) -> World:
        axes = DECAY ** np.arange(self.dim - 1.0)
        axes *= np.sqrt(1 - CONSTANT**2) / np.linalg.norm(axes)
        rest = np.empty(self.dim - 1)
        direction(rng, rest)
        theta = self.radius * np.concatenate([[0.6], 0.8 * rest])
        return World(lambda block: fill_skewed(rng, block, axes, CONSTANT, theta, self.code), theta)
