"""Worlds where each arm has a block of coordinates to itself, with the same features of the person in it."""

import dataclasses
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator

from tacit.environments.base import Environment, World
from tacit.environments.worlds_kernel import fill_disjoint


@dataclass(frozen=True, kw_only=True)
class Disjoint(Environment):
    """apart: arms are rows (z, a), for bandits that take blocks, instead of vectors with z in block a and zeros
    elsewhere; the world is the same. None: whichever of the two a bandit takes."""

    apart: bool | None = None

    @property
    def blocks(self) -> int | None:
        return self.arms if self.apart else None

    @property
    def parts(self) -> int | None:
        return self.arms

    def suited(self, *, blocks: bool) -> Self:
        return dataclasses.replace(self, apart=blocks) if self.apart is None else self


@dataclass(frozen=True, kw_only=True)
class disjoint(Disjoint):
    """A person's features, uniform in the unit ball of dim / arms dimensions, and a parameter for each arm."""

    dim: int = 20
    arms: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim % self.arms:
            raise ValueError(f"Expected dim to be a multiple of arms for disjoint, got {self.dim} and {self.arms}.")

    def start(self, rng: Generator, horizon: int) -> World:
        theta = self.parameter(rng)
        blocks = np.ascontiguousarray(theta.reshape(self.arms, -1))
        return World(lambda block: fill_disjoint(rng, block, blocks, bool(self.apart), self.code), theta)
