"""A page that shows one of two hundred items, which come and go every hour."""

import functools
import itertools
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from reticent import checks
from reticent.data import Array
from reticent.environments.base import Environment, World
from reticent.features.columns import Category, Number
from reticent.features.schema import Schema
from reticent.kernels.block import BERNOULLI, Block
from reticent.model.links import Link
from reticent_lab.environments.front_page_kernel import fill_pages

TOPICS = ("business", "food", "health", "music", "science", "sport", "travel", "world")
LEVELS = ("0", "1", "2", "3")
OFTEN = (0.5, 0.25, 0.15, 0.1)  # how many people have each level of interest in a topic
HOURS = 12  # that an item is on offer
ALONE, INTEREST, APART, ROUGH = 0.4, 2.6, 0.4, 0.2  # of log rates: see front_page
AGEING = 0.7  # the log rate that an item loses while it is on offer
HIGHEST = 0.5  # chance of a click
SCHEMA = Schema(
    action={"topic": Category(*TOPICS), "level": Category(*LEVELS), "age": Number(0, HOURS)},
    cross=[("topic", "level")],
)


@dataclass(frozen=True, kw_only=True)
class front_page(Environment):
    """One out of 200 items, the shape of a browser's start page. An item has one of eight topics and an age;
    after twelve hours it makes room for a new one. A person has one of four levels of interest in each topic. Features
    of an item for a person are its topic, the person's level in that topic, both crossed, and its age: what each of
    them is worth is to be learnt, and no item is known by its name. The chance of a click is
    proportional to exp(topic + level within the topic - age): a topic's own part has standard deviation 0.4, and the
    highest level adds 2.6 to the lowest, 0.4 more or less by topic. Every run is a new world.

    hour: people an hour. appeal: the standard deviation of what an item has for itself, which no feature tells, in log
    rates. base_rate: the chance of a click on a random item, on average over people. radius and link: what a bandit is
    told."""

    dim: int = 0
    arms: int = 200
    radius: float = 3.0
    link: str | Link = "logistic"
    hour: int = 1000
    appeal: float = 0.0
    base_rate: float = 0.02

    def __post_init__(self) -> None:
        checks.positive_int(hour=self.hour)
        checks.non_negative(appeal=self.appeal)
        if not 0 < self.base_rate <= 0.1:
            raise ValueError(f"Expected base_rate above 0 and of at most 0.1, got {self.base_rate!r}.")
        if self.dim not in (0, SCHEMA.dim):
            raise ValueError(f"Expected dim={SCHEMA.dim} for front_page, got {self.dim}.")
        object.__setattr__(self, "dim", SCHEMA.dim)
        super().__post_init__()

    @property
    def features(self) -> Schema:
        return SCHEMA

    @property
    def reward_kind(self) -> tuple[int, float]:
        return BERNOULLI, 1.0

    def start(self, rng: Generator, horizon: int) -> World:
        means, vectors = rates(rng, self.base_rate), _vectors()
        topics, ages = rng.integers(len(TOPICS), size=self.arms), rng.integers(HOURS, size=self.arms)
        own = np.exp(self.appeal * rng.standard_normal(self.arms))
        upto, left = np.cumsum(OFTEN), np.full(1, self.hour)  # people until items are an hour older

        def fill(block: Block) -> None:
            fill_pages(rng, block, vectors, means, upto, topics, ages, own, left, self.hour, self.appeal)

        return World(fill, None)


def rates(rng: Generator, base_rate: float) -> Array:
    """(topics, levels, ages): the chance of a click."""
    alone, slope = ALONE * rng.standard_normal(len(TOPICS)), INTEREST + APART * rng.standard_normal(len(TOPICS))
    levels = np.linspace(0, 1, len(LEVELS)) * slope[:, None] + ROUGH * rng.standard_normal((len(TOPICS), len(LEVELS)))
    logs = (alone[:, None] + levels)[:, :, None] - AGEING * np.arange(HOURS) / HOURS
    average = float((np.exp(logs).mean(axis=(0, 2)) * OFTEN).sum())
    return np.minimum(np.exp(logs) * base_rate / average, HIGHEST)


@functools.cache
def _vectors() -> Array:
    """(topics, levels, ages, numbers)."""
    every = itertools.product(TOPICS, LEVELS, range(HOURS))
    items = [{"topic": topic, "level": level, "age": age} for topic, level, age in every]
    found = SCHEMA.rows({}, {str(i): item for i, item in enumerate(items)})[1]
    return found.reshape(len(TOPICS), len(LEVELS), HOURS, -1)
