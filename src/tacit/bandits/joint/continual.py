"""What bandits under continual release share: a public schedule of steps, and one release at the end of each."""

import dataclasses
import functools
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tacit import checks
from tacit.algorithms import accounting
from tacit.algorithms.earnings import Earned
from tacit.algorithms.forgetting import steps_before as steps_before
from tacit.bandits import actions as declared_actions
from tacit.bandits import folders
from tacit.bandits.actions import Declared
from tacit.bandits.joint.forms import form
from tacit.bandits.joint.personal import ContinualState, PersonalBandit
from tacit.bandits.joint.summing import Summer
from tacit.data import Array, Integers, Released
from tacit.features.schema import Schema
from tacit.kernels.continual import NOTHING, Also
from tacit.kernels.rounds import BOUNDARY, CHOICES, next_boundary
from tacit.lock import locked
from tacit.mechanisms.continual import Continual
from tacit.mechanisms.recursive_grid import on_integers
from tacit.privacy import settings
from tacit.privacy.certificate import Certificate, certify

LOGGED = (
    "{} of the choices are rows of a log (learn_log), protected like other rounds. If the log's policy learnt from "
    "people, what one person was offered may tell of another; that happened before, and is not covered."
)


@dataclass(kw_only=True, eq=False)
class ContinualBandit(PersonalBandit):
    """Contributions are summed in the open step. When the schedule closes it, the mechanism releases the sum of all
    steps with noise, and the estimate follows from what was released and from nothing else.

    features: how a person's fields become vectors, where `choose` is to take fields; `dim` follows from it. Without,
    `choose` takes vectors.

    A bandit sets `mechanism` and `_schedule`, and says what its estimate is (`_update`) and what its releases cost
    (`_releases`)."""

    dim: int = 0
    features: Schema | None = None
    radius: float = 1.0
    _declared: tuple[Declared, ...] = field(init=False, repr=False)  # its actions, where they have names
    _live: Integers = field(init=False, repr=False)  # the blocks that the estimate is of
    _outdated: bool = field(default=False, init=False, repr=False)  # the estimate, while a step closes
    _logged: int = field(default=0, init=False, repr=False)  # choices that were rows of a log

    @abstractmethod
    def _update(self, released: Released) -> None:
        """The new estimate, from the sums as they were released."""

    @abstractmethod
    def init(self) -> ContinualState: ...

    # settings and noise

    def _check(self) -> None:
        """The settings that all have: ValueError if one is wrong."""
        settings.check(self)
        settings.dimension(self)
        self._blocks, self._shared = form(self)
        self._declared = declared_actions.of(self.features)
        self._live = self._estimated(self._declared)
        if self.horizon is not None:
            checks.positive_int(horizon=self.horizon)
            self.horizon = int(self.horizon)
        self._check_persons()

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
    def _due(self) -> bool:
        return bool(self._state.counts[CHOICES] >= self._state.counts[BOUNDARY])

    def _advance(self) -> None:
        if self._due:
            self._outdated = True
            self.mechanism.release(self._state.prefix, self.source, self._also())
        if self._outdated:  # now, or since a choice that was interrupted
            if self._turns is not None:
                self._turns.move(self._steps)
            self._update(self._state.prefix.released)
            self._outdated = False

    def _also(self) -> Also:
        """What changes together with the mechanism's state when the open step closes."""
        counts = self._state.counts
        following = next_boundary(counts[CHOICES], *self._schedule)
        return NOTHING._replace(boundary=counts[BOUNDARY : BOUNDARY + 1], following=following)

    @property
    def _steps(self) -> int:
        return int(self._state.prefix.noise.step[0])

    @functools.cached_property
    def _capacity(self) -> int | None:
        return self.mechanism.capacity

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
            unnamed=self._persons.unnamed,
            policy_given=self._policy_given,
            features=self.features,
            actions=declared_actions.words(self._declared),
            caveats=self._told(),
        )

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
        """At the present number of choices; on disk where the bandit is durable."""
        self._own()
        if self.features is None:
            raise ValueError("Expected features=Schema(...), which names actions, got none.")
        self._declare(declared_actions.changed(self._declared, change(self.features), self.choices))
        self._live = self._estimated(self._declared)
        self._reestimate()
        if self.durable is not None:
            self._file.save(self, Path(self.durable))

    def _declare(self, declared: tuple[Declared, ...]) -> None:
        """What may be asked for. The estimate follows with `_live` and `_reestimate`."""
        assert self.features is not None
        self._declared, self.features = declared, declared_actions.schema_of(self.features, declared)

    def _estimated(self, declared: tuple[Declared, ...]) -> Integers:
        """The blocks that an estimate is made of, where those are the actions."""
        return declared_actions.live(declared, self._blocks)

    def _counted(self, x: Array) -> Array:
        """A choice is made: what is kept of it, of these numbers. Where contexts are public, its own joins the open
        step (`_also`)."""
        return x

    def _numbers(self, size: int) -> str:
        """How many numbers are released, in words."""
        return accounting.numbers(size, self._blocks, self._shared)

    @property
    def _own_dim(self) -> int:
        """Dimensions of what one block is about."""
        return (self.dim - self._shared) // self._blocks

    def _reestimate(self) -> None:
        """The estimate at the present release for the actions that are offered now, if it depends on them."""

    @locked
    def learn_log(self, table: Any, *, actions: Any = None, engine: str = "local") -> Mapping[int, str]:
        """Learn from logged rounds whose people are protected by the same budget, before or between live choices: each
        row is a choice that was made elsewhere, and its reward. Returns row -> reason for those that were refused.

        table: a frame or a mapping of columns: `reward` (none: it never came), `action`, `person` where
        max_rounds_per_person is set, and the features, as fields of the schema, x0, x1, ... or `arms` (docs/
        coming-from.md). actions: their names in the order of the blocks, or what the schema takes. A row must be
        learnt once: after a crash a durable bandit's `choices` tells which rows it has.

        A folder of Parquet files, in the order of their names, may be given by its path; with engine="ray" the workers
        of Ray sum its steps (docs/cluster.md), to the same bits."""
        return folders.learn(self, table, actions, engine)

    def _summer(self) -> Summer | None:
        """What sums the contributions of rows at the present estimate, anywhere; None where they have to be learnt one
        by one."""
        return None

    def _told(self) -> tuple[str, ...]:
        """What the certificate has to say beside the claim."""
        return (LOGGED.format(self._logged),) if self._logged else ()


class SummedBandit(ContinualBandit):
    """One whose whole state is the released sums: what a store can hold, and show."""

    @property
    def _weighs(self) -> bool:
        """Whether a choice is kept with its propensity, which then is computed with each."""
        return False

    @property
    def earned(self) -> Earned | None:
        """Estimates of what is earned, of a bandit that releases any; None if there are none."""
        return None

    @abstractmethod
    def _prior_noise(self, std: float) -> None:
        """From now on what is released is used together with a prior whose noise has that std."""

    @abstractmethod
    def _beliefs(self, features: Array, level: float) -> tuple[Array, Array]:
        """For each row x of (n, d), from released sums alone: the estimate of <x, theta*>, and half the width of its
        interval."""

    @abstractmethod
    def _offers(self, features: Array) -> Callable[[], Array]:
        """What computes, for (K, d) arms, the probability of each at the present state: a function of released sums
        alone, which draws nothing from `source` or `policy` and counts nobody."""

    @abstractmethod
    def _mean(self, z: Array) -> Array:
        """The mean reward where <x, theta*> is z."""
