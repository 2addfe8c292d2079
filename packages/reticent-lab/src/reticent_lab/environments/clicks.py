"""Vectors whose rewards are rare."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, default_rng

from reticent.environments.base import Environment, World
from reticent.environments.curve_kernel import Curve, to_means
from reticent.environments.worlds_kernel import direction
from reticent.kernels.block import BERNOULLI, Block
from reticent.model import links
from reticent.model.links import Link
from reticent_lab.environments.fitting import at_rate
from reticent_lab.environments.worlds_kernel import fill_constant

SLOPE = 2.5  # of the log odds: the best features differ by so much from the mean ones
SAMPLE = 2000  # rounds by which the overall rate of a world is found


@dataclass(frozen=True, kw_only=True)
class clicks(Environment):
    """Arms drawn anew each round, a constant beside a point uniform in a ball, and rewards of 0 or 1 that are rare. Log
    odds are linear: those of the best direction are 2.5 above the mean. With 5 dimensions and 10 arms, the best arm of
    a round is answered about three times as often as a random one.

    base_rate: the share of people who answer a random arm, at most 0.5. constant: the first number of every arm, the
    others having sqrt(1 - constant^2) of the length; 0: there is none, and all numbers are of the ball. radius and
    link: what a bandit is told."""

    least_dim = 2
    arms: int = 10
    radius: float = 8.0
    link: str | Link = "logistic"
    base_rate: float = 0.01
    constant: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.base_rate <= 0.5:
            raise ValueError(f"Expected base_rate above 0 and of at most 0.5, got {self.base_rate!r}.")
        if not 0 <= self.constant < 1:
            raise ValueError(f"Expected constant in [0, 1), got {self.constant!r}.")

    @property
    def reward_kind(self) -> tuple[int, float]:
        return BERNOULLI, 1.0

    def start(self, rng: Generator, horizon: int) -> World:
        theta, skip = np.zeros(self.dim), int(self.constant > 0)
        direction(rng, theta[skip:])
        theta *= SLOPE / np.sqrt(1 - self.constant**2)
        sample = self.block(SAMPLE)
        fill_constant(default_rng(0), sample, self.constant, theta)
        curve = at_rate(Curve(), links.LOGISTIC, sample.means, self.base_rate)

        def fill(block: Block) -> None:
            fill_constant(rng, block, self.constant, theta)
            to_means(curve, links.LOGISTIC, block.means)

        return World(fill, None)
