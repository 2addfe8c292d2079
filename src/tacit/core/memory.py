"""A bandit's data in memory: choices that wait for their reward, whose rounds they are, and sums that are released."""

import math
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator

from tacit.algorithms.forgetting import steps_before
from tacit.core.actions import Declared
from tacit.core.assignment import Assignment
from tacit.core.curator import Chooser, Curator
from tacit.core.door import Door
from tacit.core.fold import Fold
from tacit.core.onepass import OnePass, View
from tacit.core.persons import Persons
from tacit.data import Array, Integers, Raw, Released
from tacit.errors import HorizonReached
from tacit.kernels.block import Block
from tacit.kernels.continual import Closing, JointState
from tacit.kernels.rounds import BOUNDARY, CHOICES, ENTERED, Held, next_boundary
from tacit.mechanisms import entering, prefix
from tacit.mechanisms.continual import RowAdder
from tacit.mechanisms.entering import EnteringRows
from tacit.mechanisms.grid import Grid
from tacit.mechanisms.prefix import PrefixSums
from tacit.mechanisms.ring import Ring
from tacit.mechanisms.sums import Summer
from tacit.models.protocol import copied, like
from tacit.privacy.noise import generator_of


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
        door: Door,
        *,
        pending: int,
        size: int,
        persons: Persons,
        window: int | None = None,
        default: float | None = None,
    ) -> None:
        self.learner, self.door, self.window, self.default = learner, door, window, default
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
        self.fold = Fold(algorithm, declared)
        counts = np.zeros(3, np.int64)
        counts[BOUNDARY] = next_boundary(0, *plan.schedule)
        sums = PrefixSums(plan.mechanism, source)
        self.state: JointState[PrefixSums] = JointState(counts, sums, self.fold.estimate.arrays)
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
        return self.state.prefix.step

    @property
    def released(self) -> Released:
        """The sums of all closed steps, with noise."""
        return self.state.prefix.released

    # estimates

    def _show(self) -> None:
        """From now on choices are made by the fold's estimate."""
        self.state = self.state._replace(estimate=self.fold.estimate.arrays)
        self.shown = View(self.algorithm, self.fold.estimate, self.policy)
        self._adder: RowAdder | None = None

    def draw_from(self, policy: Generator) -> None:
        """Choices, from now on."""
        self.policy = policy
        self._show()

    def offer(self, declared: tuple[Declared, ...]) -> None:
        """These actions, from now on."""
        self.declared = declared
        self.fold.offer(declared)
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
        steps, entries = self.steps, self.entries
        schedule, window = self.algorithm.plan.schedule, self._window
        chosen = None if window is None else min(steps - 1, steps_before(entries - window, schedule))
        self.fold.follow(self.released, steps, entries, self.declared, chosen)
        self.fold.offer(self.declared)
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
            self._adder = self.algorithm.adder(self.fold.estimate)
        return self._adder

    @property
    def summer(self) -> Summer | None:
        """What sums the contributions of rows at the present estimate, anywhere; None where they enter one by one."""
        mechanism = self.algorithm.plan.mechanism
        if self._window is not None or not isinstance(mechanism, Grid):
            return None
        return Summer(self.adder, mechanism.size, mechanism.cell, mechanism.longest)

    # simulation

    def rounds(self, block: Block, held: Raw[Held], tend: Callable[[], None]) -> bool:
        loop = self.algorithm.loop
        if loop is None or self.fold.last is not self.fold.estimate:  # than that of the last release is shown
            return False
        if self._window is not None and len(block.noise):
            tend()  # all that is due: the loop lets one choice enter with each that is made
        arrays = self.state.estimate
        self.state = self.state._replace(estimate=copied(arrays))  # others hold them
        for part in self._parts(block, tend) if loop.by_step else [block]:
            given = generator_of(self.source), part, held, self.state, self.fold.live
            prefix.run(loop.play, self.policy, *given)
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
        steps, of = self.steps, self.algorithm.of_arrays
        before = None if last is None else of(like(self.state.estimate, iter(last)), steps)
        self.fold.resume(self.released, steps, self.entries, of(self.state.estimate, steps), before)
        self._show()
