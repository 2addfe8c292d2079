"""Whose rounds teach, and what the claim is for: a bandit that knows persons, and weeks of them."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from tacit import checks
from tacit.algorithms import accounting, forgetting
from tacit.algorithms.forgetting import FARTHEST
from tacit.algorithms.weeks import Weeks, fewest_leaves
from tacit.bandits.base import Bandit
from tacit.bandits.joint.turns import Turns
from tacit.bandits.persons import MODES, Persons
from tacit.data import Array, Integers, Raw
from tacit.kernels.continual import PrefixState
from tacit.kernels.rounds import Schedule
from tacit.mechanisms.continual import Continual
from tacit.privacy import gaussian, relations
from tacit.privacy.budget import Budget
from tacit.privacy.ledger import Release
from tacit.privacy.noise import Secure
from tacit.privacy.persons import PersonClaim


class Bounded(Protocol):
    """A contribution."""

    @property
    def sensitivity(self) -> float: ...
    @property
    def norm(self) -> float: ...


class ContinualState(Protocol):
    @property
    def counts(self) -> Integers: ...  # choices, the choice count at which the open step closes, and more
    @property
    def prefix(self) -> PrefixState: ...


@dataclass(kw_only=True, eq=False)
class PersonalBandit(Bandit):
    """max_rounds_per_person: the noise is made for replacing a person in so many rounds. on_limit: what a person beyond
    them gets, "refuse" (PersonLimit, the default) or "serve" without learning; with week everybody is served. week: the
    rounds are those of a week of so many choices, or "7 days" of `per_day` choices that are expected, and so is the
    claim. docs/persons.md says which to choose."""

    budget: Budget
    max_rounds_per_person: int | None = None
    on_limit: str | None = None
    week: float | str | None = None
    per_day: float | None = None
    source: Any = field(default_factory=Secure)
    mechanism: Continual = field(init=False, repr=False)
    _schedule: Schedule = field(init=False, repr=False)
    _turns: Turns | None = field(default=None, init=False, repr=False)  # RAW: where answers are counted
    _state: ContinualState = field(init=False, repr=False)

    @abstractmethod
    def _releases(self, steps: int) -> tuple[Release, ...]:
        """What has happened to the data after that many steps: for the ledger."""

    def _planned(self) -> tuple[Release, ...]:
        """What will have happened at the end of the schedule."""
        return self._releases(self.mechanism.leaves)

    def _check_persons(self) -> None:
        self._count_days()
        if self.max_rounds_per_person is not None:
            checks.positive_int(max_rounds_per_person=self.max_rounds_per_person)
        elif self.on_limit == "serve" or self._later:
            raise ValueError("Expected max_rounds_per_person with on_limit and week, got none.")
        if self._later and not self._counts_answers:
            raise ValueError(f"Expected a bandit that counts answers (JointGLM), got {type(self).__name__}.")
        self.on_limit = self._limit(self.on_limit)

    def _limit(self, given: str | None) -> str:
        """What a person beyond the limit gets; ValueError if that cannot be what was asked for."""
        if given is None:
            return "serve" if self._serves else "refuse"
        checks.one_of(MODES, on_limit=given)
        if given == "refuse" and self._later:
            raise ValueError("Expected on_limit=serve with week, which refuses nobody, got refuse.")
        return given

    _lengths: ClassVar[tuple[str, ...]] = ("week",)  # settings that may be given in days

    def _count_days(self) -> None:
        """From here on they are numbers of rounds."""
        given = {name: getattr(self, name) for name in self._lengths}
        if self.per_day is not None and not any(isinstance(length, str) for length in given.values()):
            names = " or ".join(self._lengths)
            raise ValueError(f'Expected per_day with {names} in days, as "30 days", got it without.')
        for name, length in given.items():
            if length is not None:
                setattr(self, name, forgetting.rounds(length, self.per_day, name))
        self.per_day = None

    @property
    def _week(self) -> float | None:
        assert not isinstance(self.week, str)
        return self.week

    @property
    def _mu(self) -> float:
        """The budget in terms of Gaussian noise, for one of a person's rounds."""
        return gaussian.mu(self.budget) / (self.max_rounds_per_person or 1)

    _public = False  # whether features and offered arms are declared public

    @property
    def _relation(self) -> str:
        """The neighbours that the claim is for."""
        return relations.named(self.budget.adjacency, public=self._public)

    _counts_answers = False  # whether it knows weeks

    @property
    def _serves(self) -> bool:
        """Whether a person beyond the limit is served. Who counts answers could not tell."""
        return self.on_limit == "serve" or self._later

    @property
    def _later(self) -> bool:
        """Whether rounds are counted when their answers come."""
        return self.week is not None

    def _columns(self, steps: Schedule) -> dict[str, int]:
        """How many leaves a week has at least, for the mechanism: see mechanisms.together."""
        return {} if self._week is None else {"apart": fewest_leaves(steps, self._week, self.horizon or FARTHEST)}

    def _bound(self, contribution: Bounded) -> float:
        """How far one person moves the sums, for each unit of the column norm. Zero-out: in one world there is nothing,
        and no row of C x moves by more than `norm` times the sum of its entries in the person's columns, which are not
        negative: all rows together by the norm of the sum of those columns, however many there are."""
        if self.budget.adjacency == relations.ZERO_OUT:
            return contribution.norm
        return contribution.sensitivity

    def _limits(self) -> Persons:
        if self._week is not None:
            assert self.max_rounds_per_person is not None
            self._turns = Turns(self.max_rounds_per_person, Weeks(self._schedule, self._week))
        return Persons(self.max_rounds_per_person, serve=self._serves, later=self._later)

    def _take(self, x: Array, reward: float, person: bytes | None) -> None:
        if person is None or self._turns is None or self._turns.teaches(person, self._steps):
            self._learn(x, reward)

    def _absorb(self, add: Callable[[Raw], None]) -> None:
        """One contribution: `add` adds it to the vector that it is given."""
        self.mechanism.absorb(self._state.prefix, add)

    def _person(self) -> PersonClaim | None:
        """What the claim is for, where it is for a person or a person's week."""
        return accounting.person(
            self._planned(), self.mechanism, self.max_rounds_per_person, self._week, self.horizon or FARTHEST
        )
