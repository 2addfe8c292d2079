"""What a choice is: to the user, for a batch, and while it waits for its reward."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

import numpy as np

from tacit.data import Array
from tacit.errors import UnknownChoice
from tacit.kernels.rounds import Marks

Index = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Choice:
    """The arm for one user: its index, its name if the arms had names, and the ticket with which its reward is
    reported."""

    index: int
    name: str | None
    id: int
    _propensity: Callable[[], float] = field(repr=False, compare=False)

    @property
    def propensity(self) -> float:
        """The probability with which this user got this arm at that state; computed when asked for."""
        return self._propensity()

    @property
    def propensity_error(self) -> float:
        """The standard error of `propensity`: 0 where it is exact (docs/evaluation.md)."""
        return getattr(self._propensity, "error", 0.0)

    def __reduce__(self) -> NoReturn:
        raise TypeError("Expected the id of a choice, got pickle or copy: what computes its propensity is raw data.")


@dataclass(frozen=True, slots=True)
class Choices:
    """The arms for a batch. Rows in `refused` (index -> reason) have index -1 and id 0; they count as choices that
    nobody will answer, so that the schedule does not depend on what is in a row."""

    index: Index
    id: Index
    refused: Mapping[int, str]


class Tickets(NamedTuple):
    """Choices that wait for their reward: a ring, slot = id modulo its length. RAW: it holds features."""

    ids: Index
    features: Array
    people: Marks  # who chose, or whether it teaches: core.persons; of no width where people are not counted
    rewards: Array  # NaN until one came, where choices wait for a deadline

    def number(self, ticket: object, choices: int) -> int:
        """Of a choice that was made, of so many; ValueError or UnknownChoice."""
        if isinstance(ticket, bool) or not isinstance(ticket, int | np.integer):
            raise ValueError(f"Expected a Choice or its id, got {type(ticket).__name__}.")
        if not 1 <= ticket <= choices:
            raise UnknownChoice("Expected the id of a choice that was made, got an unknown one.")
        return int(ticket)

    def slot(self, ticket: object, choices: int) -> int:
        """Where a choice waits, after so many; ValueError or UnknownChoice for what does not wait."""
        pending, number = len(self.ids), self.number(ticket, choices)
        if number <= choices - pending:
            raise UnknownChoice(f"Expected a reward within {pending} later choices, got one for an expired choice.")
        slot = number % pending
        if self.ids[slot] != number:
            raise UnknownChoice("Expected one reward for each choice, got a second one or one for a refused row.")
        return slot


def reward_problem(reward: object, low: float, high: float) -> str | None:
    """What is wrong with it; never its value."""
    if not isinstance(reward, int | float | np.bool_ | np.integer | np.floating):
        return f"Expected a reward that is a number, got {type(reward).__name__}."
    try:
        inside = low <= float(reward) <= high and abs(float(reward)) < math.inf
    except OverflowError:
        inside = False
    return None if inside else f"Expected a finite reward in [{low:g}, {high:g}], got one outside."


def certain(bandit: object, features: Array, index: int) -> Callable[[], float]:
    """The propensity of a bandit that draws nothing: what it picked it would pick again."""
    return lambda: 1.0
