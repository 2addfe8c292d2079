"""Worlds where each arm has a part of the vector to itself, with the same fields of the person in it."""

import dataclasses
import functools
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator

from reticent.environments.base import Environment, World
from reticent.environments.worlds_kernel import fill_disjoint
from reticent.features.columns import Number
from reticent.features.schema import Schema


@dataclass(frozen=True, kw_only=True)
class Disjoint(Environment):
    """disjoint: arms are rows (z, a), for bandits that take blocks, instead of vectors with z in block a and zeros
    elsewhere; the world is the same. None: whichever of the two a bandit takes."""

    disjoint: bool | None = None

    @property
    def blocks(self) -> int | None:
        return self.arms if self.disjoint else None

    def suited(self, *, blocks: bool) -> Self:
        return dataclasses.replace(self, disjoint=blocks) if self.disjoint is None else self


@dataclass(frozen=True, kw_only=True)
class disjoint(Disjoint):
    """People with numbers, uniform between -1 and 1, and a parameter for each arm: of the constant and of each number.

    dim: for each arm an odd number, since the schema has a constant and two places for each number, one of which is for
    none; everybody has all."""

    dim: int = 25
    arms: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.arms < 2 or self.dim % (2 * self.arms) != self.arms:
            raise ValueError(
                "Expected several arms and dim to be an odd multiple of arms for disjoint, got "
                f"dim={self.dim} and arms={self.arms}."
            )

    @property
    def features(self) -> Schema:
        return _schema(self.dim // self.arms // 2, self.arms)

    def start(self, rng: Generator, horizon: int) -> World:
        theta = rng.standard_normal((self.arms, self.dim // self.arms))
        theta[:, 2::2] = 0.0  # where none would be
        theta *= self.radius / np.linalg.norm(theta)
        return World(lambda block: fill_disjoint(rng, block, theta, bool(self.disjoint), self.code), theta.ravel())


@functools.cache
def _schema(numbers: int, arms: int) -> Schema:
    context = {f"number {i + 1}": Number(-1, 1) for i in range(numbers)}
    return Schema(context=context, arms="disjoint", actions=tuple(f"action {a + 1}" for a in range(arms)))
