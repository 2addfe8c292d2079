"""A bandit's data in memory: choices that wait for their reward, whose rounds they are, and sums that are released."""

import contextlib
import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol, Self

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from reticent.algorithms.schedules import steps_before
from reticent.core import snapshot
from reticent.core.actions import Declared
from reticent.core.assignment import Assignment
from reticent.core.choices import Choice, Choices, Index
from reticent.core.curator import Chooser, Curator, Drawn
from reticent.core.estimator import Estimator
from reticent.core.file_witness import FileWitness
from reticent.core.onepass import OnePass, View
from reticent.core.validation import ActionSet, PersonId, Persons, Validator
from reticent.data import Array, Integers, Raw, Released
from reticent.errors import BadState, HorizonReached, UnknownChoice
from reticent.features import frames
from reticent.kernels.block import Block
from reticent.kernels.continual import Closing, JointState
from reticent.kernels.rounds import BOUNDARY, CHOICES, ENTERED, Held, next_boundary, outcome
from reticent.mechanisms import entering, memory
from reticent.mechanisms.continual import RowAdder
from reticent.mechanisms.entering import NOBODY, EnteringRows
from reticent.mechanisms.grid import Grid
from reticent.mechanisms.leaves import Summer
from reticent.mechanisms.memory import PrefixSums, Ring
from reticent.model.arms import Arms
from reticent.model.chances import Later
from reticent.models.protocol import copied, like
from reticent.privacy.noise import generator_of
from reticent.process import Lock, locked, process


class Learner(Protocol):
    """What learns, in memory. RAW, but for what is shown."""

    @property
    def counts(self) -> Integers:
        """Choices so far (CHOICES), and more."""
        ...

    @property
    def horizon(self) -> int | None: ...
    @property
    def capacity(self) -> int | None:
        """Choices that sums of integers have room for."""
        ...

    @property
    def shown(self) -> Chooser: ...
    @property
    def steps(self) -> int:
        """Releases so far: the version of what is shown."""
        ...

    @property
    def due(self) -> bool:
        """Whether the open step is full, and is to be released: a function of the number of choices alone."""
        ...

    def advance(self) -> None:
        """Release the open step if it is full."""
        ...

    def chosen(self, row: Raw[Array], mark: bytes) -> None:
        """A choice was made, and its number taken."""
        ...

    def join(self, row: Raw[Array], reward: Raw[float]) -> None:
        """A reward that counts as it comes."""
        ...

    def due_numbers(self, upto: int) -> range:
        """Choices that enter the open step now, of those up to that one."""
        ...

    def enter(self, rows: Raw[EnteringRows], held: Raw[Held]) -> None:
        """They do."""
        ...

    def rounds(self, block: Block, held: Raw[Held], tend: Callable[[], None]) -> bool:
        """Simulated rounds, in compiled loops; False, and nothing is done, where they have to be played one by one.
        held: choices that wait. tend: does what is due."""
        ...


class Memory:
    """A Book of arrays. size: numbers that are kept of a choice. window: choices after which one enters; None: a reward
    counts when it comes. releasing: called before noise is drawn."""

    def __init__(
        self,
        learner: Learner,
        validator: Validator,
        *,
        pending: int,
        size: int,
        persons: Persons,
        window: int | None = None,
        default: float | None = None,
    ) -> None:
        self.learner, self.validator, self.window, self.default = learner, validator, window, default
        self.size, self.pending, self.persons = size, pending, persons
        self.assignment: Assignment | None = None
        self.tickets = Ring(pending, size, named=persons.most is not None)
        self.releasing: Callable[[], None] = _nothing
        self.logged = 0  # choices that were rows of a log
        self.logs: frozenset[str] = frozenset()  # RAW: digests of logs that were learnt
        self.arriving: list[tuple[int, int, float]] = []  # RAW: simulated rewards on their way

    @property
    def key(self) -> bytes:
        return self.persons.key

    @property
    def shown(self) -> Chooser:
        return self.learner.shown

    @property
    def version(self) -> int:
        return self.learner.steps

    @property
    def choices(self) -> int:
        return int(self.learner.counts[CHOICES])

    # choices

    def room(self, count: int, *, at_once: int = 1) -> None:
        """HorizonReached if so many choices more would be too many. at_once: those of a batch."""
        learner, choices = self.learner, self.choices
        for end, why in (
            (learner.capacity, "more could overflow sums of integers"),
            (learner.horizon, "the horizon that the noise is calibrated for"),
        ):
            if end is not None and choices + count > end:
                raise HorizonReached(f"Expected at most {end} choices ({why}), got {choices} and {count} more.")
        if self.window is not None and at_once > self.pending - self.window:
            most = self.pending - self.window
            raise ValueError(f"Expected at most {most} rows at once (pending - window), got {at_once}.")

    def void(self) -> None:
        """A number that nobody has: of a request that is refused."""
        self.learner.counts[CHOICES] += 1

    def keep(self, row: Raw[Array], mark: bytes) -> int:
        """The number of a choice, of which that is kept."""
        counts = self.learner.counts
        counts[CHOICES] += 1
        number = int(counts[CHOICES])
        self.learner.chosen(row, mark)
        self.tickets.wait(number, row, mark)
        return number

    def write(self, ticket: object, reward: Raw[float]) -> bool:
        """A reward in its range. Whether it counts; UnknownChoice if no choice with that number waits for one."""
        tickets, choices = self.tickets, self.choices
        if self.window is not None:
            if tickets.number(ticket, choices) <= choices - self.window:
                return False
            tickets.write(tickets.waiting(ticket, choices), reward)
            return True
        number = tickets.waiting(ticket, choices)
        row, mark = tickets.take(number)
        if self.persons.teaches(mark, self.learner.steps):
            self.learner.join(row, reward)
        tickets.forget(number)
        return True

    # what is due

    def tend(self, curator: Curator) -> None:
        """Choices whose window is over enter, and each step that they fill is released."""
        if self.learner.due:
            self._release()
        if self.window is None:
            return
        self._enter(curator)
        while self.learner.due:
            self._release()
            self._enter(curator)

    def _enter(self, curator: Curator) -> None:
        learner = self.learner
        numbers = learner.due_numbers(self.choices - (self.window or 0))
        if numbers:
            entries = [self.tickets.entry(number) for number in numbers]
            step = learner.steps
            learner.enter(
                curator.entering(entries, numbers, self.size, lambda person: self.persons.enters(person, step)),
                self.held(),
            )

    def _release(self) -> None:
        self.releasing()
        self.learner.advance()
        self.persons.move(self.learner.steps)

    def held(self) -> Raw[Held]:
        """Choices that wait, as compiled loops take them."""
        return self.tickets.held(self.window or 0, math.nan if self.default is None else self.default)


def _nothing() -> None:
    pass


class Sums:
    """A Learner from released sums: an algorithm as a value, its sums, and the estimate that follows from what was
    released. window: choices after which one enters."""

    def __init__(
        self, algorithm: OnePass, source: Any, policy: Generator, *, window: int | None, declared: tuple[Declared, ...]
    ) -> None:
        plan = algorithm.plan
        self.algorithm, self.source, self.policy, self._window = algorithm, source, policy, window
        self._counted = CHOICES if window is None else ENTERED  # what the schedule counts
        self.declared = declared  # its actions, where they have names
        self.horizon, self.capacity = plan.horizon, plan.mechanism.capacity
        self.estimator = Estimator(algorithm, declared)
        counts = np.zeros(3, np.int64)
        counts[BOUNDARY] = next_boundary(0, *plan.schedule)
        sums = PrefixSums(plan.mechanism, source)
        self.state: JointState[PrefixSums] = JointState(counts, sums, self.estimator.estimate.arrays)
        self._outdated = False  # the estimate, while a step closes
        self._show()

    @property
    def counts(self) -> Integers:
        return self.state.counts

    @property
    def entries(self) -> int:
        """Choices that the schedule counts."""
        return int(self.state.counts[self._counted])

    @property
    def steps(self) -> int:
        return self.estimator.step

    @property
    def released(self) -> Released:
        """The sums of all closed steps, with noise."""
        return self.state.prefix.released

    # estimates

    def _show(self) -> None:
        """From now on choices are made by the fold's estimate."""
        self.state = self.state._replace(estimate=self.estimator.estimate.arrays)
        self.shown = View(self.algorithm, self.estimator.estimate, self.policy)
        self._adder: RowAdder | None = None

    def draw_from(self, policy: Generator) -> None:
        """Choices, from now on."""
        self.policy = policy
        self._show()

    def offer(self, declared: tuple[Declared, ...]) -> None:
        """These actions, from now on."""
        self.declared = declared
        self.estimator.offer(declared)
        self._show()

    @property
    def _full(self) -> bool:
        """Whether the open step is."""
        counts = self.state.counts
        return bool(counts[self._counted] >= counts[BOUNDARY])

    @property
    def due(self) -> bool:
        return self._outdated or self._full

    def advance(self) -> None:
        if self._full:
            self._outdated = True
            boundary = self.state.counts[BOUNDARY : BOUNDARY + 1]
            closing = Closing(boundary, next_boundary(self.entries, *self.algorithm.plan.schedule))
            self.state.prefix.release(self.source, closing)
        if self._outdated:  # now, or since a choice that was interrupted
            self.follow()

    def follow(self) -> None:
        """The estimate that follows from what was released last."""
        steps, entries = self.state.prefix.step, self.entries
        schedule, window = self.algorithm.plan.schedule, self._window
        chosen = None if window is None else min(steps - 1, steps_before(entries - window, schedule))
        self.estimator.follow(self.released, steps, entries, self.declared, chosen)
        self.estimator.offer(self.declared)
        self._show()
        self._outdated = False

    # what enters

    def chosen(self, row: Raw[Array], mark: bytes) -> None:
        """Nothing is summed before its reward came."""

    def join(self, row: Raw[Array], reward: Raw[float]) -> None:
        self.state.prefix.add(entering.one(row, reward), self.adder)

    def due_numbers(self, upto: int) -> range:
        counts = self.state.counts
        return range(int(counts[ENTERED]) + 1, min(upto, int(counts[BOUNDARY])) + 1)

    def enter(self, rows: Raw[EnteringRows], held: Raw[Held]) -> None:
        """Choices, in the order of their numbers, up to the end of the open step. Who is interrupted finds that all of
        them have or none; a person's round may have been counted twice then, never too rarely."""
        self.state.prefix.enter(rows, self.adder, held, self.state.counts[ENTERED : ENTERED + 1])

    @property
    def adder(self) -> RowAdder:
        """What adds contributions at the present estimate: made once a release."""
        if self._adder is None:
            self._adder = self.algorithm.adder(self.estimator.estimate)
        return self._adder

    @property
    def summer(self) -> Summer | None:
        """What sums the contributions of rows at the present estimate, anywhere; None where they enter one by one."""
        mechanism = self.algorithm.plan.mechanism
        if self._window is not None or self.algorithm.plan.kept or not isinstance(mechanism, Grid):
            return None
        return Summer(self.adder, mechanism.size, mechanism.cell, mechanism.longest)

    # simulation

    def rounds(self, block: Block, held: Raw[Held], tend: Callable[[], None]) -> bool:
        loop = self.algorithm.loop
        if loop is None or self.estimator.last is not self.estimator.estimate:  # than that of the last release is shown
            return False
        if self._window is not None and len(block.noise):
            tend()  # all that is due: the loop lets one choice enter with each that is made
        arrays = self.state.estimate
        self.state = self.state._replace(estimate=copied(arrays))  # others hold them
        for part in self._parts(block, tend) if loop.by_step else [block]:
            given = generator_of(self.source), part, held, self.state, self.estimator.live
            memory.run(loop.play, self.policy, *given)
        self.resume()
        return True

    def _parts(self, block: Block, tend: Callable[[], None]) -> Iterator[Block]:
        """The rounds of a block, those of one step after the other: the estimate that follows is made here."""
        start, count = 0, len(block.noise)
        while start < count:
            tend()
            stop = start + max(1, int(self.state.counts[BOUNDARY]) - self.entries)
            parts: Any = (part if len(part) != count else part[start:stop] for part in block)
            yield Block(*parts)
            start = stop

    def resume(self, last: Any = None) -> None:
        """Goes on from the arrays that are in the state. last: those of the last release's estimate, where another is
        shown."""
        steps, of = self.state.prefix.step, self.algorithm.of_arrays
        before = None if last is None else of(like(self.state.estimate, iter(last)), steps)
        self.estimator.resume(self.released, steps, self.entries, of(self.state.estimate, steps), self.declared, before)
        self._show()


LATE = "Expected a reward within the window of its choice, got one for a choice whose deadline has passed."


class Resident:
    """One call at a time: threads may share it. `_saved` and `_restored` say what a file has of it."""

    memory: Memory

    def _reside(self, memory: Memory, *, private: bool) -> None:
        """The first thing of all, once its settings are checked. private: its noise is for people's data, and may not
        be drawn again."""
        self.memory, self.curator, self._private = memory, Curator(memory), private
        self._process, self._lock, self._witness = process(), Lock(), FileWitness()
        memory.releasing = self._releasing

    def _releasing(self) -> None:
        """Earlier files are marked as outdated before noise is drawn."""
        self._witness.releasing()

    # what callers use

    @locked
    def choose(
        self,
        arms: Arms | Mapping[str, Any],
        *,
        actions: Any = None,
        available: npt.ArrayLike | None = None,
        person: PersonId | None = None,
        own: str | int | None = None,
    ) -> Choice:
        """The arm for one user. `arms`: (K, d) numbers, or a mapping name -> features; where there is a Schema, the
        person's fields, and `actions` as in Schema.vectors; `available`: K booleans; `person`: who it is, where the
        budget is a person's (kept as a keyed hash; ValueError without one): an id that the caller has authenticated and
        normalised. 17, "17" and b"17" are one person, "Ada@" and "ada@" two. Beyond the limit people are served and
        teach nothing. own: the caller's own choice, where a holdout plays that. A bad request is no user: it changes
        nothing; but in an experiment it has a number, too, or it would move everybody else's group."""
        memory, curator = self.memory, self.curator
        asked = curator.ask(arms, actions=actions, available=available, person=person, own=own)
        self.room(1)
        self.tend()
        drawn = curator.draw(asked)
        if asked.problem is not None:
            memory.void()
            raise ValueError(asked.problem)
        played = curator.played(memory.choices + 1, asked, drawn)
        mark = NOBODY if asked.person is None else memory.persons.count(asked.person)
        return Choice(played.place, played.name, memory.keep(played.row, mark), played.chance)

    @locked
    def choose_many(
        self,
        arms: Any,
        *,
        actions: Any = None,
        persons: Sequence[PersonId | None] | None = None,
        own: Sequence[str | int] | None = None,
    ) -> Choices:
        """The arms for n users at one state, from (n, K, d) numbers or n times (K, d) where K may differ, or, where
        there is a Schema, from the fields of n people and `actions` for all of them: a micro-batch, one step of the
        release. A bad row is refused alone, for what is in it; it counts as a choice all the same, and the policy draws
        for it. own: one for each row."""
        memory, curator = self.memory, self.curator
        rows, problems, names = memory.validator.batch(arms, actions)
        count = len(rows)
        people = memory.persons.check_batch(persons, count)
        owned = [None] * count if own is None else list(own)
        if len(owned) != count:
            raise ValueError(f"Expected one own= for each of {count} rows, got {len(owned)}.")
        index, ids = np.full(count, -1), np.zeros(count, np.int64)
        chances: list[Later | None] = [None] * count
        if count:
            self.room(count, at_once=count)
            self.tend()
        shown = memory.shown
        picked = self._picked(rows)
        for i, row in enumerate(rows):
            offer = ActionSet(row, names, None)
            try:
                if problems[i] is not None:
                    raise ValueError(problems[i])
                asked = curator.admitted(offer, people[i], owned[i])
            except ValueError as error:
                problems[i] = str(error)
                memory.void()
                continue
            played = curator.played(memory.choices + 1, asked, Drawn(shown, picked[i]))
            mark = NOBODY if asked.person is None else memory.persons.count(asked.person)
            index[i], ids[i], chances[i] = played.place, memory.keep(played.row, mark), played.chance
        return Choices(index, ids, {i: problem for i, problem in enumerate(problems) if problem}, names, chances)

    def _picked(self, rows: Sequence[Array]) -> list[int]:
        """What is drawn for each: in an experiment one after the other, as single choices are."""
        shown, out = self.memory.shown, [0] * len(rows)
        alone = self.memory.assignment is not None
        for _, group in itertools.groupby(range(len(rows)), lambda i: i if alone else len(rows[i])):
            alike = list(group)
            for i, found in zip(alike, shown.pick(np.stack([rows[i] for i in alike])), strict=True):
                out[i] = int(found)
        return out

    @locked
    def observe(self, choice: Choice | int, reward: float) -> bool:
        """Report a reward, by the choice or its id: late, out of order, or never. Whether it came within the window."""
        checked = self.memory.validator.check(reward)
        self._own()
        return self.memory.write(choice.id if isinstance(choice, Choice) else choice, checked)

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
        refused, memory = {}, self.memory
        self._own()
        for row, (ticket, reward) in enumerate(zip(ids, frames.values(rewards), strict=True)):
            try:
                number = ticket.id if isinstance(ticket, Choice) else ticket
                if not memory.write(number, memory.validator.check(reward)):
                    refused[row] = LATE
            except (ValueError, UnknownChoice) as error:
                refused[row] = str(error)
        return refused

    @locked
    def play(self, block: Block) -> None:
        """Choose and observe for a whole block of simulated rounds: the same kernels, in one loop. Rewards that are
        late come step by step, unless choices wait for them (`window`)."""
        memory = self.memory
        if block.arms.shape[2] != memory.validator.width:
            raise ValueError(
                f"Expected a block with arms of {memory.validator.width} dimensions, got {block.arms.shape[2]}."
            )
        if self._private:
            raise ValueError("Expected simulated noise for a simulated block of rounds, got another source.")
        self.room(len(block.noise))
        late = memory.window is None and (block.delay.any() or memory.arriving)
        waits = memory.window is not None and memory.persons.most is not None  # compiled loops count nobody
        if late or waits or not memory.learner.rounds(block, memory.held(), self.tend):
            self._one_by_one(block)

    def _one_by_one(self, block: Block) -> None:
        """A round whose reward is not known (replayed logs) is not used; a reward that comes too late is lost."""
        memory, names = self.memory, self.memory.validator.names
        placed = bool(names) and memory.validator.blocks > 1
        for t in range(len(block.noise)):
            self.tend()
            arms, shown = block.arms[t], memory.shown
            index = int(shown.pick(block.arms[t : t + 1])[0])
            if memory.assignment is not None:
                offer = ActionSet(arms, tuple(names[int(x[-1])] for x in arms) if placed else None, None)
                own = memory.assignment.own(offer, None)
                index = memory.assignment.played(memory.choices + 1, offer, own, index)
            if outcome(block, t, index):
                number = memory.keep(shown.row(arms, index, index, None, names), NOBODY)
                if not math.isnan(block.reward[t]):
                    comes = number + int(block.delay[t]) if block.delay.size else number
                    heapq.heappush(memory.arriving, (comes, number, float(block.reward[t])))
            while memory.arriving and memory.arriving[0][0] <= memory.choices:
                comes, number, reward = heapq.heappop(memory.arriving)
                with contextlib.suppress(*[UnknownChoice] * (comes > number)):
                    memory.write(number, Raw(reward))

    @property
    def choices(self) -> int:
        """Choices made so far."""
        return self.memory.choices

    def tend(self) -> None:
        """Choices whose window is over enter, and each step that they fill is released."""
        self.memory.tend(self.curator)

    def room(self, count: int, *, at_once: int = 1) -> None:
        """HorizonReached if so many choices more would be too many. at_once: those of a batch."""
        self._own()
        self.memory.room(count, at_once=at_once)

    # whose it is

    def _own(self) -> None:
        """BadState for a forked copy, and for one of two from the same file: it would answer from noise that the other
        uses as well, or draw a second noise for the same data."""
        if self._witness.superseded:
            raise BadState("Expected the only bandit from its file, got one of two: the other has released since.")
        if self._process != process() and self._private:
            if self.choices:
                raise BadState("Expected a bandit in the process that used it, got a forked copy: save and load it.")
            self._process, self._witness = process(), self._witness.separate()
            self._forked()

    def _forked(self) -> None:
        """An unused copy in a child becomes a bandit of its own."""

    # files

    @locked
    def save(self, path: str | Path) -> None:
        """Write settings, state, waiting choices and noise to a file that only its owner may read: it holds raw data.
        Where noise is secure only a bandit's last state can be loaded: no file that it was saved to before, and this
        one only until the next release. A mark beside the file (.generation) and one in the user's register
        ($XDG_STATE_HOME/reticent) tell which state is the last."""
        self._own()

        def made(generation: int) -> dict[str, Any]:
            mark = {"id": self._witness.bandit_id, "generation": generation, "bandit": type(self).__name__}
            return snapshot.document(self._saved() | mark, format=snapshot.FORMAT, version=snapshot.VERSION, raw=True)

        self._witness.save(Path(path).absolute(), made, marked=self._private)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """One that goes on exactly where the saved one stood: noise that was used is never drawn again. BadState if the
        file is damaged, or if its bandit was saved or has released since (under whatever name)."""
        body, witness = snapshot.resumed(Path(path), cls.__name__)
        made = cls._restored(body, Path(path).name)
        made._witness = witness
        return made

    def _saved(self) -> dict[str, Any]:
        memory = self.memory
        return {
            "tickets": snapshot.waiting(memory.tickets, memory.choices),
            "persons": memory.persons.document(),
            "logged": memory.logged,
            "logs": sorted(memory.logs),
        }

    @classmethod
    def _restored(cls, body: dict[str, Any], where: str) -> Self:
        """The one that a file has; BadState if it cannot be. where: what messages call the file."""
        raise NotImplementedError

    def _wait_again(self, body: dict[str, Any]) -> None:
        """Take over what `_saved` says."""
        memory = self.memory
        snapshot.wait_again(memory.tickets, body["tickets"])
        memory.persons.restore(body["persons"])
        memory.logged, memory.logs = body["logged"], frozenset(body["logs"])

    def __reduce__(self) -> NoReturn:
        raise TypeError("Expected save and load for a bandit, got pickle or copy: its state is raw data.")
