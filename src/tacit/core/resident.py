"""What everything that runs in memory offers: choose, observe, play, save.

Only choices advance the public schedule; without a window `observe` adds to the step that is open when the reward
comes. A choice that nobody answers expires after `pending` later choices, so memory stays flat."""

import contextlib
import heapq
import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from tacit.core import snapshot
from tacit.core.choices import Choice, Choices, Index
from tacit.core.curator import Curator, Drawn
from tacit.core.door import Offer
from tacit.core.file_witness import FileWitness
from tacit.core.memory import Memory
from tacit.core.persons import PersonId
from tacit.data import Array, Raw
from tacit.errors import BadState, UnknownChoice
from tacit.features import frames
from tacit.forks import process
from tacit.kernels.block import Block
from tacit.kernels.rounds import outcome
from tacit.lock import Lock, locked
from tacit.mechanisms.entering import NOBODY
from tacit.model.arms import Arms
from tacit.model.chances import Later

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
        nothing; but in an experiment it has a number, too, or it would move everybody else's side."""
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
        rows, problems, names = memory.door.batch(arms, actions)
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
            offer = Offer(row, names, None)
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
        checked = self.memory.door.check(reward)
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
        late come step by step, unless choices wait for them (`window`)."""
        memory = self.memory
        if block.arms.shape[2] != memory.door.width:
            raise ValueError(
                f"Expected a block with arms of {memory.door.width} dimensions, got {block.arms.shape[2]}."
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
        memory, names = self.memory, self.memory.door.names
        placed = bool(names) and memory.door.blocks > 1
        for t in range(len(block.noise)):
            self.tend()
            arms, shown = block.arms[t], memory.shown
            index = int(shown.pick(block.arms[t : t + 1])[0])
            if memory.assignment is not None:
                offer = Offer(arms, tuple(names[int(x[-1])] for x in arms) if placed else None, None)
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
        ($XDG_STATE_HOME/tacit) tell which state is the last."""
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
