"""Labelled rows as a bandit: guess the class of a random row, and be told only whether the guess was right."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

from numpy.random import Generator

from reticent.data import Array, Integers
from reticent.environments.base import Environment, World
from reticent.kernels.block import BERNOULLI
from reticent.model.links import Link
from reticent_lab.environments.worlds_kernel import fill_rows


class Rows(NamedTuple):
    """(n, p) contexts of norm at most 1, and the class of each, 0 .. K-1."""

    contexts: Array
    classes: Integers


@dataclass(frozen=True, kw_only=True)
class Labelled(Environment):
    """Each class is an arm, a vector with the row's context in coordinates of its own and zeros elsewhere. dim = K p,
    and both follow from the data. No parameter is true here: the radius is a guess that a bandit is told, and regret
    counts wrong guesses."""

    dim: int = 0
    arms: int = 0
    radius: float = 3.0
    link: str | Link = "logistic"

    @abstractmethod
    def rows(self) -> Rows: ...

    def __post_init__(self) -> None:
        contexts, classes = self.rows()
        count = int(classes.max()) + 1
        for field, actual in (("arms", count), ("dim", count * contexts.shape[1])):
            if getattr(self, field) not in (0, actual):
                raise ValueError(f"Expected {field}={actual} for {self.name}, got {getattr(self, field)}.")
            object.__setattr__(self, field, actual)
        super().__post_init__()

    @property
    def reward_kind(self) -> tuple[int, float]:
        return BERNOULLI, 1.0

    def start(self, rng: Generator, horizon: int) -> World:
        contexts, classes = self.rows()
        return World(lambda block: fill_rows(rng, block, contexts, classes), None)
