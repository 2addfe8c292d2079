"""What follows from settings before anybody comes."""

import functools
from dataclasses import dataclass
from typing import Any

import msgspec

from reticent.algorithms.groups import Groups
from reticent.algorithms.schedules import FARTHEST, most_weeks
from reticent.core.reward import Reward
from reticent.features.schema import Schema
from reticent.kernels.rounds import Schedule
from reticent.mechanisms.continual import Continual
from reticent.mechanisms.phases import Phases
from reticent.model import arms
from reticent.privacy import ledger
from reticent.privacy.budget import Budget
from reticent.privacy.ledger import GaussianRelease, PhasesRelease, Release
from reticent.privacy.persons import SEVERAL_WEEKS, PersonClaim
from reticent.privacy.relations import REPLACE


@dataclass(frozen=True)
class Limits:
    """Whose choices teach. most: rounds of a person, or of a person's week of so many choices; None: all teach."""

    most: int | None = None
    week: float | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All that follows from settings before anybody comes. Public. BudgetExceeded for one whose mechanism costs more
    than its budget: no plan is without this check."""

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
    statistic: str  # what is released, in words
    size: int  # numbers of it that are learnt from
    sensitivity: float  # of those, in l2 norm
    kept: int  # numbers that are kept of a choice beside its arm
    groups: Groups | None  # of an experiment, if there is one: its numbers come after those that are learnt from
    numbers: tuple[float, ...]  # what the noise is drawn with: a state with others is not opened
    caveats: tuple[str, ...]  # what the certificate says beside the claim

    def __post_init__(self) -> None:
        ledger.check(self.releases(self.mechanism.leaves), self.budget)

    def releases(self, steps: int) -> tuple[Release, ...]:
        """What has happened to the data after so many steps."""
        noise, statistic = self.mechanism, self.statistic
        if steps == 0:
            return ()
        if self.groups is not None:
            return (self.groups.entry(noise, statistic, self.size, steps, REPLACE),)
        if not isinstance(noise, Phases):
            rounds = self.budget.rounds
            return (
                noise.entry("gaussian", statistic, self.sensitivity, steps, rounds, size=self.size, relation=REPLACE),
            )
        first, words = noise.first.entry(f"{statistic} (the first phase)", steps, REPLACE), f"{statistic} (the second)"
        second = noise.second
        own = second.entry("gaussian", words, self.sensitivity, steps, 1, size=second.size, relation=REPLACE)
        return (PhasesRelease("phases", statistic, (first, own), self.budget.rounds, relation=REPLACE),)

    @property
    def person(self) -> PersonClaim | None:
        """What the claim is for, where it is for a person of at most so many rounds, or a person's week."""
        most, week, noise = self.limits.most, self.limits.week, self.mechanism
        if most is None:
            return None
        over = {}
        if week is not None:
            last = most_weeks(week, self.horizon or FARTHEST)
            for weeks in sorted({min(weeks, last) for weeks in SEVERAL_WEEKS} - {1}):
                norm, found = noise.sum_norm_after(noise.leaves, weeks), self.releases(noise.leaves)
                gaussian = [release for release in found if isinstance(release, GaussianRelease)]
                over[weeks] = [msgspec.structs.replace(release, column_norm=norm) for release in gaussian]
        return PersonClaim(most, week, over)

    @functools.cached_property
    def width(self) -> int:
        """Numbers of an arm."""
        return arms.width(self.dim, self.blocks)

    @functools.cached_property
    def row(self) -> int:
        """Numbers that are kept of a choice until it enters."""
        return self.width + self.kept


def numbers(size: int, blocks: int) -> str:
    """How many numbers are released, in words."""
    if blocks == 1:
        return f"{size} numbers"
    return f"{size} numbers ({blocks} blocks of {size // blocks}, each user in one of them)"
