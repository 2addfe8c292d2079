"""Low-rank contexts that change subspace half-way: what was learnt does not help, and nobody may be too sure."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from tacit.environments.base import Environment, World, orthonormal
from tacit.environments.worlds_kernel import fill_shift


@dataclass(frozen=True, kw_only=True)
class shift(Environment):
    """Arms uniform in the unit ball of a random subspace of dimension dim // 2, orthogonal ones before and after."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim < 2:
            raise ValueError(f"Expected dim of at least 2 for shift, got {self.dim}.")

    def start(self, rng: Generator, horizon: int) -> World:
        theta = self.parameter(rng)
        rank = self.dim // 2
        columns = orthonormal(rng, self.dim)[:, : 2 * rank]
        bases = np.ascontiguousarray(columns.reshape(self.dim, 2, rank).transpose(1, 0, 2))
        clock = np.zeros(1, np.int64)
        return World(lambda block: fill_shift(rng, block, bases, clock, horizon // 2, theta, self.code), theta)
