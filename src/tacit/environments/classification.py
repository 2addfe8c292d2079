"""Labelled data as a bandit: guess the class of a row, and be told only whether the guess was right.

Arm a carries the row's features (principal components and a constant, scaled into the unit ball) in its own block of
coordinates, so dim = classes * (components + 1). No parameter is true here; regret is the share of wrong guesses."""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from tacit import checks, extras
from tacit.data import Array
from tacit.environments.base import World
from tacit.environments.disjoint import Disjoint
from tacit.environments.worlds_kernel import fill_rows
from tacit.kernels.block import BERNOULLI


@dataclass(frozen=True, kw_only=True)
class Classification(Disjoint):
    """dim and arms follow from the data and `components`; the radius is a guess that a bandit is told."""

    dim: int = 0
    arms: int = 0
    radius: float = 3.0
    components: int = 5

    def __post_init__(self) -> None:
        checks.positive_int(components=self.components)
        contexts, classes = _load(self.name, self.components)
        count = int(classes.max()) + 1
        for field, given, actual in (
            ("arms", self.arms, count),
            ("dim", self.dim, count * contexts.shape[1]),
        ):
            if given not in (0, actual):
                raise ValueError(f"Expected {field}={actual} for {self.name}, got {given}.")
            object.__setattr__(self, field, actual)
        super().__post_init__()

    @property
    def reward_kind(self) -> tuple[int, float]:
        return BERNOULLI, 1.0

    def start(self, rng: Generator, horizon: int) -> World:
        contexts, classes = _load(self.name, self.components)
        return World(lambda block: fill_rows(rng, block, contexts, classes, self.apart), None)


@dataclass(frozen=True, kw_only=True)
class breast_cancer(Classification):
    """Scikit-learn's Wisconsin breast cancer data: 569 rows, 2 arms."""


@dataclass(frozen=True, kw_only=True)
class digits(Classification):
    """Scikit-learn's handwritten digits: 1797 rows, 10 arms."""


@functools.lru_cache(maxsize=8)
def _load(name: str, components: int) -> tuple[Array, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    datasets = extras.load("sklearn.datasets", "real data")
    data = {"digits": datasets.load_digits, "breast_cancer": datasets.load_breast_cancer}[name]()
    x = np.asarray(data.data, np.float64)
    if components > x.shape[1]:
        raise ValueError(f"Expected components of at most {x.shape[1]} for {name}, got {components}.")
    x = (x - x.mean(axis=0)) / np.where(x.std(axis=0) > 0, x.std(axis=0), 1)
    _, _, rows = np.linalg.svd(x, full_matrices=False)
    scores = x @ rows[:components].T
    scores /= np.quantile(np.linalg.norm(scores, axis=1), 0.9)
    contexts = np.column_stack([scores, np.ones(len(scores))])
    contexts /= np.maximum(np.linalg.norm(contexts, axis=1, keepdims=True), np.sqrt(2))
    return np.ascontiguousarray(contexts), np.asarray(data.target, np.int64)
