"""How many people an answer takes: half the width of the interval to be expected, and when it is small enough."""

import math
from collections.abc import Callable
from typing import NamedTuple

from reticent_serve.trials import bounds, looks
from reticent_serve.trials.bounds import CALIBRATED, GroupSum
from reticent_serve.trials.groups import Places
from reticent_serve.trials.trial import ReleasedSums, Trial, groups_of

POWER = 0.84  # normal quantile of 4 in 5: so often an effect is seen after the people that are named
FURTHEST = 10**9  # people: beyond, it is not worth a number


class Outlook(NamedTuple):
    """A trial to come, or one that goes on. holdout, bandit: mean rewards that are expected, in [0, 1]. noise: std in
    the holdout's and in the bandit's sum after so many people, in people; level, bound: as of the trial; horizon: of
    choices."""

    groups: Places
    holdout: float
    bandit: float
    noise: Callable[[int], tuple[float, float]]
    level: float = 0.95
    bound: str = CALIBRATED
    horizon: int | None = None


def half(of: Outlook, people: int) -> float:
    """Half the width after so many people, if their sums are as expected."""
    blocks = max(people // of.groups.block, 1)
    error = (1 - of.level) / looks.most(of.groups.holdout / of.groups.block, of.horizon)
    loud = of.noise(people)
    holdout = GroupSum(of.groups.holdout, blocks * of.groups.holdout * of.holdout, loud[0])
    bandit = GroupSum(of.groups.bandit, blocks * of.groups.bandit * of.bandit, loud[1])
    found = bounds.difference(bandit, holdout, of.groups, blocks, error, of.bound)
    return float(found.high - found.low) / 2


def spread(of: Outlook, people: int) -> float:
    """Standard deviation of the estimate."""
    blocks, groups = max(people // of.groups.block, 1), of.groups
    loud = of.noise(people)
    noise = math.hypot(loud[0] / groups.holdout, loud[1] / groups.bandit) / blocks
    return math.sqrt(bounds.coin(groups, of.holdout, of.bandit) / blocks + noise**2)


def until(of: Outlook, effect: float, power: float = 0.0) -> int | None:
    """After how many people half the width, and `power` standard deviations of the estimate, are at most `effect`; None
    beyond FURTHEST. At least those of the first look."""
    least = -(-looks.FIRST // of.groups.holdout)
    low, high = least - 1, least

    def done(blocks: int) -> bool:
        people = blocks * of.groups.block
        return half(of, people) + power * spread(of, people) <= effect

    while not done(high):
        low, high = high, 2 * high
        if high * of.groups.block > FURTHEST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if done(middle) else (middle, high)
    return high * of.groups.block


def more(sums: ReleasedSums, now: Trial, width: float, horizon: int | None = None) -> int | None:
    """How many more people make half the width of that trial's interval so small, if means and noise stay as they are;
    None beyond FURTHEST."""
    low, high = sums.rewards
    rates = [min(max((one.value - low) / (high - low), 0.0), 1.0) for one in (now.holdout_value, now.bandit)]
    of = Outlook(groups_of(sums), rates[0], rates[1], lambda _: now.noise, now.level, now.bound, horizon)
    found = until(of, width / (high - low))
    return None if found is None else max(found - now.people, 0)
