"""People and films: MovieLens 100k (Harper & Konstan 2015). In each round somebody is offered films that this person
has rated, and a film is worth 1 if it got at least four stars, so the best choice of every round is known."""

import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Integers
from reticent.environments.base import Environment, World
from reticent.kernels.block import BERNOULLI
from reticent.model.links import Link
from reticent_lab.environments.real.encoding import intervals, names_of, one_hot
from reticent_lab.environments.real.fetch import files
from reticent_lab.environments.worlds_kernel import fill_ratings

AGES = (25, 35, 50)
YEARS = (1980, 1993)  # of release
GENRES = (
    "Action",
    "Adventure",
    "Animation",
    "Children's",
    "Comedy",
    "Crime",
    "Documentary",
    "Drama",
    "Fantasy",
    "Film-Noir",
    "Horror",
    "Musical",
    "Mystery",
    "Romance",
    "Sci-Fi",
    "Thriller",
    "War",
    "Western",
)
LIKED = 4  # stars
FEWEST = 20  # films that everybody here has rated, by the data's description


class Ratings(NamedTuple):
    """Vectors of norm at most 1 of people and of films; person i rated the films of start[i] .. start[i + 1]."""

    people: Array
    films: Array
    start: Integers
    film: Integers
    liked: Array


@dataclass(frozen=True, kw_only=True)
class movielens(Environment):
    """943 people, 1682 films, 100 000 ratings. An arm is the product of a film's 22 features (a constant, 18 genres,
    three times of release) and a person's 6 (a constant, sex, four ages)."""

    dim: int = 0
    arms: int = 10
    radius: float = 3.0
    link: str | Link = "logistic"

    def __post_init__(self) -> None:
        ratings = _ratings()
        dim = ratings.people.shape[1] * ratings.films.shape[1]
        if self.dim not in (0, dim):
            raise ValueError(f"Expected dim={dim} for {self.name}, got {self.dim}.")
        if self.arms > FEWEST:
            raise ValueError(f"Expected at most {FEWEST} arms for {self.name}, got {self.arms}.")
        object.__setattr__(self, "dim", dim)
        super().__post_init__()

    @property
    def reward_kind(self) -> tuple[int, float]:
        return BERNOULLI, 1.0

    def start(self, rng: Generator, horizon: int) -> World:
        people, films, start, film, liked = _ratings()
        order = np.arange(len(film))
        return World(lambda block: fill_ratings(rng, block, people, films, start, film, liked, order), None)


@functools.cache
def _ratings() -> Ratings:
    return encode(*files("movielens"))


def encode(ratings: bytes, films: bytes, people: bytes) -> Ratings:
    """Tables with tabs, and a first line of names. Those who rated fewer than FEWEST are left out."""
    users, items = _table(people), _table(films)
    age = intervals(np.array([user[1] for user in users], np.float64), AGES)
    constant = (["1"] * len(users), ("1",))
    person = one_hot([constant, ([user[2] for user in users], ("F",)), (age, names_of(AGES))])
    genres = np.array([[float(genre in item[3].split()) for genre in GENRES] for item in items])
    genres /= np.sqrt(np.maximum(1.0, genres.sum(axis=1, keepdims=True)))
    year = np.array([float(item[2]) if item[2].isdigit() else math.inf for item in items])  # two are unknown
    times = one_hot([(intervals(year, YEARS), names_of(YEARS))])
    film = np.column_stack([np.ones(len(items)), genres, times]) / math.sqrt(3)
    who = {user[0]: i for i, user in enumerate(users)}
    what = {item[0]: i for i, item in enumerate(items)}
    rated = np.array([(who[r[0]], what[r[1]], float(r[2]) >= LIKED) for r in _table(ratings)], np.int64)
    count = np.bincount(rated[:, 0], minlength=len(users))
    rated = rated[count[rated[:, 0]] >= FEWEST]
    rated = rated[np.argsort(rated[:, 0], kind="stable")]
    kept = np.flatnonzero(count >= FEWEST)
    start = np.concatenate([[0], np.cumsum(count[kept])])
    return Ratings(person[kept], film, start, rated[:, 1].copy(), rated[:, 2].astype(np.float64))


def _table(text: bytes) -> list[list[str]]:
    return [line.split("\t") for line in text.decode().splitlines()[1:]]
