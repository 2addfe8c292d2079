"""Arms drawn anew each round, uniform on the unit sphere."""

from dataclasses import dataclass

from numpy.random import Generator

from tacit.environments.base import Environment, World
from tacit.environments.worlds_kernel import fill_sphere


@dataclass(frozen=True, kw_only=True)
class sphere(Environment):
    def start(self, rng: Generator, horizon: int) -> World:
        theta = self.parameter(rng)
        return World(lambda block: fill_sphere(rng, block, theta, self.code), theta)
