"""Several sums of one data set, each with Gaussian noise: of the same people (noise composes), or each of its own
part."""

import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tacit import checks
from tacit.checks import Array
from tacit.privacy import gaussian, ledger
from tacit.privacy.budget import Budget
from tacit.privacy.ledger import GaussianRelease
from tacit.privacy.noise import Source

MODELS = ("joint", "local")


class Query(NamedTuple):
    """A sum over people of vectors of length `size`, moved by at most `sensitivity` when one of them is replaced.
    `share`: of the squared budget where all people are asked every time, else of the people."""

    name: str
    statistic: str
    size: int
    sensitivity: float
    share: float


@dataclass(frozen=True, kw_only=True)
class Queries:
    """Queries asked one after the other, each in the light of the answers so far.

    Guarantee: (epsilon, delta)-differential privacy for replacing one person. joint: a trusted curator adds noise to
    each sum; mu^2 adds up over the queries that a person is in: all of them (mu_k = mu sqrt(share_k)), or a single
    one if `split`. local: each person answers one query, with noise of its own that carries the whole budget.
    Reference: Dong, Roth & Su 2019 (adaptive composition of Gaussians); Balle & Wang 2018.
    Departure: the noise of n local answers is drawn as one sum, of the same law.
    """

    queries: tuple[Query, ...]
    budget: Budget
    model: str = "joint"
    split: bool = False

    def __post_init__(self) -> None:
        checks.one_of(MODELS, model=self.model)
        if not math.isclose(sum(query.share for query in self.queries), 1.0):
            raise ValueError("Expected shares that add up to 1, got others.")
        if self.model == "local" and not self.split:
            raise ValueError("Expected split=True in the local model (each person answers once), got False.")
        ledger.check(self.costliest(), self.budget)

    @property
    def epsilon(self) -> float:
        """Recomputed from the noise in use, for the person whom it costs most."""
        if self.budget.epsilon == math.inf:
            return math.inf
        return ledger.epsilon_of(self.costliest(), self.budget.delta)

    def sigma(self, number: int) -> float:
        """Standard deviation of the noise that is added to a sum (joint), or to each answer (local)."""
        query = self.queries[number]
        share = 1.0 if self.split else query.share
        return query.sensitivity / (self._mu * math.sqrt(share))

    @functools.cached_property
    def _mu(self) -> float:
        return gaussian.mu(self.budget)

    def rows(self, number: int, count: int) -> slice:
        """Who of `count` people answers that query."""
        if not self.split:
            return slice(0, count)
        ends = np.floor(count * np.cumsum([0.0] + [query.share for query in self.queries]) + 1e-9).astype(int)
        return slice(int(ends[number]), int(ends[number + 1]))

    def people(self, number: int, count: int) -> int:
        part = self.rows(number, count)
        if part.stop <= part.start:
            raise ValueError(f"Expected more rows: with {count} some of the {len(self.queries)} parts are empty.")
        return int(part.stop - part.start)

    def std(self, number: int, count: int) -> float:
        """Standard deviation of the noise in the mean over who answers: public."""
        people = self.people(number, count)
        return self.sigma(number) * (math.sqrt(people) if self.model == "local" else 1.0) / people

    def release(self, number: int, total: Array, count: int, source: Source) -> Array:
        """The noisy mean, from the exact sum over `rows`; RAW goes in, released comes out."""
        people, std = self.people(number, count), self.std(number, count)
        law = np.array([1.0, std * people, 0.0])
        noise = source.rows(1, self.queries[number].size, law)[0]
        return np.asarray((total + noise) / people)

    def releases(self) -> tuple[GaussianRelease, ...]:
        return tuple(
            GaussianRelease(query.name, query.statistic, query.sensitivity, 1.0, self.sigma(i))
            for i, query in enumerate(self.queries)
        )

    def costliest(self) -> tuple[GaussianRelease, ...]:
        """What the person whom it costs most is in: all queries, or one."""
        releases = self.releases()
        return (max(releases, key=lambda release: release.mu),) if self.split else releases
