"""Arms drawn anew each round, uniform in the unit ball: the setting of most papers, and the kindest."""

from dataclasses import dataclass

from numpy.random import Generator

from tacit.environments.base import Environment, World
from tacit.environments.worlds_kernel import fill_ball


@dataclass(frozen=True, kw_only=True)
class ball(Environment):
    def start(self, rng: Generator, horizon: int) -> World:
        theta = self.parameter(rng)
        return World(lambda block: fill_ball(rng, block, theta, self.code), theta)
