"""Schema worlds for tools.fields: people with eight fields, of which two matter."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.random import Generator, default_rng

from reticent.environments.base import World
from reticent.environments.curve_kernel import Curve, to_means
from reticent.environments.disjoint import Disjoint
from reticent.environments.people import NO_CROSS, Field, effects, tables
from reticent.environments.people_kernel import Tastes, fill_people
from reticent.features.columns import Category, Number
from reticent.features.schema import Schema
from reticent.kernels.block import BERNOULLI, Block
from reticent.model import links
from reticent.model.links import Link

NAMES = tuple("abcdef")
FIELDS, MATTER = 8, 2
SPREAD = 0.6  # of the log odds that a field which matters adds, at a knot or a category
USUAL, ALONE = -1.0, 0.115  # as in `messages`


@cache
def fields(number: int) -> dict[str, Field]:
    """Drawn from the number: categories of 2 to 6 values that are ever rarer, and numbers of 2 to 5 bins."""
    rng, out = default_rng([number, 8]), {}
    for i in range(FIELDS):
        if rng.random() < 0.5:
            values: list[str] = [str(v) for v in range(rng.integers(2, 7))]
            out[f"field {i}"] = Field(Category(*values), values, [0.7**v for v in range(len(values))])
        else:
            out[f"field {i}"] = Field(Number(0, 20, bins=int(rng.integers(2, 6))), range(21), [1.0] * 21)
    return out


@cache
def schema(number: int, told: int) -> Schema:
    columns = {name: field.column for name, field in list(fields(number).items())[:told]}
    return Schema(context=columns, arms="disjoint", actions=NAMES)


@dataclass(frozen=True, kw_only=True)
class Eight(Disjoint):
    """number: which fields there are; the first two matter. told: how many of them, in that order, the features have.
    Every run draws new tastes."""

    number: int
    told: int = FIELDS
    dim: int = 0
    arms: int = len(NAMES)
    radius: float = 3.0
    link: str | Link = "logistic"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", self.features.dim)
        super().__post_init__()

    @property
    def features(self) -> Schema:
        return schema(self.number, self.told)

    @property
    def reward_kind(self) -> tuple[int, float]:
        return BERNOULLI, 1.0

    def start(self, rng: Generator, horizon: int) -> World:
        every = fields(self.number)
        spread = dict.fromkeys(list(every)[:MATTER], SPREAD)
        alone = USUAL + ALONE * rng.standard_normal(self.arms)
        tastes = Tastes(alone, effects(every, spread, self.arms, 0.0, rng), NO_CROSS)
        people = tables(every, self.features, 0.0, rng)

        def fill(block: Block) -> None:
            fill_people(rng, block, people, tastes, tastes, 0.0, np.zeros(1, np.int64), bool(self.disjoint))
            to_means(Curve(), links.LOGISTIC, block.means)

        return World(fill, None)
