"""What follows from settings before anybody comes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tacit.algorithms.sides import Sides
from tacit.features.schema import Schema
from tacit.kernels.rounds import Schedule
from tacit.mechanisms.continual import Continual
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
    """All that follows from settings before anybody comes. Public."""

    name: str  # the bandit's class
    settings: Mapping[str, Any]  # what was given, by name, with defaults filled in
    budget: Budget
    dim: int
    blocks: int  # of coordinates, of which each arm has one to itself: then arms are rows (z, a); 1: there are none
    width: int  # numbers of an arm
    row: int  # numbers that are kept of a choice until it enters
    rewards: tuple[float, float]
    radius: float
    horizon: int | None
    schedule: Schedule
    mechanism: Continual
    limits: Limits
    features: Schema | None  # with the actions of the start
    sides: Sides | None  # of an experiment, if there is one: its numbers come after those that are learnt from
    relation: str
    numbers: tuple[float, ...]  # what the noise is drawn with: a state with others is not opened
    caveats: tuple[str, ...]  # what the certificate says beside the claim
    releases: Callable[[int], tuple[Release, ...]]  # what has happened to the data after so many steps
    person: Callable[[], PersonClaim | None]  # what the claim is for, where it is for a person or a person's week
