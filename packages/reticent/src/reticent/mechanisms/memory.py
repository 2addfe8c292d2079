"""The sums of a bandit in memory, closed: contributions go in, and what a mechanism has released comes out."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from reticent.data import Array, Exact, Integers, Raw, Released
from reticent.errors import UnknownChoice
from reticent.kernels.continual import NOTHING, Closing, ContinualState, Entering, PrefixState, close_on_grid
from reticent.kernels.rounds import Held, Marks
from reticent.mechanisms import entering
from reticent.mechanisms.continual import Continual, RowAdder
from reticent.mechanisms.entering import HASH, NO_REWARD, NOBODY, EnteringRows, Entry
from reticent.mechanisms.opening import opened


class PrefixSums(Raw[PrefixState]):
    """Under continual release by that mechanism. Public: what was released, and how often."""

    __slots__ = ("_mechanism",)

    def __init__(self, mechanism: Continual, source: Any) -> None:
        super().__init__(mechanism.init(source))
        self._mechanism = mechanism

    @property
    def released(self) -> Released:
        """The sums of all closed steps, with noise."""
        return opened(self).released

    @property
    def step(self) -> int:
        """Releases so far."""
        return int(opened(self).noise.step[0])

    def absorb(self, add: Callable[..., None], *data: Raw[Any]) -> None:
        """One contribution joins the open step: `add` is given the data, open, and the vector that it adds to."""
        given = [opened(one) for one in data]
        self._mechanism.absorb(opened(self), lambda out: add(*given, out))

    def add(self, rows: Raw[EnteringRows], adder: RowAdder) -> None:
        """The contributions of rows join the open step; one whose reward is NaN adds nothing."""
        self._mechanism.add(opened(self), *opened(rows), adder)

    def enter(self, rows: Raw[EnteringRows], adder: RowAdder, held: Raw[Held], entered: Integers) -> None:
        """The same where choices enter in the order of their numbers: these wait no more, and move on `entered`. All of
        it, or, if interrupted, nothing."""
        self._mechanism.add(opened(self), *opened(rows), adder, Entering(entered, opened(held)))

    def join(self, total: Raw[Exact]) -> None:
        """A sum of contributions in whole cells joins the open step; it may lack numbers at the end."""
        sums = opened(total)
        opened(self).open[: len(sums)] += sums

    def release(self, source: Any, closing: Closing = NOTHING) -> Released:
        """Close the open step, and what goes with it (Continual.release)."""
        return self._mechanism.release(opened(self), source, closing)

    def follow(self, noisy: Released, closing: Closing = NOTHING) -> None:
        """Close a step whose noisy leaf others have released: what is open here is no part of it."""
        state = opened(self)
        close_on_grid(state, Exact(state.closed[:0]), noisy[None], closing)

    def use(self, noise: ContinualState) -> None:
        """In the place of the mechanism's own noise: for experiments."""
        super().__init__(opened(self)._replace(noise=noise))


def run(loop: Callable[..., Any], *arguments: Any) -> Any:
    """Compiled rounds: what is closed among the arguments, or within one that is a NamedTuple, is given open."""
    return loop(*map(_open, arguments))


def _open(given: Any) -> Any:
    if isinstance(given, Raw):
        return opened(given)
    if isinstance(given, tuple) and any(isinstance(part, Raw) for part in given):
        return type(given)(*map(_open, given))
    return given


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
        """A reward beside its choice: the first one counts."""
        tickets, slot = opened(self), number % self._pending
        if np.isnan(tickets.rewards[slot]):
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
