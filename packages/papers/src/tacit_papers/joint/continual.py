"""What bandits under continual release share: persons, a public schedule of steps, a release at the end of each."""

import dataclasses
import functools
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from tacit.bandits.base import Bandit
from tacit.bandits.joint.summing import Summer

from tacit import checks
from tacit.core import actions as declared_actions
from tacit.core import logs, repeated
from tacit.core.actions import Declared
from tacit.core.claim import LOGGED
from tacit.core.persons import Persons
from tacit.data import Integers, Released
from tacit.features import frames
from tacit.features.schema import Schema
from tacit.kernels.continual import Closing
from tacit.kernels.rounds import BOUNDARY, CHOICES, Schedule, next_boundary
from tacit.lock import locked
from tacit.mechanisms.continual import Continual
from tacit.mechanisms.entering import NOBODY
from tacit.mechanisms.prefix import PrefixSums
from tacit.mechanisms.recursive_grid import on_integers
from tacit.privacy import gaussian, relations, settings
from tacit.privacy.budget import Budget
from tacit.privacy.certificate import Certificate, certify
from tacit.privacy.ledger import Release
from tacit.privacy.noise import Secure
from tacit.privacy.persons import PersonClaim


class StepState(Protocol):
    @property
    def counts(self) -> Integers: ...  # choices, the number of entries at which the open step closes, and more
    @property
    def prefix(self) -> PrefixSums: ...


@dataclass(kw_only=True, eq=False)
class ContinualBandit(Bandit):
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
    _declared: tuple[Declared, ...] = field(init=False, repr=False)  # its actions, where they have names
    _outdated: bool = field(default=False, init=False, repr=False)  # the estimate, while a step closes
    _logged: int = field(default=0, init=False, repr=False)  # choices that were rows of a log
    _logs: frozenset[str] = field(default=frozenset(), init=False, repr=False)  # RAW: digests of logs that were learnt
    _public = False  # whether features and offered arms are declared public

    @abstractmethod
    def _update(self, released: Released) -> None:
        """The new estimate, from the sums as they were released."""

    @abstractmethod
    def _releases(self, steps: int) -> tuple[Release, ...]:
        """What has happened to the data after that many steps: for the ledger."""

    def _planned(self) -> tuple[Release, ...]:
        """What will have happened at the end of the schedule."""
        return self._releases(self.mechanism.leaves)

    # settings and noise

    def _check(self) -> None:
        """The settings that all have: ValueError if one is wrong."""
        settings.check(self)
        settings.dimension(self)
        self._blocks = self.features.blocks if self._takes_blocks and self.features is not None else 1
        self._declared = declared_actions.of(self.features)
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

    @property
    def _own_dim(self) -> int:
        """Dimensions of what one block is about."""
        return self.dim // self._blocks

    # steps

    def _opened(self, size: int) -> Integers:
        """The counts of a new state: nobody has chosen, and the first step is open."""
        counts = np.zeros(size, np.int64)
        counts[BOUNDARY] = next_boundary(0, *self._schedule)
        return counts

    @property
    def _entries(self) -> int:
        """Choices that the schedule counts."""
        return int(self._state.counts[CHOICES])

    @property
    def _due(self) -> bool:
        return bool(self._entries >= self._state.counts[BOUNDARY])

    def _advance(self) -> None:
        if self._due:
            self._outdated = True
            self._state.prefix.release(self.source, self._closing())
        if self._outdated:  # now, or since a choice that was interrupted
            self._persons.move(self._steps)
            self._update(self._state.prefix.released)
            self._outdated = False

    def _closing(self) -> Closing:
        """What changes together with the mechanism's state when the open step closes."""
        return Closing(self._state.counts[BOUNDARY : BOUNDARY + 1], next_boundary(self._entries, *self._schedule))

    @property
    def _steps(self) -> int:
        return self._state.prefix.step

    @functools.cached_property
    def _capacity(self) -> int | None:
        return self.mechanism.capacity

    # what may be shown

    @property
    def privacy(self) -> Certificate:
        return certify(
            type(self).__name__,
            model="joint",
            budget=self.budget,
            releases=self._planned(),
            spent=self._releases(self._steps),
            source=self.source,
            horizon=self.horizon,
            rounds=self.choices,
            person=self._person(),
            policy_given=self._policy_given,
            features=self.features,
            actions=declared_actions.words(self._declared),
            caveats=self._caveats(),
        )

    def _person(self) -> PersonClaim | None:
        """What the claim is for, where it is for a person."""
        most = self.max_rounds_per_person
        return None if most is None else PersonClaim(most)

    def _caveats(self) -> tuple[str, ...]:
        """What the certificate has to say beside the claim."""
        return (LOGGED.format(self._logged),) if self._logged else ()

    # what a file has beside

    def _saved(self) -> dict[str, Any]:
        return super()._saved() | {
            "logged": self._logged,
            "logs": sorted(self._logs),
            "actions": declared_actions.written(self._declared),
        }

    def _resume(self, body: dict[str, Any], where: str) -> None:
        super()._resume(body, where)
        self._logged, self._logs = body.get("logged", 0), frozenset(body.get("logs", ()))
        if body.get("actions"):
            self._declare(declared_actions.read(body["actions"]))

    # actions and logs

    @property
    def actions(self) -> tuple[Declared, ...]:
        """Those that the schema names, with the numbers of choices since and until when each is offered. Public."""
        return self._declared

    def add_action(self, name: str) -> None:
        """From now on that action may be offered, too, in the next of the schema's `max_actions` places."""
        self._redeclare(lambda schema: schema.with_action(name))

    def retire_action(self, name: str) -> None:
        """From now on that action is not offered any more, for good. Choices that were made may still be answered."""
        self._redeclare(lambda schema: schema.without_action(name))

    @locked
    def _redeclare(self, change: Callable[[Schema], Schema]) -> None:
        """At the present number of choices."""
        self._own()
        if self.features is None:
            raise ValueError("Expected features=Schema(...), which names actions, got none.")
        self._declare(declared_actions.changed(self._declared, change(self.features), self.choices))

    def _declare(self, declared: tuple[Declared, ...]) -> None:
        """What may be asked for."""
        assert self.features is not None
        self._declared, self.features = declared, declared_actions.schema_of(self.features, declared)
        self.__dict__.pop("_door", None)

    @locked
    def learn_log(self, table: Any, *, actions: Any = None) -> Mapping[int, str]:
        """Learn from logged rounds whose people are protected by the same budget, before or between live choices: each
        row is a choice that was made elsewhere, and its reward. Returns row -> reason for those that were refused;
        ValueError, and nothing is learnt, if more than a tenth would be for what is in them.

        table: a frame or a mapping of columns: `reward` (none: it never came), `action`, `person` where
        max_rounds_per_person is set, and the features, as fields of the schema, x0, x1, ... or `arms` (docs/
        coming-from.md). actions: their names in the order of their coordinates, or what the schema takes. A row must be
        learnt once: the same log is refused a second time, and on a database `Stored.learn_log` goes on after a crash.
        """
        if not isinstance(table, logs.LongLog):
            table = frames.columns(table)  # an Arrow stream is read once
        else:
            logs.check_columns(self._door, table.fields)
            sums = table.sums(self._door, actions, anywhere=self._summed_anywhere)
            if sums is not None:
                logs.check_sums(sums, table, self.rewards)
                self._begin(table, table.count)
                return self._learn_steps(table, sums)
        return self._learn_rows(table, actions)

    def _begin(self, table: Any, count: int) -> None:
        """HorizonReached or ValueError for a log that has no room or was learnt before. From now on it was: also if
        this call is interrupted."""
        self._room(count)
        digest = repeated.digest(self._door, table, self._persons.key)
        if digest is not None:
            if digest in self._logs:
                raise ValueError(repeated.TWICE)
            self._logs |= {digest}

    def _learn_rows(self, table: Any, actions: Any) -> dict[int, str]:
        """Row -> reason for those that were refused."""
        count, rows_from = logs.source(self._door, table, actions)
        logs.check_rows(rows_from(0), self.rewards, self._persons.digest)
        self._begin(table, count)
        refused = {}
        for row, (x, reward, person) in enumerate(rows_from(0)):
            self._step()
            self._logged += 1
            problem = logs.problem(x, reward, self.rewards)
            mark = NOBODY
            try:
                mark = self._persons.count(self._persons.digest(person))  # whatever is in the row
            except ValueError as error:
                x, problem = None, problem or str(error)
            if problem is not None:
                refused[row] = problem
            if x is None:
                self._state.counts[CHOICES] += 1
                continue
            ticket = self._ticket(self._logged_row(x), mark)
            if problem is None and not logs.is_silent(reward):
                self.observe(ticket, float(reward))
        return refused

    def _learn_steps(self, log: logs.LongLog, sums: logs.LogSums) -> dict[int, str]:
        """Step by step: the rows of a step are summed at the estimate that it opened with, wherever that is done."""
        refused: dict[int, str] = {}
        first = 0
        while first < log.count:
            self._step()
            counts = self._state.counts
            count = min(log.count - first, int(counts[BOUNDARY] - counts[CHOICES]))
            summer = self._summer()
            assert summer is not None
            total, wrong = sums(first, count, summer)
            self._state.prefix.join(total)  # a row counts for no more than the bandit learns
            counts[CHOICES] += count
            self._logged += count
            refused |= logs.reasons(wrong, first, self.rewards)
            first += count
        return refused

    def _summer(self) -> Summer | None:
        """What sums the contributions of rows at the present estimate, anywhere; None where they have to be learnt one
        by one."""
        return None

    @property
    def _summed_anywhere(self) -> bool:
        """Whether there is one, of the class that says what a row adds."""
        homes = {next(kind for kind in type(self).__mro__ if name in kind.__dict__) for name in ("_summer", "_join")}
        return self._persons.most is None and self._summer() is not None and len(homes) == 1
