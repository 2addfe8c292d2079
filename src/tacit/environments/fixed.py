"""One arm set for the whole run, uniform in the unit ball: nothing explores for you."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from tacit.environments.base import Environment, World
from tacit.environments.worlds_kernel import ball_point, fill_fixed


@dataclass(frozen=True, kw_only=True)
class fixed(Environment):
    def start(self, rng: Generator, horizon: int) -> World:
        theta = self.parameter(rng)
        arms = np.empty((self.arms, self.dim))
        for arm in arms:
            ball_point(rng, arm)
        return World(lambda block: fill_fixed(rng, block, arms, theta, self.code), theta)
