"""The world of somebody who begins: a few messages, people with ordinary fields, and rewards of 0 or 1."""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, default_rng

from reticent import checks
from reticent.environments.base import World
from reticent.environments.curve_kernel import Curve, to_means
from reticent.environments.disjoint import Disjoint
from reticent.environments.people import NO_CROSS, Field, effects, tables
from reticent.environments.people_kernel import People, Tastes, draw_people, fill_people
from reticent.features.columns import Category, Number
from reticent.features.schema import Schema
from reticent.kernels.block import BERNOULLI, Block
from reticent.model import links
from reticent.model.links import Link

NAMES = ("news", "offer", "reminder", "story", "survey", "tip")
PLANS, COUNTRIES, DEVICES = (
    ("free", "basic", "plus", "pro"),
    ("DE", "FR", "IT", "PL", "SE"),
    ("phone", "desktop", "tablet"),
)
BY_DAY = (1, 1, 1, 1, 1, 2, 3, 5, 6, 6, 6, 6, 7, 7, 6, 6, 6, 7, 8, 9, 9, 8, 5, 3)  # people at each hour
FIELDS = {  # those that matter most come first
    "hour": Field(Number(0, 24, bins=5), range(24), BY_DAY),
    "plan": Field(Category(*PLANS), PLANS, (10, 6, 3, 1)),
    "country": Field(Category(*COUNTRIES), COUNTRIES, (8, 6, 3, 2, 1)),
    "age": Field(Number(18, 90, bins=2), range(18, 91), (1,) * 73),
    "device": Field(Category(*DEVICES), DEVICES, (7, 2, 1)),
}
USUAL = -1.0  # log odds of an answer
ALONE = 0.115  # standard deviation of what a message adds to them
SPREAD = {"hour": 0.8, "plan": 0.3, "country": 0.3}  # and of what it adds at a knot or a category of a field
BOUND = 0.7  # how often a field follows the hidden type of its person, where fields are dependent
SAMPLE = 20_000  # people by whom the overall rate of a world is found


@dataclass(frozen=True, kw_only=True)
class messages(Disjoint):
    """Six messages, and people with an hour, a plan, a country, an age and a device: 25 numbers a person, with the
    constant. A message adds log odds of its own to a person's answer, and more by the hour (a broken line, which
    matters most), the plan and the country; age and device do not matter. Every run is a new world.

    On average over worlds a random message is answered by 28 % of people, and the best one for each person by 16 points
    more. Of that gain the best single message has 19 %, the best one for each hour 80 % (83 % with dependent fields),
    and the best one for all fields 100 %: by simulation, which
    packages/reticent/tests/core_tests/environments/test_messages.py repeats.

    fields: how many of them the features have, in that order; rewards stay the same. base_rate: means are multiplied
    so that a random message is answered by this share of people, at most 0.1. dependent: fields follow a hidden type of
    person; each field alone is distributed as before. radius and link: what a bandit is told."""

    dim: int = 0
    arms: int = len(NAMES)
    radius: float = 3.0
    link: str | Link = "logistic"
    fields: int = len(FIELDS)
    base_rate: float | None = None
    dependent: bool = False

    def __post_init__(self) -> None:
        checks.positive_int(fields=self.fields)
        if self.fields > len(FIELDS):
            raise ValueError(f"Expected fields of at most {len(FIELDS)}, got {self.fields}.")
        if self.base_rate is not None and not 0 < self.base_rate <= 0.1:
            raise ValueError(f"Expected base_rate above 0 and of at most 0.1, got {self.base_rate!r}.")
        for name, actual in (("arms", len(NAMES)), ("dim", self.features.dim)):
            if getattr(self, name) not in (0, actual):
                raise ValueError(f"Expected {name}={actual} for messages, got {getattr(self, name)}.")
            object.__setattr__(self, name, actual)
        super().__post_init__()

    @property
    def features(self) -> Schema:
        return _schema(self.fields)

    @property
    def reward_kind(self) -> tuple[int, float]:
        return BERNOULLI, 1.0

    def start(self, rng: Generator, horizon: int) -> World:
        alone = USUAL + ALONE * rng.standard_normal(self.arms)
        tastes = Tastes(alone, effects(FIELDS, SPREAD, self.arms, 0.0, rng), NO_CROSS)
        people = tables(FIELDS, self.features, BOUND * self.dependent, rng)
        curve = Curve(scale=1.0 if self.base_rate is None else self.base_rate / _rate(people, tastes))

        def fill(block: Block) -> None:
            fill_people(rng, block, people, tastes, tastes, 0.0, np.zeros(1, np.int64), bool(self.disjoint))
            to_means(curve, links.LOGISTIC, block.means)

        return World(fill, None)


@functools.cache
def _schema(fields: int) -> Schema:
    shown = {name: field.column for name, field in list(FIELDS.items())[:fields]}
    return Schema(context=shown, arms="disjoint", actions=NAMES)


def _rate(people: People, tastes: Tastes) -> float:
    """The share of people who answer a random message, by a sample of people that is always the same."""
    drawn = np.empty((SAMPLE, len(FIELDS)), np.int64)
    draw_people(default_rng(0), people, drawn)
    odds = tastes.alone + sum(tastes.effects[:, f, drawn[:, f]].T for f in range(len(FIELDS)))
    return float(np.mean(1 / (1 + np.exp(-odds))))
