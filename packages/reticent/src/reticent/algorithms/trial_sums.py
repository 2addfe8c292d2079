"""What an experiment has released, as sums over people so far: public numbers, from which intervals are made."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from reticent.algorithms.groups import Groups
from reticent.data import Array, Released
from reticent.kernels.rounds import Schedule, next_boundary
from reticent.mechanisms import discounted
from reticent.mechanisms.continual import Continual
from reticent.model.holdout import ArmName, Holdout, TrialGroup


class TrialLook(NamedTuple):
    """At one release. people: numbers in all steps that were released. counts: those of each group. totals: the sum of
    q over them, q the reward's place in its range from -1/2 to 1/2, with noise of the std `taus`. pairs: of each
    declared arm without a group the sums of r = q + 1/2 and of 1 - r over the bandit's choices in which it was played,
    each with noise of the std pair_tau. Every number counts: one without a reward by its deadline, and one that was
    cancelled, refused, erased or lost, as `default`. All noise of one release is independent."""

    people: int
    counts: tuple[int, ...]
    totals: tuple[float, ...]
    taus: tuple[float, ...]
    pairs: tuple[tuple[float, float], ...]
    pair_tau: float


class TrialSums(NamedTuple):
    """groups: the bandit's first. block: numbers in which every group has its places; 1 with coins. pair_arms: declared
    arms without a group. looks: one for each release. ended: the last number that had a group. gains, scales: the noise
    of group i's total at release t = 1, 2, ... is scales[i] sum_k gains[k] z_{t-k}, z standard normal. rounding: a
    total is off by at most so much for each number of its group, since contributions are whole cells of a grid."""

    holdout: Holdout
    groups: tuple[TrialGroup, ...]
    block: int
    pair_arms: tuple[ArmName, ...]
    rewards: tuple[float, float]
    looks: tuple[TrialLook, ...]
    ended: int | None
    gains: Array
    scales: tuple[float, ...]
    rounding: tuple[float, ...]

    @property
    def holdout_groups(self) -> tuple[int, ...]:
        """Which groups make up the holdout."""
        divided = self.holdout.divided
        return tuple(i for i, group in enumerate(self.groups) if i and (divided or group.name == "holdout"))


def trial_sums(
    groups: Groups,
    mechanism: Continual,
    schedule: Schedule,
    released: Sequence[Released],
    counts: Callable[[int], tuple[int, ...]],
    ended: int | None,
) -> TrialSums:
    """From what was released of the experiment at each step so far. counts: how many of so many numbers each group
    has."""
    holdout = groups.holdout
    known, amounts = holdout.groups, groups.weights[:, 1]
    gains, cell = discounted.gains(mechanism), getattr(mechanism, "cell", 0.0)
    scales = tuple(float(mechanism.sigma / s) for s in amounts)
    found = discounted.totals(list(released), mechanism.fading) if released else np.zeros((0, groups.size))
    spread = np.sqrt(np.cumsum(gains[: len(found)] ** 2))
    looks, people = [], 0
    for total, gain in zip(found, spread, strict=True):
        people = int(next_boundary(people, *schedule))
        each = total[: len(known)] / amounts
        pairs = total[len(known) :].reshape(-1, 2) / (groups.part or 1.0)
        looks.append(
            TrialLook(
                people,
                counts(people),
                tuple(map(float, each)),
                tuple(float(gain * scale) for scale in scales),
                tuple((float(won), float(lost)) for won, lost in pairs),
                float(gain * mechanism.sigma / groups.part) if groups.part else 0.0,
            )
        )
    block = 1 if holdout.assign == "coins" else holdout.block
    rounding = tuple(float(cell / 2 / s) for s in amounts)
    ends = groups.low, groups.high
    return TrialSums(holdout, known, block, holdout.pairs, ends, tuple(looks), ended, gains, scales, rounding)
