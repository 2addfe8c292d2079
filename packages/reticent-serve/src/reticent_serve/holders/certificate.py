"""The certificate of a bandit on a database: the bandit's own, and what it costs with those in whose place it came."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from reticent.core.estimator import Estimator
from reticent.core.onepass import OnePass
from reticent.data import Array
from reticent.model.arms import coordinates
from reticent.privacy.certificate import Certificate
from reticent.privacy.ledger import Release, epsilon_of
from reticent.privacy.persons import many
from reticent_serve.holders.rows import BanditRow
from reticent_serve.holders.witness import Predecessor

LEVEL = 0.9  # of intervals, where a bandit's have a level of choice


class Past(NamedTuple):
    """A version: the number of choices that its last step closed at, when it became visible (0 before any release), and
    for each coordinate of theta* the estimate and an interval, both cut to the radius."""

    choices: int
    visible_at: float
    estimate: Array
    low: Array
    high: Array


class Offers(NamedTuple):
    """For each of some arms: the probability of being offered, and the mean reward with its interval; and their names,
    if they have any."""

    probability: Array
    mean: Array
    low: Array
    high: Array
    names: tuple[str, ...] = ()


def past(estimator: Estimator, before: Past | None, visible_at: float) -> Past:
    """As it is now, after that earlier version."""
    plan, algorithm = estimator.algorithm.plan, estimator.algorithm
    middle, half = algorithm.model.beliefs(estimator.estimate.arrays, coordinates(plan.dim, plan.blocks), LEVEL)
    most = plan.reward.radius
    estimate, low, high = (np.clip(end, -most, most) for end in (middle, middle - half, middle + half))
    return Past(estimator.entries, visible_at, estimate, low, high)


RAW_ROWS = (
    "Raw rows are sealed; who has a copy of the database, old or new, and the folder of keys of the same time can read "
    "what was waiting then. A copy without keys shows how many choices were waiting, and of how many of them something "
    "had been written. How many rounds each person has had is kept by keyed hashes. The folder of keys must not be in "
    "backups."
)


def charged(algorithm: OnePass, predecessors: Sequence[Predecessor]) -> list[Release]:
    """What these have released, or may have."""
    plan, out = algorithm.plan, list[Release]()
    for one in predecessors:
        whole = plan.releases(plan.mechanism.leaves)
        out += (whole if one.steps is None else plan.releases(one.steps)) + whole * (one.times - 1)
    return out


def of(algorithm: OnePass, found: Certificate, row: BanditRow, released: int, *, ended: bool = False) -> Certificate:
    """`found` as core.claim has it. `released`: leaves that are committed, whether or not they are visible.

    Nothing raw of a predecessor is used again, so a round is in one bandit only, and the claim is that of one bandit.
    Those who were in several have the releases of all of them together."""
    plan = algorithm.plan
    if found.epsilon is None or found.delta is None or found.budget is None:
        return found
    caveats = [*found.caveats, RAW_ROWS]
    if ended:
        caveats.append("Retired: what was raw was dropped and its keys are destroyed; nothing more is released.")
    if row.predecessors:
        together = epsilon_of([*found.releases, *charged(algorithm, row.predecessors)], found.delta)
        alone = [found.epsilon, *(epsilon_of(charged(algorithm, [one]), found.delta) for one in row.predecessors)]
        caveats.append(
            f"Restored from a backup: a new bandit, which started from what was released before it by "
            f"{', and by '.join(map(_said, row.predecessors))}. A person who was in one of them alone has epsilon "
            f"{max(alone):.4g}. A person who was in all of them has epsilon {together:.4g} together, at the same "
            "delta. A request that is sent again after the restore is another round."
        )
    spent = epsilon_of(plan.releases(released), found.delta)
    return msgspec.structs.replace(found, spent=spent, caveats=tuple(caveats))


def _said(one: Predecessor) -> str:
    much = "its whole plan, since its witness is lost" if one.steps is None else many(one.steps, "release")
    more = ", and its whole plan besides, since its database was taken back in time" * (one.times > 1)
    return f"bandit {one.uid} (counted: {much}{more})"
