"""A world for tools.fields whose texts share what their topic and price mean, and have tastes of their own."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.random import Generator

from tacit.data import Array
from tacit.environments.base import Environment, World
from tacit.features.columns import Category, Column, Number
from tacit.features.schema import Schema
from tacit.kernels.block import BERNOULLI, Block
from tacit.model.links import Link

PLANS, HOURS, BINS = ("free", "basic", "plus", "pro"), 24, 4
CONTEXT: dict[str, Column] = {"hour": Number(0, HOURS, bins=BINS), "plan": Category(*PLANS)}
ACTION: dict[str, Column] = {"topic": Category("a", "b", "c"), "price": Category("low", "high")}
TEXTS = {f"{topic} {price}": {"topic": topic, "price": price} for topic in "abc" for price in ("low", "high")}
HYBRID, DISJOINT, DENSE = "hybrid", "disjoint", "dense"
SCHEMAS = {
    HYBRID: Schema(context=CONTEXT, action=ACTION, arms="hybrid", actions=tuple(TEXTS)),
    DISJOINT: Schema(context=CONTEXT, arms="disjoint", actions=tuple(TEXTS)),
}


@cache
def rows(form: str) -> Array:
    """(hours, plans, texts, numbers): as a bandit takes them."""
    schema = SCHEMAS[DISJOINT if form == DISJOINT else HYBRID]
    offered: Any = tuple(TEXTS) if form == DISJOINT else TEXTS
    make = schema.rows if form == DENSE else schema.placed
    return np.array([[make({"hour": h, "plan": p}, offered)[1] for p in PLANS] for h in range(HOURS)])


@dataclass(frozen=True, kw_only=True)
class Texts(Environment):
    """Six texts, each of one of three topics at one of two prices. Log odds depend on topic and price, alike for all
    people; and for each text on itself, on the hour (a broken line) and on the plan. form: what a bandit is given:
    "hybrid" arms, "disjoint" ones, without topic and price, or the vectors of hybrid arms with all their zeros."""

    form: str = HYBRID
    dim: int = 0
    arms: int = len(TEXTS)
    radius: float = 3.0
    link: str | Link = "logistic"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", SCHEMAS[DISJOINT if self.form == DISJOINT else HYBRID].dim)
        super().__post_init__()

    @property
    def features(self) -> Schema | None:
        return SCHEMAS.get(self.form)

    @property
    def blocks(self) -> int | None:
        return None if self.form == DENSE else self.arms

    @property
    def shared(self) -> int:
        return SCHEMAS[HYBRID].shared if self.form == HYBRID else 0

    @property
    def reward_kind(self) -> tuple[int, float]:
        return BERNOULLI, 1.0

    def start(self, rng: Generator, horizon: int) -> World:
        topic, price = 0.5 * rng.standard_normal(3), 0.3 * rng.standard_normal(2)
        alone = (topic[:, None] + price).ravel() + 0.2 * rng.standard_normal(self.arms)
        plan = 0.3 * rng.standard_normal((len(PLANS), self.arms))
        knots, at = np.linspace(0, HOURS, BINS + 1), 0.6 * rng.standard_normal((self.arms, BINS + 1))
        hour = np.array([np.interp(np.arange(HOURS), knots, each) for each in at]).T

        def fill(block: Block) -> None:
            count = len(block.noise)
            hours, plans = rng.integers(HOURS, size=count), rng.integers(len(PLANS), size=count)
            block.arms[:] = rows(self.form)[hours, plans]
            block.means[:] = 1 / (1 + np.exp(1 - alone - hour[hours] - plan[plans]))
            block.noise[:] = rng.random(count)

        return World(fill, None)
