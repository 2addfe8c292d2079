"""What every bandit offers: choose, observe, privacy, save, load.

Only choices advance the public schedule; `observe` adds to the step that is open when the reward comes. A choice
that nobody answers expires after `pending` later choices, so memory stays flat."""

import contextlib
import functools
import heapq
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Protocol, Self

import numpy as np
import numpy.typing as npt
from numpy.random import default_rng

from tacit import checks, forks
from tacit.bandits import snapshot
from tacit.bandits.snapshot import FORMAT, VERSION, Kept
from tacit.bandits.witness import FileWitness
from tacit.core.choices import Choice, Choices, Index
from tacit.core.door import Door, Offer
from tacit.core.persons import Person, Persons
from tacit.data import Array, Integers, Raw
from tacit.errors import BadState, HorizonReached, UnknownChoice
from tacit.features import frames
from tacit.kernels.block import Block
from tacit.kernels.rounds import CHOICES, outcome
from tacit.lock import Lock, locked
from tacit.mechanisms.entering import NOBODY
from tacit.mechanisms.ring import Ring, learnt
from tacit.model import arms as arm_sets
from tacit.model.arms import Arms
from tacit.privacy.certificate import Certificate
from tacit.privacy.noise import generator_of

LATE = "Expected a reward within `hold` later choices, got one for a choice whose deadline has passed."


class State(Protocol):
    """A NamedTuple of arrays, whose `counts` starts with the choices so far. A bandit's own class says which fields are
    Exact and which Released."""

    @property
    def counts(self) -> Integers: ...


@dataclass(kw_only=True, eq=False)
class Bandit(Kept, ABC):
    """What all bandits share. The fields of a subclass are its settings, never data. Threads may share a bandit: one
    call at a time. `Stored` keeps one in a database."""

    dim: int
    horizon: int | None = None
    rewards: tuple[float, float] = (-math.inf, math.inf)
    pending: int = 100_000
    _state: State = field(init=False, repr=False)  # raw data: no public accessor
    _tickets: Ring = field(init=False, repr=False)
    _persons: Persons = field(init=False, repr=False)  # RAW
    _witness: FileWitness = field(init=False, repr=False)
    _policy_given = False  # whether the caller brought the generator of the policy's draws
    _takes_blocks = False  # where a schema makes them
    _blocks = 1  # of coordinates, of which each arm has one to itself: then arms are rows (z, a), as in model.arms
    _one_set = False  # whether everybody has to be offered the same arms

    def __post_init__(self) -> None:
        checks.positive_int(dim=self.dim, pending=self.pending)
        self.dim, self.pending = int(self.dim), int(self.pending)
        if self._noise_is_private and (type(self)._due is Bandit._due or type(self)._steps is Bandit._steps):
            raise TypeError(  # else a file could not tell that more has been released since
                f"Expected {type(self).__name__}, which draws noise for people's data, to define _due and _steps."
            )
        self._persons = self._limits()
        self._tickets = Ring(self.pending, self._row_size, named=self._persons.most is not None)
        self._state = self.init()
        self._process = forks.process()
        self._lock = Lock()
        self._witness = FileWitness()
        self._arriving: list[tuple[int, int, float]] = []  # RAW: simulated rewards on their way

    # what an algorithm defines

    @classmethod
    def idle(cls, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Settings that have no effect beside these."""
        return ()

    @abstractmethod
    def init(self) -> State:
        """The state before the first round."""

    @abstractmethod
    def _advance(self) -> None:
        """Close the open step if the public schedule says so: a function of the number of choices alone."""

    @abstractmethod
    def _pick(self, features: Array) -> Index: ...  # the arms for (n, K, d) users at the present state

    @abstractmethod
    def _propensity(self, features: Array, index: int) -> Callable[[], float]:
        """What computes the probability of `index`, which `_pick` chose among (K, d) arms, at the present state.
        `certain` where nothing is drawn."""

    def _join(self, row: Raw[Array], reward: Raw[float]) -> None:
        """One user's datum, checked, joins the open step: what was kept of the choice, and its reward. Sums take both
        closed; a bandit that is a device, keeps rows of its own or protects nobody has `_learn` instead."""
        learnt(self._learn, row, reward)

    def _learn(self, x: Array, reward: float) -> None:
        """The same, open."""
        raise NotImplementedError

    def _play(self, block: Block) -> None:
        """The simulated rounds of `block`. A bandit may do the same in one compiled loop, which is only faster. A round
        whose reward is not known (replayed logs) is not used; a reward that comes too late is lost."""
        for t in range(len(block.noise)):
            self._step()
            index = self._by_side(block.arms[t], int(self._pick(block.arms[t : t + 1])[0]))
            if outcome(block, t, index):
                ticket = self._ticket(self._row(block.arms[t], index, index, None))
                if not math.isnan(block.reward[t]):
                    comes = ticket + int(block.delay[t]) if block.delay.size else ticket
                    heapq.heappush(self._arriving, (comes, ticket, float(block.reward[t])))
            while self._arriving and self._arriving[0][0] <= self.choices:
                comes, ticket, reward = heapq.heappop(self._arriving)
                with contextlib.suppress(*[UnknownChoice] * (comes > ticket)):
                    self._observed(ticket, Raw(reward))

    def _by_side(self, arms: Array, picked: int) -> int:
        return picked  # what is played in a simulated round; that of a control group, in some

    @property
    @abstractmethod
    def privacy(self) -> Certificate:
        """The claim, and what it rests on."""

    # what callers use

    @locked
    def choose(
        self,
        arms: Arms | Mapping[str, Any],
        *,
        actions: Any = None,
        available: npt.ArrayLike | None = None,
        person: Person | None = None,
    ) -> Choice:
        """The arm for one user. `arms`: (K, d) numbers, or a mapping name -> features; where the bandit has a Schema,
        the person's fields, and `actions` as in Schema.vectors; `available`: K booleans;
        `person`: who it is, where max_rounds_per_person is set (kept as a keyed hash; ValueError without one): an id
        that the caller has authenticated and normalised. 17, "17" and b"17" are one person, "Ada@" and "ada@" two.
        Beyond the limit people are served and teach nothing. A bad request is no user: it changes nothing."""
        offer = self._door.offer(arms, available, actions)
        self._room(1)
        digest = self._persons.digest(person)
        self._step()
        return self._chosen(offer, self._persons.count(digest))

    def _chosen(self, offer: Offer, mark: bytes) -> Choice:
        """The choice for a request that was admitted."""
        offered = offer.arms
        picked = int(self._pick(offered[None])[0])
        place = offer.place(picked)
        name, propensity = offer.name(place), self._propensity(offered, picked)
        return Choice(place, name, self._ticket(self._row(offered, picked, place, name), mark), propensity)

    @locked
    def choose_many(self, arms: Any, *, actions: Any = None, persons: Sequence[Person | None] | None = None) -> Choices:
        """The arms for n users at one state, from (n, K, d) numbers or n times (K, d) where K may differ, or, where the
        bandit has a Schema, from the fields of n people and `actions` for all of them: a micro-batch, one step of the
        release. A bad row is refused alone, for what is in it; it counts as a choice all the same, and the policy draws
        for it."""
        rows, problems, names = self._door.batch(arms, actions)
        count = len(rows)
        people = self._persons.check_batch(persons, count)
        index, ids = np.full(count, -1), np.zeros(count, np.int64)
        if count:
            self._room(count, at_once=count)
            self._step()
        marks = [NOBODY] * count
        for i, person in enumerate(people):
            if problems[i] is None:
                try:
                    marks[i] = self._persons.count(self._persons.digest(person))
                except ValueError as error:
                    problems[i] = str(error)
        for _, group in itertools.groupby(range(count), lambda i: len(rows[i])):
            alike = list(group)
            index[alike] = self._pick(np.stack([rows[i] for i in alike]))
        chances: list[Callable[[], float] | None] = [None] * count
        for i, problem in enumerate(problems):
            if problem is None:
                arm = int(index[i])
                chances[i] = self._propensity(rows[i], arm)
                row = self._row(rows[i], arm, arm, names[arm] if names else None)
                ids[i] = self._ticket(row, marks[i])
            else:
                index[i] = -1
                self._state.counts[CHOICES] += 1
        return Choices(index, ids, {i: problem for i, problem in enumerate(problems) if problem}, names, chances)

    @locked
    def observe(self, choice: Choice | int, reward: float) -> bool:
        """Report a reward, by the choice or its id: late, out of order, or never. Whether it came before `hold`."""
        checked = self._door.check(reward)
        self._own()
        return self._observed(choice.id if isinstance(choice, Choice) else choice, checked)

    @locked
    def observe_many(
        self, choices: Choices | Sequence[int] | Index, rewards: Sequence[float] | Array
    ) -> Mapping[int, str]:
        """Report many rewards. A bad row is refused alone: returns row -> reason, empty if all were taken."""
        ids: Any = choices.id if isinstance(choices, Choices) else choices
        if not (hasattr(ids, "__len__") and hasattr(rewards, "__len__")):
            raise ValueError("Expected a sequence of choices and one of rewards.")
        if len(ids) != len(rewards):
            raise ValueError(f"Expected as many rewards as choices ({len(ids)}), got {len(rewards)}.")
        refused = {}
        for row, (ticket, reward) in enumerate(zip(ids, frames.values(rewards), strict=True)):
            try:
                if not self.observe(ticket, reward):
                    refused[row] = LATE
            except (ValueError, UnknownChoice) as error:
                refused[row] = str(error)
        return refused

    @locked
    def play(self, block: Block) -> None:
        """Choose and observe for a whole block of simulated rounds: the same kernels, in one loop. Rewards that are
        late come step by step, unless choices wait for them (`hold`)."""
        if block.arms.shape[2] != self._width:
            raise ValueError(f"Expected a block with arms of {self._width} dimensions, got {block.arms.shape[2]}.")
        self._room(len(block.noise))
        if getattr(self, "hold", None) is not None or not (block.delay.any() or self._arriving):
            self._play(block)
        else:
            if getattr(self, "source", None) is not None:
                generator_of(self.source)  # type: ignore[attr-defined]  # ValueError for noise that is not simulated
            Bandit._play(self, block)

    @property
    def policy_given(self) -> bool:
        return self._policy_given

    @property
    def choices(self) -> int:
        """Choices made so far."""
        return int(self._state.counts[CHOICES])

    @locked
    def save(self, path: str | Path) -> None:
        """Write settings, state, tickets and noise to a file that only its owner may read: it holds raw data. Where
        noise is secure only a bandit's last state can be loaded: no file that it was saved to before, and this one
        only until the next release. A mark beside the file (.generation) and one in the user's register
        ($XDG_STATE_HOME/tacit) tell which state is the last."""
        self._own()

        def made(generation: int) -> dict[str, Any]:
            mark = {"id": self._witness.bandit_id, "generation": generation}
            return snapshot.document(self._saved() | mark, format=FORMAT, version=VERSION, raw=True)

        self._witness.save(Path(path).absolute(), made, marked=self._noise_is_private)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """A bandit that goes on exactly where the saved one stood: noise that was used is never drawn again. BadState
        if the file is damaged, or if its bandit was saved or has released since (under whatever name)."""
        body, witness = snapshot.resumed(Path(path), cls.__name__)
        bandit = cls._restored(body, Path(path).name)
        bandit._witness = witness
        return bandit

    def __reduce__(self) -> NoReturn:
        raise TypeError("Expected save and load for a bandit, got pickle or copy: its state is raw data.")

    def _saved(self) -> dict[str, Any]:
        return super()._saved() | {
            "bandit": type(self).__name__,
            "tickets": snapshot.waiting(self._tickets, self.choices),
            "policy given": self._policy_given,
            "persons": self._persons.document(),
        }

    def _resume(self, body: dict[str, Any], where: str) -> None:
        super()._resume(body, where)
        snapshot.wait_again(self._tickets, body["tickets"])
        self._persons.restore(body["persons"])
        for name, value in snapshot.generators(body["settings"]).items():
            setattr(self, name, value)  # drawing the initial state may have moved it
        self._policy_given = body["policy given"]

    def _limits(self) -> Persons:
        """Who may teach how often: nobody is counted, by default."""
        return Persons(None)

    @functools.cached_property
    def _door(self) -> Door:
        """What may be asked."""
        return Door(
            dim=self.dim,
            blocks=self._blocks,
            rewards=self.rewards,
            schema=getattr(self, "features", None),
            limited=self._persons.most is not None,
        )

    @property
    def _width(self) -> int:
        """Numbers of an arm."""
        return arm_sets.width(self.dim, self._blocks)

    @property
    def _row_size(self) -> int:
        """Numbers that are kept of a choice until its reward comes."""
        return self._width

    def _row(self, offered: Array, picked: int, place: int, name: str | None) -> Raw[Array]:
        """Those numbers, at least: the arm that was picked among those on offer. place, name: of it in the request."""
        return self._logged_row(offered[picked])

    def _logged_row(self, x: Array) -> Raw[Array]:
        """The same for a row of a log, where that arm was picked elsewhere."""
        return Raw(x)

    @property
    def _steps(self) -> int:
        """Releases so far."""
        return 0

    @functools.cached_property
    def _capacity(self) -> int | None:
        """Choices that sums of integers have room for."""
        return None

    @property
    def _due(self) -> bool:
        """Whether the next choice makes a release: a function of the number of choices alone."""
        return False

    def _step(self) -> None:
        """Advance. Earlier files are marked as outdated before noise is drawn."""
        if self._due:
            self._witness.releasing()
        self._advance()

    def _own(self) -> None:
        """BadState for a forked copy, and for one of two bandits from the same file: it would answer from noise that
        the other uses as well, or draw a second noise for the same data."""
        if self._witness.superseded:
            raise BadState("Expected the only bandit from its file, got one of two: the other has released since.")
        if self._process != forks.process() and self._noise_is_private:
            if self.choices:
                raise BadState("Expected a bandit in the process that used it, got a forked copy: save and load it.")
            self._process, self._witness = forks.process(), self._witness.separate()
            if hasattr(self, "policy") and not self._policy_given:
                setattr(self, "policy", default_rng())  # noqa: B010  # its own draws, and not its siblings'

    @property
    def _noise_is_private(self) -> bool:
        return bool(getattr(getattr(self, "source", None), "private", False))

    def _room(self, count: int, *, at_once: int = 1) -> None:
        """HorizonReached if so many choices more would be too many. at_once: those of a batch."""
        self._own()
        if self._capacity is not None and self.choices + count > self._capacity:
            raise HorizonReached(
                f"Expected at most {self._capacity} choices (more could overflow sums of integers), "
                f"got {self.choices} and {count} more."
            )
        if self.horizon is not None and self.choices + count > self.horizon:
            raise HorizonReached(
                f"Expected at most {self.horizon} choices (the horizon that the noise is calibrated for), "
                f"got {self.choices} and {count} more."
            )

    def _ticket(self, row: Raw[Array], mark: bytes = NOBODY) -> int:
        self._state.counts[CHOICES] += 1
        number = self.choices
        self._tickets.wait(number, row, mark)
        return number

    def _observed(self, ticket: int, reward: Raw[float]) -> bool:
        """A reward in its range. Whether it counts; UnknownChoice if no choice with that number waits for one."""
        number = self._tickets.waiting(ticket, self.choices)
        row, mark = self._tickets.take(number)
        if self._persons.teaches(mark, self._steps):
            self._join(row, reward)
        self._tickets.forget(number)
        return True
