"""What a plan's releases cost, from settings alone: for the ledger and for the certificate."""

from collections.abc import Sequence

import msgspec

from tacit.algorithms.sides import Sides
from tacit.algorithms.weeks import most_weeks
from tacit.core.plan import Limits
from tacit.mechanisms.continual import Continual
from tacit.mechanisms.phases import Phases
from tacit.privacy.ledger import GaussianRelease, PhasesRelease, Release
from tacit.privacy.persons import SEVERAL_WEEKS, PersonClaim
from tacit.privacy.relations import REPLACE


def entries(
    statistic: str,
    mechanism: Continual,
    size: int,
    sensitivity: float,
    sides: Sides | None,
    rounds: int,
    steps: int,
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
    if sides is not None:
        return (sides.entry(mechanism, statistic, size, steps, REPLACE),)
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
