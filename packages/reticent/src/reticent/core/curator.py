"""The rules of a bandit, each once, whoever holds its data: what may be asked, who plays a number, what is kept of a
choice, what enters, and what a row of a log is.

A Book holds the data: arrays (core.memory) or a database (holders.book). It gives out numbers, keeps what waits for its
reward, sums what enters and releases; how, is its own matter. What it shows choices are made by."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from reticent.algorithms.chances import mixed
from reticent.core import logs
from reticent.core.assignment import NEEDS_GIVEN, Assignment
from reticent.core.validation import ActionSet, PersonId, Validator, hashed, nothing
from reticent.data import Array, Integers, Raw
from reticent.mechanisms import entering
from reticent.mechanisms.entering import EnteringRows, Entry
from reticent.model.chances import Chance, Later


class Chooser(Protocol):
    """What choices are made by, at one version: public, and it does not change."""

    def pick(self, arms: Array) -> Integers:
        """For each user of (n, K, width) the arm to play, by a fresh draw."""
        ...

    def propensity(self, arms: Array, index: int) -> Later:
        """The probability of the arm that was picked among (K, width), as it is now."""
        ...

    def chance(self, arms: Array, index: int) -> Chance:
        """Of any arm, where an experiment plays some numbers."""
        ...

    def row(self, arms: Array, picked: int, place: int, name: str | None, names: tuple[str, ...]) -> Raw[Array]:
        """What is kept of a choice until it enters. place, name: of the arm in the request; names: of all actions."""
        ...


class Asked(NamedTuple):
    """RAW. One person's request, checked. own: the caller's own choice among the arms that may be chosen, where an
    experiment plays that. problem: why it is refused, where it keeps its number. hashed: what stands for it, where
    answers are kept. ahead: what was drawn for it before, by whoever may take time."""

    offer: ActionSet
    person: bytes | None = None
    own: int | None = None
    problem: str | None = None
    hashed: bytes = b""
    ahead: "Drawn | None" = None

    def __repr__(self) -> str:
        return "<raw>"


class Drawn(NamedTuple):
    """RAW. What the bandit picked for a request, by what was shown then. chances: of each arm, if they are known."""

    shown: Chooser
    picked: int
    version: int = 0
    chances: tuple[Chance, ...] | None = None

    def __repr__(self) -> str:
        return "<raw>"


class Played(NamedTuple):
    """RAW. What a number gets: an arm, its place in the request, and its name if it has one; what is kept of it, and
    what computes its probability."""

    place: int
    name: str | None
    row: Raw[Array]
    chance: Later

    def __repr__(self) -> str:
        return "<raw>"


class LoggedRow(NamedTuple):
    """RAW. What is kept of a row of a log, whose it is, and its reward: None if it never came, or if something is wrong
    with the row. void: it has no features."""

    row: Raw[Array]
    person: bytes | None
    reward: Raw[float] | None
    problem: str | None
    void: bool


class Book(Protocol):
    """Who holds people's data."""

    @property
    def validator(self) -> Validator:
        """What may be asked now."""
        ...

    @property
    def key(self) -> bytes:
        """Of people's hashes."""
        ...

    @property
    def assignment(self) -> Assignment | None:
        """Who plays which number, in an experiment."""
        ...

    @property
    def shown(self) -> Chooser: ...

    @property
    def version(self) -> int:
        """Of what is shown: releases before it."""
        ...

    @property
    def default(self) -> float | None:
        """The reward of a choice that has none when it enters."""
        ...


class Curator:
    def __init__(self, book: Book) -> None:
        self.book = book

    # requests

    def ask(
        self,
        arms: Any,
        *,
        actions: Any = None,
        available: npt.ArrayLike | None = None,
        person: PersonId | None = None,
        own: object = None,
    ) -> Asked:
        """A request, checked: ValueError for a bad one, which then is no user and changes nothing. In an experiment a
        bad one has a number, too, or it would move everybody else's group: it is refused when it has one."""
        try:
            return self.admitted(self.book.validator.offer(arms, available, actions), person, own)
        except Exception as error:
            if self.book.assignment is None:
                raise
            return refused(error)

    def admitted(self, offer: ActionSet, person: PersonId | None, own: object) -> Asked:
        """An offer to somebody; ValueError if it cannot be."""
        book, chosen = self.book, None
        who = hashed(person, book.key, limited=book.validator.limited)
        if book.assignment is not None:
            chosen = book.assignment.own(offer, own)
        elif own is not None:
            raise ValueError(NEEDS_GIVEN)
        return Asked(offer, who, chosen)

    def draw(self, asked: Asked) -> Drawn:
        """What the bandit picks by what is shown now. For a refused request the same is drawn, and thrown away."""
        if asked.ahead is not None:
            return asked.ahead
        book, arms = self.book, asked.offer.arms
        if asked.problem is not None:
            arms = np.zeros((1, book.validator.width))
        return Drawn(book.shown, int(book.shown.pick(arms[None])[0]), book.version)

    def ahead(self, asked: Asked, drawn: Drawn) -> Asked:
        """The same with what was drawn, and probabilities: by whoever asks for them, since they take their time."""
        if asked.problem is not None:
            return asked
        shown, arms = drawn.shown, asked.offer.arms
        if self.book.assignment is None:
            later = shown.propensity(arms, drawn.picked)
            found = [Chance(later(), later.error)] * len(arms)
        else:
            found = [shown.chance(arms, index) for index in range(len(arms))]
        return asked._replace(ahead=drawn._replace(chances=tuple(found)))

    def played(self, number: int, asked: Asked, drawn: Drawn) -> Played:
        """What that number gets, by whoever plays it. Tried again with another number, it goes by what the bandit drew,
        too."""
        validator, assignment, offer, index = self.book.validator, self.book.assignment, asked.offer, drawn.picked
        arms, shown, known = offer.arms, drawn.shown, drawn.chances
        if assignment is None:
            chance = shown.propensity(arms, index) if known is None else Later(lambda: known[index])
        else:
            index = assignment.played(number, offer, asked.own, drawn.picked)
            mixture = assignment.mixture(number, offer, asked.own)
            chance = Later(lambda: mixed(shown.chance(arms, index) if known is None else known[index], index, mixture))
        place = offer.place(index)
        name = offer.name(place)
        return Played(place, name, shown.row(arms, index, place, name, validator.names), chance)

    # what enters

    def entering(
        self, entries: Sequence[Entry], numbers: range, size: int, once_more: Callable[[bytes], bool]
    ) -> Raw[EnteringRows]:
        """What choices of these numbers add to the open step, at their deadline. size: of what is kept of one.
        once_more: counts one round more of a person, or says that all are used."""
        book = self.book
        groups = None if book.assignment is None else book.assignment.groups(numbers)
        return entering.enter(entries, size=size, default=book.default, once_more=once_more, groups=groups)

    def logged(self, row: logs.Row, size: int) -> LoggedRow:
        """What is learnt of a row of a log, whose arm was played elsewhere. One that is refused counts as a choice all
        the same. size: numbers that are kept of it."""
        book, (x, reward, person) = self.book, row
        validator = book.validator
        problem = logs.problem(x, reward, validator.rewards)
        who: bytes | None = None
        try:
            who = hashed(person, book.key, limited=validator.limited)
        except ValueError as error:
            x, problem = None, problem or str(error)
        silent = problem is not None or logs.is_silent(reward)
        kept = nothing(size) if x is None else book.shown.row(x[None], 0, 0, None, validator.names)
        return LoggedRow(kept, who, None if silent else Raw(float(reward)), problem, x is None)


def refused(error: Exception, hashed: bytes = b"") -> Asked:
    """A bad request that keeps its number."""
    return Asked(ActionSet(np.zeros((0, 0)), None, None), problem=str(error), hashed=hashed)


def cancelled() -> Raw[float]:
    """In the place of a reward: the choice teaches nothing."""
    return Raw(math.nan)
