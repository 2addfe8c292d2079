"""A world for tools.fields whose actions have fields of their own: shared arms, with crosses."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.random import Generator

from reticent.data import Array
from reticent.environments.base import Environment, World
from reticent.features.columns import Category, Number
from reticent.features.schema import Schema
from reticent.kernels.block import BERNOULLI, Block
from reticent.model.links import Link

PLANS, OFTEN = ("free", "basic", "plus", "pro"), (0.5, 0.3, 0.15, 0.05)
TOPICS, HOURS, BINS = tuple("abcdef"), 24, 5
SCHEMA = Schema(
    context={"hour": Number(0, HOURS, bins=BINS), "plan": Category(*PLANS)},
    action={"topic": Category(*TOPICS)},
    cross=[("hour", "topic"), ("plan", "topic")],
)


@cache
def vectors() -> Array:
    """(hours, plans, topics, numbers)."""
    topics = {topic: {"topic": topic} for topic in TOPICS}
    return np.array([[SCHEMA.rows({"hour": h, "plan": p}, topics)[1] for p in PLANS] for h in range(HOURS)])


@dataclass(frozen=True, kw_only=True)
class Topics(Environment):
    """One text on each of six topics is offered to everybody: log odds depend on the topic, and on the hour (a broken
    line) and the plan for each topic."""

    dim: int = SCHEMA.dim
    arms: int = len(TOPICS)
    radius: float = 3.0
    link: str | Link = "logistic"

    @property
    def features(self) -> Schema:
        return SCHEMA

    @property
    def reward_kind(self) -> tuple[int, float]:
        return BERNOULLI, 1.0

    def start(self, rng: Generator, horizon: int) -> World:
        alone, plan = 0.4 * rng.standard_normal(self.arms), 0.3 * rng.standard_normal((len(PLANS), self.arms))
        knots, at = np.linspace(0, HOURS, BINS + 1), 0.8 * rng.standard_normal((self.arms, BINS + 1))
        hour = np.array([np.interp(np.arange(HOURS), knots, each) for each in at]).T

        def fill(block: Block) -> None:
            count = len(block.noise)
            hours, plans = rng.integers(HOURS, size=count), rng.choice(len(PLANS), size=count, p=OFTEN)
            block.arms[:] = vectors()[hours, plans]
            block.means[:] = 1 / (1 + np.exp(1 - alone - hour[hours] - plan[plans]))
            block.noise[:] = rng.random(count)

        return World(fill, None)
