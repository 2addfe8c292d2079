"""What bandits under continual release share: a public schedule of steps, and one release at the end of each."""

import dataclasses
import functools
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np

from tacit import checks
from tacit.bandits import actions as declared_actions
from tacit.bandits import folders
from tacit.bandits.actions import Declared
from tacit.bandits.base import Bandit
from tacit.bandits.joint.earnings import Earned
from tacit.bandits.joint.forms import form
from tacit.bandits.joint.summing import Summer
from tacit.bandits.joint.turns import Turns
from tacit.bandits.joint.weeks import Weeks, fewest_leaves, most_weeks
from tacit.bandits.persons import MODES, Persons
from tacit.data import Array, Integers, Raw, Released
from tacit.features.schema import Schema
from tacit.kernels.continual import PrefixState
from tacit.kernels.rounds import BOUNDARY, CHOICES, Schedule, next_boundary
from tacit.lock import locked
from tacit.mechanisms.continual import Continual
from tacit.mechanisms.grid import on_grid
from tacit.privacy import gaussian, settings
from tacit.privacy.budget import Budget
from tacit.privacy.certificate import Certificate, certify
from tacit.privacy.ledger import GaussianRelease, Release
from tacit.privacy.noise import Secure, generator_of
from tacit.privacy.persons import SEVERAL_WEEKS, PersonClaim

FARTHEST = 10**12  # choices that the schedule is planned for where there is no horizon
LOGGED = (
    "{} of the choices are rows of a log (learn_log), protected like other rounds. If the log's policy learnt from "
    "people, what one person was offered may tell of another; that happened before, and is not covered."
)


class Bounded(Protocol):
    """A contribution."""

    @property
    def sensitivity(self) -> float: ...
    @property
    def several(self) -> float: ...


class ContinualState(Protocol):
    @property
    def counts(self) -> Integers: ...  # choices, the choice count at which the open step closes, and more
    @property
    def prefix(self) -> PrefixState: ...


@dataclass(kw_only=True, eq=False)
class ContinualBandit(Bandit):
    """Contributions are summed in the open step. When the schedule closes it, the mechanism releases the sum of all
    steps with noise, and the estimate follows from what was released and from nothing else.

    features: how a person's fields become vectors, where `choose` is to take fields; `dim` follows from it. Without,
    `choose` takes vectors.

    max_rounds_per_person: the noise is made for replacing a person in so many rounds. on_limit: what a person beyond
    them gets, "refuse" (PersonLimit) or "serve" without learning; with the settings below everybody is served. teach:
    each round may teach with that probability, by a secret coin thrown when it is chosen. week: the rounds are those of
    a week of so many choices, and so is the claim; weeks: in how many weeks a person may teach, for a claim about a
    person. average: a person's rounds count as one in each step, by their mean, and `max_rounds_per_person` is a number
    of steps. docs/persons.md says which to choose.

    A bandit sets `mechanism` and `_schedule`, and says what its estimate is (`_update`) and what its releases cost
    (`_releases`)."""

    dim: int = 0
    features: Schema | None = None
    budget: Budget
    radius: float = 1.0
    max_rounds_per_person: int | None = None
    on_limit: str = "refuse"
    teach: float = 1.0
    week: float | None = None
    weeks: int | None = None
    average: bool = False
    source: Any = field(default_factory=Secure)
    mechanism: Continual = field(init=False, repr=False)
    _schedule: Schedule = field(init=False, repr=False)
    _declared: tuple[Declared, ...] = field(init=False, repr=False)  # its actions, where they have names
    _live: Integers = field(init=False, repr=False)  # the blocks that the estimate is of
    _logged: int = field(default=0, init=False, repr=False)  # choices that were rows of a log
    _turns: Turns | None = field(default=None, init=False, repr=False)  # RAW: where answers are counted
    _caught: Raw | None = field(default=None, init=False, repr=False)  # what takes a contribution instead of the sums
    _state: ContinualState = field(init=False, repr=False)

    @abstractmethod
    def _update(self, released: Released) -> None:
        """The new estimate, from the sums as they were released."""

    @abstractmethod
    def _releases(self, steps: int) -> tuple[Release, ...]:
        """What has happened to the data after that many steps: for the ledger."""

    @abstractmethod
    def init(self) -> ContinualState: ...

    def _planned(self) -> tuple[Release, ...]:
        """What will have happened at the end of the schedule."""
        return self._releases(self.mechanism.leaves)

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

    def _check_persons(self) -> None:
        checks.one_of(MODES, on_limit=self.on_limit)
        if self.teach != 1:
            checks.probability(teach=self.teach)
        if self.max_rounds_per_person is not None:
            checks.positive_int(max_rounds_per_person=self.max_rounds_per_person)
        elif self.on_limit != "refuse" or self.teach < 1 or self.week is not None or self.average:
            raise ValueError("Expected max_rounds_per_person with on_limit, teach, week and average, got none.")
        if self.week is not None:
            checks.positive(week=self.week)
        if self.weeks is not None:
            checks.positive_int(weeks=self.weeks)
            if self.week is None:
                raise ValueError("Expected week, the choices in one, with weeks, got none.")
        if (self.week is not None or self.average) and not self._counts_answers:
            raise ValueError(f"Expected a bandit that counts answers (JointGLM), got {type(self).__name__}.")

    @property
    def _mu(self) -> float:
        """The budget in terms of Gaussian noise, for one of a person's rounds."""
        return gaussian.mu(self.budget) / (self.max_rounds_per_person or 1)

    _counts_answers = False  # whether it knows weeks and averages

    @property
    def _serves(self) -> bool:
        """Whether a person beyond the limit is served. Who counts answers, or secret coins, could not tell."""
        return self.on_limit == "serve" or self._always_serves

    @property
    def _always_serves(self) -> bool:
        return self.teach < 1 or self._later

    @property
    def _later(self) -> bool:
        """Whether rounds are counted when their answers come."""
        return self.week is not None or self.average

    def _columns(self, steps: Schedule) -> dict[str, int]:
        """How many columns of the encoder one person may be in, for the mechanism: see mechanisms.together."""
        if self.week is None:
            return {}
        apart = fewest_leaves(steps, self.week, self.horizon or FARTHEST)
        return {"weeks": min(self.weeks or 1, most_weeks(self.week, self.horizon or FARTHEST)), "apart": apart}

    def _bound(self, contribution: Bounded) -> float:
        """How far one person moves the sums, for each unit of the column norm."""
        return contribution.sensitivity if self.weeks in (None, 1) else contribution.several

    def _limits(self) -> Persons:
        if self._later:
            assert self.max_rounds_per_person is not None
            weeks = None if self.week is None else Weeks(self._schedule, self.week)
            self._turns = Turns(self.max_rounds_per_person, weeks=weeks, most_weeks=self.weeks)
        coins = self.teach < 1 and not self.source.private  # in experiments they follow from the seed
        key = generator_of(self.source).bytes(32) if coins else None
        options: dict[str, Any] = {"serve": self._serves, "teach": self.teach, "later": self._later, "key": key}
        return Persons(self.max_rounds_per_person, **options)

    def _take(self, x: Array, reward: float, person: bytes | None) -> None:
        if person is None or self._turns is None:
            self._learn(x, reward)
        elif self._turns.teaches(person, self._steps):
            if not self.average:
                self._learn(x, reward)
                return
            self._caught = Raw(np.zeros(self.mechanism.size))
            self._learn(x, reward)
            v, self._caught = self._caught, None
            self.mechanism.exchange(self._state.prefix, *self._turns.join(person, v))

    def _absorb(self, add: Callable[[Raw], None]) -> None:
        """One contribution: `add` adds it to the vector that it is given."""
        if self._caught is None:
            self.mechanism.absorb(self._state.prefix, add)
        else:
            add(self._caught)

    def _with_noise(
        self, noiseless: Continual, sensitivity: float, mu: float, *, sigma: float | None = None
    ) -> Continual:
        """A mechanism with the noise that makes it mu-GDP, or with that of std `sigma` if given: whole numbers on a
        grid where people's data are protected, floats in experiments."""
        if self.source.private and mu < math.inf:
            return on_grid(noiseless, sensitivity=sensitivity, mu=mu, sigma=sigma)
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
            counts = self._state.counts
            released = self.mechanism.release(self._state.prefix, self.source)
            counts[BOUNDARY] = next_boundary(counts[CHOICES], *self._schedule)
            if self._turns is not None:
                self._turns.move(self._steps)
            self._update(released)

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
            rounds=self.horizon or self.choices,
            person=self._person(),
            unnamed=self._persons.unnamed,
            policy_given=self._policy_given,
            features=self.features,
            actions=declared_actions.words(self._declared),
            caveats=self._told(),
        )

    def _person(self) -> PersonClaim | None:
        """What the claim is for, where it is for a person or a person's week."""
        if self.max_rounds_per_person is None:
            return None
        over = {}
        if self.week is not None and self.weeks is None:
            most = most_weeks(self.week, self.horizon or FARTHEST)
            for weeks in sorted({min(weeks, most) for weeks in SEVERAL_WEEKS} - {1}):
                norm = self.mechanism.sum_norm_after(self.mechanism.leaves, weeks)
                planned = [r for r in self._planned() if isinstance(r, GaussianRelease)]
                over[weeks] = [msgspec.structs.replace(release, column_norm=norm) for release in planned]
        return PersonClaim(self.max_rounds_per_person, self.week, self.weeks, self.average, over)

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

    def _numbers(self, size: int) -> str:
        """How many numbers are released, in words."""
        if self._blocks == 1:
            return f"{size} numbers"
        if self._shared:
            return (
                f"{size} numbers ({self._blocks} blocks beside {self._shared} shared features, each user in one block)"
            )
        return f"{size} numbers ({self._blocks} blocks of {size // self._blocks}, each user in one of them)"

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


def steps_before(horizon: int, schedule: Schedule) -> int:
    """How many steps the schedule closes before the horizon."""
    if schedule.growth == 1.0:
        return (horizon - 1) // int(schedule.first)
    count, before, boundary = 0, 0, next_boundary(0, *schedule)
    while boundary < horizon and boundary - before < schedule.longest:
        count, before, boundary = count + 1, boundary, next_boundary(boundary, *schedule)
    if boundary < horizon:  # from here on all steps are as long as this one
        count += 1 + (horizon - 1 - boundary) // (boundary - before)
    return count
