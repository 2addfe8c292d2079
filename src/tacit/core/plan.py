"""What follows from settings before anybody comes."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from tacit.algorithms.groups import Groups
from tacit.algorithms.schedules import most_weeks
from tacit.core.reward import Reward
from tacit.features.schema import Schema
from tacit.kernels.rounds import Schedule
from tacit.mechanisms.continual import Continual
from tacit.mechanisms.phases import Phases
from tacit.model import arms
from tacit.privacy import ledger
from tacit.privacy.budget import Budget
from tacit.privacy.ledger import GaussianRelease, PhasesRelease, Release
from tacit.privacy.persons import SEVERAL_WEEKS, PersonClaim
from tacit.privacy.relations import REPLACE


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
    groups: Groups | None  # of an experiment, if there is one: its numbers come after those that are learnt from
    numbers: tuple[float, ...]  # what the noise is drawn with: a state with others is not opened
    caveats: tuple[str, ...]  # what the certificate says beside the claim
    releases: Callable[[int], tuple[Release, ...]]  # what has happened to the data after so many steps
    person: Callable[[], PersonClaim | None]  # what the claim is for, where it is for a person or a person's week

    def __post_init__(self) -> None:
        ledger.check(self.releases(self.mechanism.leaves), self.budget)

    @functools.cached_property
    def width(self) -> int:
        """Numbers of an arm."""
        return arms.width(self.dim, self.blocks)

    @functools.cached_property
    def row(self) -> int:
        """Numbers that are kept of a choice until it enters."""
        return self.width + self.kept


def entries(
    statistic: str, mechanism: Continual, size: int, sensitivity: float, groups: Groups | None, rounds: int, steps: int
) -> tuple[Release, ...]:
    """After so many steps: of the sums that are learnt from, of that size and sensitivity, and of an
    experiment's. rounds: of a person."""
    if steps == 0:
        return ()
    if isinstance(mechanism, Phases):
        first = mechanism.first.entry(f"{statistic} (the first phase)", steps, REPLACE)
        own = mechanism.second.entry(
            "gaussian", f"{statistic} (the second)", sensitivity, steps, 1, size=mechanism.second.size, relation=REPLACE
        )
        return (PhasesRelease("phases", statistic, (first, own), rounds, relation=REPLACE),)
    if groups is not None:
        return (groups.entry(mechanism, statistic, size, steps, REPLACE),)
    return (mechanism.entry("gaussian", statistic, sensitivity, steps, rounds, size=size, relation=REPLACE),)


def numbers(size: int, blocks: int) -> str:
    """How many numbers are released, in words."""
    if blocks == 1:
        return f"{size} numbers"
    return f"{size} numbers ({blocks} blocks of {size // blocks}, each user in one of them)"


def person(planned: Sequence[Release], mechanism: Continual, limits: Limits, horizon: int) -> PersonClaim | None:
    """What the claim is for, where it is for a person of at most so many rounds, or a person's week.
    planned: the releases at the end of the schedule."""
    if limits.most is None:
        return None
    over = {}
    if limits.week is not None:
        last = most_weeks(limits.week, horizon)
        for weeks in sorted({min(weeks, last) for weeks in SEVERAL_WEEKS} - {1}):
            norm = mechanism.sum_norm_after(mechanism.leaves, weeks)
            found = [release for release in planned if isinstance(release, GaussianRelease)]
            over[weeks] = [msgspec.structs.replace(release, column_norm=norm) for release in found]
    return PersonClaim(limits.most, limits.week, over)
