"""What follows from settings before anybody comes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tacit.algorithms.sides import Sides
from tacit.core.reward import Reward
from tacit.features.schema import Schema
from tacit.kernels.rounds import Schedule
from tacit.mechanisms.continual import Continual
from tacit.model import arms
from tacit.privacy import ledger
from tacit.privacy.budget import Budget
from tacit.privacy.ledger import Release
from tacit.privacy.persons import PersonClaim


@dataclass(frozen=True)
class Limits:
    """Whose choices teach. most: rounds of a person, or of a person's week of so many choices; None: all teach."""

    most: int | None = None
    week: float | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All that follows from settings before anybody comes. Public. BudgetExceeded for one that costs more than its
    budget: no plan is without this check."""

    name: str  # as certificates have it
    settings: Any  # the algorithm, a frozen value
    budget: Budget
    reward: Reward
    features: Schema | None  # with the actions of the start
    dim: int
    blocks: int  # of coordinates, of which each arm has one to itself: then arms are rows (z, a); 1: there are none
    horizon: int | None
    per_day: float | None
    schedule: Schedule
    mechanism: Continual
    limits: Limits
    forget: float | None  # rounds
    kept: int  # numbers that are kept of a choice beside its arm
    sides: Sides | None  # of an experiment, if there is one: its numbers come after those that are learnt from
    numbers: tuple[float, ...]  # what the noise is drawn with: a state with others is not opened
    caveats: tuple[str, ...]  # what the certificate says beside the claim
    releases: Callable[[int], tuple[Release, ...]]  # what has happened to the data after so many steps
    person: Callable[[], PersonClaim | None]  # what the claim is for, where it is for a person or a person's week

    def __post_init__(self) -> None:
        ledger.check(self.releases(self.mechanism.leaves), self.budget)

    @property
    def width(self) -> int:
        """Numbers of an arm."""
        return arms.width(self.dim, self.blocks)

    @property
    def row(self) -> int:
        """Numbers that are kept of a choice until it enters."""
        return self.width + self.kept
