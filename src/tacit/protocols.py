"""What the core asks of an algorithm.

An algorithm is a frozen value: settings in, pure functions out. It holds no state, draws no noise and keeps nobody's
data. An estimate is public and is never written to: the next one is made from it (a fold)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from numpy.random import Generator

from tacit.data import Array, Integers, Raw, Released
from tacit.features.schema import Schema
from tacit.kernels.block import Block
from tacit.kernels.continual import JointState, PrefixState
from tacit.kernels.rounds import Held, Schedule
from tacit.mechanisms.continual import Continual
from tacit.model.chances import Chance
from tacit.model.control import Control
from tacit.privacy.budget import Budget
from tacit.privacy.ledger import Release
from tacit.privacy.persons import PersonClaim

E = TypeVar("E")


@dataclass(frozen=True)
class Limits:
    """Whose choices teach. most: rounds of a person, or of a person's week of so many choices; None: all teach."""

    most: int | None = None
    week: float | None = None


class Adder(NamedTuple):
    """Contributions at one estimate: two compiled functions, and the public numbers that both are given. A row whose
    reward is NaN adds nothing."""

    each: Callable[..., None]  # (rows, rewards, *given, out): floats, row after row
    cells: Callable[..., None]  # (rows, rewards, *given, cell, longest, out): in whole cells of a grid
    given: tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All that follows from settings before anybody comes. Public."""

    name: str  # the bandit's class
    settings: Mapping[str, Any]  # what was given, by name, with defaults filled in
    budget: Budget
    dim: int
    blocks: int  # of coordinates, of which each arm has one to itself: then arms are rows (z, a); 1: there are none
    width: int  # numbers of an arm
    row: int  # numbers that are kept of a choice until it enters
    rewards: tuple[float, float]
    radius: float
    horizon: int | None
    schedule: Schedule
    mechanism: Continual
    limits: Limits
    features: Schema | None  # with the actions of the start
    relation: str
    numbers: tuple[float, ...]  # what the noise is drawn with: a state with others is not opened
    caveats: tuple[str, ...]  # what the certificate says beside the claim
    releases: Callable[[int], tuple[Release, ...]]  # what has happened to the data after so many steps
    person: Callable[[], PersonClaim | None]  # what the claim is for, where it is for a person or a person's week


class Loop(Protocol):
    """Whole simulated rounds, compiled; state and the block's out arrays are changed in place. policy: what choices are
    drawn from; rng: noise."""

    def __call__(
        self, policy: Any, rng: Generator, block: Block, held: Held, state: JointState[PrefixState], live: Integers
    ) -> None: ...


class Algorithm(Protocol[E]):
    @property
    def plan(self) -> Plan: ...

    def after(self, std: float) -> "Algorithm[E]":
        """The same where what is released is used together with a prior, whose noise has that std."""
        ...

    # estimates

    def live(self, declared: Any) -> Integers:
        """The blocks that an estimate is of, where these actions (core.actions.Declared) are declared."""
        ...

    def blank(self, live: Integers) -> E:
        """Before anything was released."""
        ...

    def estimate(self, before: E, released: Released, step: int, live: Integers, chosen: int | None = None) -> E:
        """From the sums as they were released at that step. before: the estimate of the step before; or of this one,
        for other live blocks. chosen: after so many releases the people of this step made their choices, the last of
        them; None: after all before it."""
        ...

    def of_arrays(self, arrays: Any, released: Released, step: int) -> E:
        """The estimate whose arrays these are (`arrays` of it: what compiled loops change), after so many releases, the
        last of which is given."""
        ...

    def pick(self, estimate: E, arms: Array, rng: Generator) -> Integers:
        """The arms for (n, K, width) users."""
        ...

    def chance(self, estimate: E, arms: Array, index: int, *, chosen: bool = True) -> Chance:
        """The probability of `index`, which `pick` chose among (K, width) arms, or, if not, may never choose."""
        ...

    def chances(self, estimate: E, arms: Array) -> Array:
        """The probability of each of (K, width) arms. Draws nothing from anybody's generator."""
        ...

    def beliefs(self, estimate: E, arms: Array, level: float) -> tuple[Array, Array]:
        """For each row x: the estimate of <x, theta*>, and half the width of its interval."""
        ...

    def mean(self, z: Array) -> Array:
        """The mean reward where <x, theta*> is z."""
        ...

    def theta(self, estimate: E) -> Array: ...

    @property
    def control(self) -> Control | None:
        """The control group that the experiment is with; None where there is none."""
        ...

    def trial_sums(self, looks: Sequence[Released], counts: Callable[[int], tuple[int, ...]], ended: int | None) -> Any:
        """Sums over people so far (algorithms.trial_sums.TrialSums), from the experiment's part of each release.
        counts: of so many numbers, for each side."""
        ...

    def experiment(self, released: Released) -> Released | None:
        """The numbers of an experiment among those that were released; None where there is none."""
        ...

    @property
    def by_fields(self) -> bool:
        """Whether sums are by fields, so that `segments` says what is learnt of people from the first release on."""
        ...

    def segments(self, estimate: E, live: Integers) -> Any:
        """What each field's values say of those actions (algorithms.onepass.segments.Segments), from released sums;
        None where sums are not by fields, or nothing was released."""
        ...

    # contributions

    def row(
        self,
        arms: Array,
        picked: int,
        place: int,
        name: str | None,
        declared: tuple[str, ...],
    ) -> Raw[Array]:
        """What is kept of a choice until it enters: `plan.row` numbers. arms: those on offer; place, name: of the
        arm in the request; declared: names of the actions that there are now."""
        ...

    def logged(self, x: Array) -> Raw[Array]:
        """The same for a row of a log, which counts for learning alone."""
        ...

    def adder(self, estimate: E) -> Adder:
        """What adds rows as they are kept to the sums of a step."""
        ...

    # simulation

    @property
    def loop(self) -> Loop | None:
        """None where rounds are played one by one."""
        ...

    @property
    def by_step(self) -> bool:
        """Whether `loop` is for rounds of one step at a time: the estimate that follows is made outside."""
        ...
