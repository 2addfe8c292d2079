"""Choices that wait for their reward in memory, closed: a row goes in, and comes out once, as an entry or to be learnt
from."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tacit.data import Array, Integers, Raw
from tacit.errors import UnknownChoice
from tacit.kernels.rounds import Held, Marks
from tacit.mechanisms import entering
from tacit.mechanisms.entering import HASH, NO_REWARD, NOBODY, Entry
from tacit.mechanisms.opening import opened


class RingArrays(NamedTuple):
    """A ring of them: slot = number modulo its length."""

    ids: Integers
    features: Array
    people: Marks  # who chose, or whether it teaches; of no width where people are not counted
    rewards: Array  # NaN until one came, where choices wait for a deadline


class Ring(Raw[RingArrays]):
    """pending: choices that may wait. size: numbers that are kept of one. named: whether people are counted."""

    __slots__ = ("_pending",)

    def __init__(self, pending: int, size: int, *, named: bool) -> None:
        marks = np.zeros((pending, HASH if named else 0), np.uint8)
        rows, rewards = np.zeros((pending, size)), np.full(pending, np.nan)
        super().__init__(RingArrays(np.zeros(pending, np.int64), rows, marks, rewards))
        self._pending = pending

    def wait(self, number: int, row: Raw[Array], mark: bytes) -> None:
        tickets, slot = opened(self), number % self._pending
        tickets.ids[slot] = number
        tickets.features[slot] = opened(row)
        if tickets.people.size:
            tickets.people[slot] = np.frombuffer(mark, np.uint8)

    def number(self, ticket: object, choices: int) -> int:
        """Of a choice that was made, of so many; ValueError or UnknownChoice."""
        if isinstance(ticket, bool) or not isinstance(ticket, int | np.integer):
            raise ValueError(f"Expected a Choice or its id, got {type(ticket).__name__}.")
        if not 1 <= ticket <= choices:
            raise UnknownChoice("Expected the id of a choice that was made, got an unknown one.")
        return int(ticket)

    def waiting(self, ticket: object, choices: int) -> int:
        """The number of a choice that waits, after so many; ValueError or UnknownChoice for what does not wait."""
        number = self.number(ticket, choices)
        if number <= choices - self._pending:
            raise UnknownChoice(
                f"Expected a reward within {self._pending} later choices, got one for an expired choice."
            )
        if opened(self).ids[number % self._pending] != number:
            raise UnknownChoice("Expected one reward for each choice, got a second one or one for a refused row.")
        return number

    def take(self, number: int) -> tuple[Raw[Array], bytes]:
        """What is kept of a choice, which waits no more, until it is forgotten; and its mark."""
        tickets, slot = opened(self), number % self._pending
        tickets.ids[slot] = 0
        return Raw(tickets.features[slot]), tickets.people[slot].tobytes()

    def forget(self, number: int) -> None:
        """What has been used is not kept."""
        tickets, slot = opened(self), number % self._pending
        tickets.features[slot], tickets.people[slot] = 0.0, 0

    def write(self, number: int, reward: Raw[float]) -> None:
        """A reward beside its choice; UnknownChoice if there is one."""
        tickets, slot = opened(self), number % self._pending
        if not np.isnan(tickets.rewards[slot]):
            raise UnknownChoice("Expected one reward for each choice, got a second one.")
        tickets.rewards[slot] = opened(reward)

    def entry(self, number: int) -> Entry:
        """The choice of that number, at its deadline; nothing where it was refused."""
        tickets, slot = opened(self), number % self._pending
        mark, reward = tickets.people[slot].tobytes() or NOBODY, float(tickets.rewards[slot])
        if tickets.ids[slot] != number:
            return entering.nothing(tickets.features.shape[1])
        given: Raw[float | None] = NO_REWARD if np.isnan(reward) else Raw(reward)
        return Entry(Raw(tickets.features[slot].copy()), mark, teaches=True, reward=given)

    def held(self, hold: int, missing: float) -> Raw[Held]:
        """As compiled loops take it."""
        return Raw(Held(hold, missing, *opened(self)))

    def unanswered(self, number: int) -> Raw[Array] | None:
        """What is kept of the choice whose place that number takes, if it waits still."""
        tickets, slot = opened(self), number % self._pending
        return Raw(tickets.features[slot]) if tickets.ids[slot] else None

    def clear(self) -> None:
        """Nobody's reward is waited for any more."""
        opened(self).ids[:] = 0


def learnt(learn: Callable[..., None], *data: Raw[Any] | None) -> None:
    """`learn` is given the data, open: of a bandit that keeps rows of its own, is a device, or protects nobody."""
    learn(*(None if one is None else opened(one) for one in data))
