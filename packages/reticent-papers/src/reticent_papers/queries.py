"""Several sums of one data set, each with Gaussian noise: of the same people (noise composes), or each of its own
part."""

import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reticent import checks
from reticent.data import Exact, Released
from reticent.errors import NotSecure
from reticent.mechanisms.grid import cell_for
from reticent.privacy import gaussian, ledger
from reticent.privacy.budget import Budget
from reticent.privacy.ledger import GaussianRelease
from reticent.privacy.noise import Source
from reticent_papers.mechanisms.sums import mean_of_reports, rounded_sensitivity, sigma_on, with_noise

MODELS = ("joint", "local")
MOST_PEOPLE = 1 << 21  # people in a sum with secure noise: mechanisms.sums.SUM_SLACK is for so many


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
    relation: what a person is, a row or a user's round (privacy.relations).
    grid: where privacy is claimed for people's data a sum is rounded to cells, a public power of two, and gets integer
    noise (privacy.discrete). Rounding a sum moves it by at most half a cell a coordinate, and floating-point sums of N
    vectors differ from exact ones by at most N^2 2^-53 times the largest norm, so for N <= 2^21 rows two sums are
    at most D (1 + 2^-10) + cell sqrt(2 size) apart, D the sensitivity.
    Reference: Dong, Roth & Su 2019 (adaptive composition of Gaussians); Balle & Wang 2018.
    Departure: the noise of n local answers is drawn as one sum, of the same law.
    """

    queries: tuple[Query, ...]
    budget: Budget
    relation: str
    model: str = "joint"
    split: bool = False
    grid: bool = False

    def __post_init__(self) -> None:
        checks.one_of(MODELS, model=self.model)
        if self.grid and self.model == "local":
            raise NotSecure(
                "Expected simulated noise in the local model (people's devices and the server are one process here), "
                "got a secure source: for experiments give source=Simulated(seed)."
            )
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
        share = 1.0 if self.split else self.queries[number].share
        return sigma_on(self.cell(number), self.sensitivity(number), self._mu * math.sqrt(share))

    def cell(self, number: int) -> float:
        """Of the grid; 0 where noise is floats."""
        query = self.queries[number]
        return cell_for(query.sensitivity, query.size) if self.grid else 0.0

    def sensitivity(self, number: int) -> float:
        """Of what gets noise: the sum, or the rounded one."""
        query = self.queries[number]
        return rounded_sensitivity(query.sensitivity, query.size, self.cell(number))

    @functools.cached_property
    def _mu(self) -> float:
        return gaussian.mu(self.budget)

    def rows(self, number: int, count: int) -> slice:
        """Which of the rows that came answer that query: all of them, be they more or fewer than the `count` people
        whom the sum is divided by (a cut would let one late row push out another); if `split`, those of that part of
        `count`, and then a row that comes late or never moves others across parts."""
        return self._part(number, count) if self.split else slice(0, None)

    def _part(self, number: int, count: int) -> slice:
        if not self.split:
            return slice(0, count)
        ends = np.floor(count * np.cumsum([0.0] + [query.share for query in self.queries]) + 1e-9).astype(int)
        return slice(int(ends[number]), int(ends[number + 1]))

    def people(self, number: int, count: int) -> int:
        part = self._part(number, count)
        if part.stop <= part.start:
            raise ValueError(f"Expected more rows: with {count} some of the {len(self.queries)} parts are empty.")
        return int(part.stop - part.start)

    def std(self, number: int, count: int) -> float:
        """Standard deviation of the noise in the mean over who answers: public."""
        people = self.people(number, count)
        return self.sigma(number) * (math.sqrt(people) if self.model == "local" else 1.0) / people

    def release(self, number: int, total: Exact, count: int, source: Source) -> Released:
        """The noisy mean, from the exact sum over `rows`."""
        people, std = self.people(number, count), self.std(number, count)
        return mean_of_reports(with_noise(total, std * people, self.cell(number), source), total.size, people)

    def check_rows(self, rows: int) -> None:
        """NotSecure if so many rows are too many for the grid's bound on floating-point sums."""
        if self.grid:
            few_enough(rows)

    def releases(self) -> tuple[GaussianRelease, ...]:
        return tuple(
            GaussianRelease(
                query.name,
                query.statistic,
                self.sensitivity(i),
                1.0,
                self.sigma(i),
                grid=self.cell(i),
                numbers=query.size if self.grid else 0,
                relation=self.relation,
            )
            for i, query in enumerate(self.queries)
        )

    def costliest(self) -> tuple[GaussianRelease, ...]:
        """What the person whom it costs most is in: all queries, or one."""
        releases = self.releases()
        return (max(releases, key=lambda release: release.mu),) if self.split else releases


def few_enough(rows: int) -> None:
    if rows > MOST_PEOPLE:
        raise NotSecure(f"Expected at most {MOST_PEOPLE} people with secure noise, got {rows}.")
