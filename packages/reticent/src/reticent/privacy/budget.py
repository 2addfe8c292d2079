"""What may be spent, and for whom."""

import math
from dataclasses import dataclass

from reticent import checks, durations


@dataclass(frozen=True)
class Person:
    """A person's rounds together, of which at most `rounds` teach: beyond them people are served, and teach nothing.
    Every choice then says whose it is. per: they are those of each period of so many choices, or of a time ("7 days")
    of as many as `per_day` expects, and so is the promise."""

    rounds: int
    per: float | str | None = None

    __repr__ = checks.concise

    def __post_init__(self) -> None:
        checks.positive_int(rounds=self.rounds)
        object.__setattr__(self, "rounds", int(self.rounds))
        if self.per is not None:
            checks.positive(per=durations.seconds(self.per, "per"))


@dataclass(frozen=True)
class Budget:
    """(epsilon, delta) for replacing one user: one round's whole arm set and reward; with `unit`, all rounds of a
    person.

    epsilon = math.inf asks for the same code without noise; delta = 0 for pure epsilon, which the local model has."""

    epsilon: float
    delta: float
    unit: Person | None = None

    __repr__ = checks.concise

    def __post_init__(self) -> None:
        if self.epsilon != math.inf:
            checks.positive(epsilon=self.epsilon)
        checks.below_one(delta=self.delta)
        if not isinstance(self.unit, Person | None):
            raise ValueError(f"Expected unit to be None or Person(rounds), got {type(self.unit).__name__}.")

    @property
    def rounds(self) -> int:
        """Of one person, that it is for."""
        return 1 if self.unit is None else self.unit.rounds

    def needs_delta(self, what: str) -> None:
        """For a mechanism that has no pure epsilon."""
        if self.delta == 0 and self.epsilon < math.inf:
            raise ValueError(f"Expected delta above 0, which {what} needs, got 0.")

    def of_rounds(self, what: str) -> None:
        """ValueError for a person's budget, where that is not known."""
        if self.unit is not None:
            raise ValueError(f"Expected a budget for one round with {what}, got unit={self.unit!r}.")
