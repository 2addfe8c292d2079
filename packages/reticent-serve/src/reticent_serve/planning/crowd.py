"""Made-up people with made-up tastes: the worlds that a plan is simulated in."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, default_rng

from reticent.data import Array
from reticent.environments.base import Environment, World
from reticent.environments.synthetic import ball
from reticent.features.columns import read, written
from reticent.features.people import made_up
from reticent.features.schema import Schema
from reticent.kernels.block import BERNOULLI, Block

PEOPLE = 2000  # different ones in a world, who come again and again
DECAY = 0.6  # of how much a field matters, beside the one that matters more
ALONE = 0.1  # variance of what an action is to everybody, beside that of fields
MOOD = 1.0  # standard deviation of what a person is to all actions alike, beside that among them
STEPS = 60  # of bisection


class Crowd(NamedTuple):
    """People, and what they think of each action."""

    numbers: Array  # (n, p): the vector of each person, as the schema makes it for one action
    means: Array  # (n, K): the chance of a reward
    important: tuple[str, ...]  # names of fields, those that matter most first

    @property
    def random(self) -> float:
        """The mean reward of random actions."""
        return float(self.means.mean())

    @property
    def best(self) -> float:
        """That of the best action for each person."""
        return float(self.means.max(axis=1).mean())

    @property
    def single(self) -> float:
        """That of the best action for all."""
        return float(self.means.mean(axis=0).max())


class Vectors(NamedTuple):
    """A world of vectors, and the mean rewards of random and of best arms: by symmetry those of every theta*."""

    place: Environment
    random: float
    best: float

    @property
    def single(self) -> float:
        """No action is for all: what is offered is another each time."""
        return self.random


def vectors(dim: int, arms: int, radius: float) -> Vectors:
    place = ball(dim=dim, arms=arms, radius=radius, link="logistic")
    fill, _ = place.start(default_rng([dim, arms]), PEOPLE)
    block = place.block(PEOPLE)
    fill(block)
    return Vectors(place, float(block.means.mean()), float(block.means.max(axis=1).mean()))


def drawn(schema: Schema, number: int, *, rate: float, strength: float) -> Crowd:
    """The world of that number. Fields are independent, and all their values equally likely; everybody has every field.
    An action adds to the log odds of a reward what was drawn for it at each category or knot of a field and of a cross:
    of the field that matters most, which is another one in each world, of the next DECAY as much, and so on. Fields say
    as much of how a person takes to all actions.

    rate: the mean reward of random actions. strength: the standard deviation of the log odds among the actions of one
    person."""
    rng = default_rng([number, len(schema.own), len(schema.offered)])
    sums = np.concatenate([_even(part.size, bool(part.names)) for part in schema.own])
    people = made_up(schema, sums, PEOPLE, rng)
    named = schema.own[1:]
    first = number % max(1, len(schema.context))
    order = [first, *(i for i in rng.permutation(len(named)) if i != first)] if named else []
    actions = len(schema.offered)
    tastes, mood = np.zeros((PEOPLE, actions)), np.zeros((PEOPLE, 1))
    for place, i in enumerate(order):
        part = people[:, named[i].start : named[i].start + named[i].size]
        tastes += DECAY**place * _apart(part @ rng.standard_normal((named[i].size, actions)))
        mood += DECAY**place * _scaled(part @ rng.standard_normal((named[i].size, 1)))
    alone = _apart(np.tile(rng.standard_normal(actions), (PEOPLE, 1)), centred=False)
    scores = _apart(_apart(tastes) + np.sqrt(ALONE) * alone, centred=False) + MOOD * _scaled(mood)
    important = tuple(name for i in order for name in named[i].names if len(named[i].names) == 1)
    return Crowd(people, _means(strength * scores, rate), important)


def seen(crowd: Crowd, full: Schema, schema: Schema) -> Crowd:
    """The same people as a schema with fewer fields, or other weights, makes them."""
    parts = {part.names: crowd.numbers[:, part.start : part.start + part.size] / part.weight for part in full.own}
    return crowd._replace(numbers=np.hstack([parts[part.names] * part.weight for part in schema.own]))


def without(schema: Schema, names: set[str]) -> Schema:
    """That schema with those fields left out."""
    kept = {name: column for name, column in schema.context.items() if name not in names}
    return replace(schema, context=kept, cross=[pair for pair in schema.cross if set(pair) <= set(kept)])


def weighted(schema: Schema, name: str, times: float) -> Schema:
    """That schema with so many times the weight of a field."""
    column = written(schema.context[name])
    heavier = read(name, column | {"weight": times * column["weight"]})
    return replace(schema, context={**schema.context, name: heavier})


@dataclass(frozen=True, kw_only=True)
class crowded(Environment):
    """People of that crowd, one after the other at random; rewards are 0 or 1."""

    schema: Schema
    crowd: Crowd
    link: str = "logistic"

    @property
    def blocks(self) -> int | None:
        return self.arms

    @property
    def features(self) -> Schema | None:
        return self.schema

    @property
    def reward_kind(self) -> tuple[int, float]:
        return BERNOULLI, 1.0

    def start(self, rng: Generator, horizon: int) -> World:
        places = np.arange(self.arms, dtype=np.float64)

        def fill(block: Block) -> None:
            who = rng.integers(len(self.crowd.means), size=len(block.noise))
            block.arms[:, :, :-1] = self.crowd.numbers[who][:, None]
            block.arms[:, :, -1] = places
            block.means[:] = self.crowd.means[who]
            block.noise[:] = rng.random(len(block.noise))

        return World(fill, None)


def _even(size: int, field: bool) -> Array:
    """What `made_up` takes for a field all of whose values are equally likely, and none is missing: its last number."""
    out = np.ones(size)
    if field and size > 1:
        out[-1] = 0.0
    return out


def _apart(scores: Array, *, centred: bool = True) -> Array:
    """How actions differ to a person, with standard deviation 1. centred: without what an action is to everybody."""
    out: Array = scores - scores.mean(axis=1, keepdims=True)
    if centred:
        out -= out.mean(axis=0)
    out /= max(float(np.sqrt(out.var(axis=1, ddof=1).mean())), 1e-9)
    return out


def _scaled(mood: Array) -> Array:
    """How people differ, with standard deviation 1."""
    out: Array = mood - mood.mean()
    out /= max(float(mood.std()), 1e-9)
    return out


def _means(scores: Array, rate: float) -> Array:
    low, high = -40.0, 40.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        means: Array = 1 / (1 + np.exp(-middle - scores))
        low, high = (low, middle) if means.mean() > rate else (middle, high)
    return means
