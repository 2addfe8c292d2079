"""What bandits under continual release share: persons, a public schedule of steps, a release at the end of each."""

import dataclasses
import functools
import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from reticent import checks
from reticent.core.live import Live, certain
from reticent.core.validation import Persons
from reticent.data import Integers, Released
from reticent.features.schema import Schema
from reticent.kernels.continual import Closing
from reticent.kernels.rounds import BOUNDARY, CHOICES, Schedule, next_boundary
from reticent.mechanisms.continual import Continual
from reticent.mechanisms.memory import PrefixSums
from reticent.mechanisms.recursive_grid import on_integers
from reticent.privacy import gaussian, relations, settings
from reticent.privacy.budget import Budget
from reticent.privacy.certificate import Certificate, certify
from reticent.privacy.ledger import Release
from reticent.privacy.noise import Secure
from reticent.privacy.persons import PersonClaim


class StepState(Protocol):
    @property
    def counts(self) -> Integers: ...  # choices, the number of them at which the open step closes, and more
    @property
    def prefix(self) -> PrefixSums: ...


@dataclass(kw_only=True, eq=False)
class ContinualBandit(Live):
    """Contributions are summed in the open step. When the schedule closes it, the mechanism releases the sum of all
    steps with noise, and the estimate follows from what was released and from nothing else.

    max_rounds_per_person: the noise is made for replacing a person in so many rounds, and every choice says whose it
    is. Beyond them people are served and teach nothing (docs/persons.md).
    features: how a person's fields become vectors, where `choose` is to take fields; `dim` follows from it. Without,
    `choose` takes vectors.

    A bandit sets `mechanism` and `_schedule`, and says what its estimate is (`_update`) and what its releases cost
    (`_releases`)."""

    budget: Budget
    dim: int = 0
    features: Schema | None = None
    radius: float = 1.0
    max_rounds_per_person: int | None = None
    source: Any = field(default_factory=Secure)
    mechanism: Continual = field(init=False, repr=False)
    _schedule: Schedule = field(init=False, repr=False)
    _state: StepState = field(init=False, repr=False)
    _outdated: bool = field(default=False, init=False, repr=False)  # the estimate, while a step closes
    _public = False  # whether features and offered arms are declared public

    @abstractmethod
    def _update(self, released: Released) -> None:
        """The new estimate, from the sums as they were released."""

    @abstractmethod
    def _releases(self, steps: int) -> tuple[Release, ...]:
        """What has happened to the data after that many steps: for the ledger."""

    _propensity = certain

    def _planned(self) -> tuple[Release, ...]:
        """What will have happened at the end of the schedule."""
        return self._releases(self.mechanism.leaves)

    # settings and noise

    def _check(self) -> None:
        """The settings that all have: ValueError if one is wrong."""
        settings.check(self)
        settings.dimension(self)
        if self.horizon is not None:
            checks.positive_int(horizon=self.horizon)
            self.horizon = int(self.horizon)
        if self.max_rounds_per_person is not None:
            checks.positive_int(max_rounds_per_person=self.max_rounds_per_person)

    def _limits(self) -> Persons:
        return Persons(self.max_rounds_per_person)

    @property
    def _mu(self) -> float:
        """The budget in terms of Gaussian noise, for one of a person's rounds."""
        return gaussian.mu(self.budget) / (self.max_rounds_per_person or 1)

    @property
    def _relation(self) -> str:
        """The neighbours that the claim is for."""
        return relations.named(public=self._public)

    def _with_noise(
        self, noiseless: Continual, sensitivity: float, mu: float, *, sigma: float | None = None
    ) -> Continual:
        """A mechanism with the noise that makes it mu-GDP, or with that of std `sigma` if given: whole numbers on a
        grid where people's data are protected, floats in experiments."""
        if self.source.private and mu < math.inf:
            return on_integers(noiseless, sensitivity=sensitivity, mu=mu, sigma=sigma)
        sigma = sensitivity * noiseless.column_norm / mu if sigma is None else sigma
        return dataclasses.replace(noiseless, sigma=sigma)

    def _plan_numbers(self) -> list[float]:
        return [self.mechanism.step, self.mechanism.sigma, self.mechanism.column_norm]

    # steps

    def _opened(self, size: int) -> Integers:
        """The counts of a new state: nobody has chosen, and the first step is open."""
        counts = np.zeros(size, np.int64)
        counts[BOUNDARY] = next_boundary(0, *self._schedule)
        return counts

    @property
    def _full(self) -> bool:
        """Whether the open step is."""
        return bool(self._state.counts[CHOICES] >= self._state.counts[BOUNDARY])

    @property
    def _due(self) -> bool:
        return self._outdated or self._full

    def _advance(self) -> None:
        if self._full:
            self._outdated = True
            boundary = self._state.counts[BOUNDARY : BOUNDARY + 1]
            closing = Closing(boundary, next_boundary(self.choices, *self._schedule))
            self._state.prefix.release(self.source, closing)
        if self._outdated:  # now, or since a choice that was interrupted
            self._update(self._state.prefix.released)
            self._outdated = False

    @property
    def _steps(self) -> int:
        return self._state.prefix.step

    @functools.cached_property
    def _capacity(self) -> int | None:
        return self.mechanism.capacity

    # what may be shown

    @property
    def privacy(self) -> Certificate:
        most = self.max_rounds_per_person
        return certify(
            type(self).__name__,
            model="joint",
            budget=self.budget,
            releases=self._planned(),
            spent=self._releases(self._steps),
            source=self.source,
            horizon=self.horizon,
            rounds=self.choices,
            person=None if most is None else PersonClaim(most),
            policy_given=self._policy_given,
            features=self.features,
        )
