"""The holdout of an experiment: what is declared of it, and what one person adds to the experiment's sums."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from reticent import checks
from reticent.data import Array, Exact

POLICIES, BOUNDS, ASSIGN = ("uniform", "given"), ("calibrated", "proven"), ("blocks", "coins")
BANDIT, HOLDOUT, ARM = "bandit", "holdout", "arm"  # what groups are called
TAIL = 3  # numbers that are kept of a choice beside its arm: its group, whether it teaches, and which pair it adds to
TEACHES = 0.5  # of a uniform holdout's budget
ROUNDING = 1e-9  # of 1 / share

ArmName = str | int


class TrialGroup(NamedTuple):
    """Numbers of choices that are played alike. arm: the one that is played, if it is always the same. places: of the
    group in each block of numbers. chance: of a number to be on it. teaches: the share of a person's mu^2 that the
    bandit learns from."""

    name: str
    arm: ArmName | None
    places: int
    chance: float
    teaches: float


@dataclass(frozen=True, kw_only=True)
class Holdout:
    """A holdout, declared before anybody comes: of every 1 / share choices exactly one, at a place that a secret
    key draws, is the holdout's. All of it is public but the places.

    share: 1 / m, m a whole number of at least 2. action: what the holdout always gets: a name, or a place in the
    request. policy, instead: "uniform", one of those on offer at random; "given", the caller's own choice, which every
    request then says (`own`).
    teach: the share of a held-out person's mu^2 that the bandit learns from; by default 0.5 for "uniform", else 0.
    actions: those of which something is to be known each. min_share: 1 / n, n a multiple of m: each of them is played
    in so many of all choices, wherever it is on offer; else the bandit's choice is. Without min_share: with "uniform"
    the holdout's people are divided among them; with another holdout all that is known are bounds from the bandit's own
    choices.
    bound, level: of intervals (docs/trials.md). budget: the share of a bandit's person's mu^2 for the sums of the
    experiment.
    assign: "blocks" as above, or "coins": each number has a coin of its own, where a person may react to what the one
    before got."""

    share: float = 0.1
    action: ArmName | None = None
    policy: str | None = None
    teach: float | None = None
    actions: tuple[ArmName, ...] = ()
    min_share: float = 0.0
    bound: str = "calibrated"
    level: float = 0.95
    budget: float = 0.03
    assign: str = "blocks"

    __repr__ = checks.concise

    def __post_init__(self) -> None:
        checks.probability(share=self.share, level=self.level, budget=self.budget)
        checks.below_one(min_share=self.min_share)
        checks.one_of(BOUNDS, bound=self.bound)
        checks.one_of(ASSIGN, assign=self.assign)
        if (self.action is None) == (self.policy is None):
            raise ValueError(
                'Expected a holdout with either action or policy ("uniform", "given"), got both or neither.'
            )
        if self.policy is not None:
            checks.one_of(POLICIES, policy=self.policy)
        if self.teach is not None:
            checks.below_one(teach=self.teach)
        object.__setattr__(self, "actions", tuple(self.actions) if isinstance(self.actions, list) else self.actions)
        listed = isinstance(self.actions, tuple) and len(set(self.actions)) == len(self.actions)
        if not listed or not all(map(is_arm, self.actions)) or not (self.action is None or is_arm(self.action)):
            raise ValueError("Expected actions of a holdout to be names or places from 0 on, each once, got others.")
        if self.action is not None and self.action in self.actions:
            raise ValueError("Expected actions beside the holdout's own, which has people already, got it among them.")
        self._check_shares()

    def _check_shares(self) -> None:
        if not _whole(1 / self.share):
            raise ValueError(f"Expected share to be 1 / m with a whole number m (0.1, 0.05, ...), got {self.share!r}.")
        if self.min_share and not self.actions:
            raise ValueError("Expected actions with min_share, which is theirs, got none.")
        if self.min_share and self.policy == "uniform":
            raise ValueError(
                'Expected no min_share with policy="uniform", whose people are its actions\' own, got one.'
            )
        if self.min_share and not (_whole(1 / self.min_share) and _whole(self.share / self.min_share)):
            raise ValueError(
                f"Expected min_share to be 1 / n with n a multiple of 1 / share = {round(1 / self.share)}, got "
                f"{self.min_share!r}."
            )
        if self.groups[0].places < 1:
            raise ValueError(
                "Expected shares of holdout and actions that leave the bandit some choices, got all of them."
            )

    @property
    def divided(self) -> bool:
        """Whether the holdout's people are those of the declared actions."""
        return self.policy == "uniform" and bool(self.actions)

    @property
    def block(self) -> int:
        """Numbers of a block: in each of them every group has its places."""
        if self.min_share:
            return round(1 / self.min_share)
        return round(1 / self.share) * (len(self.actions) if self.divided else 1)

    @property
    def groups(self) -> tuple[TrialGroup, ...]:
        """The bandit's first, then the holdout's (where it is not divided), then those of declared actions."""
        teach = self.teach if self.teach is not None else TEACHES if self.policy == "uniform" else 0.0
        block, held = self.block, 0 if self.divided else round(self.block * self.share)
        own = self.actions if self.divided or self.min_share else ()
        left = block - held - len(own)
        return (
            TrialGroup(BANDIT, None, left, left / block, 1 - self.budget),
            *[TrialGroup(HOLDOUT, self.action, held, held / block, teach)] * (not self.divided),
            *(TrialGroup(ARM, arm, 1, 1 / block, teach) for arm in own),
        )

    @property
    def pairs(self) -> tuple[ArmName, ...]:
        """Declared actions without a group of their own."""
        return () if self.divided or self.min_share else self.actions


def is_arm(value: object) -> bool:
    if isinstance(value, str):
        return bool(value)
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _whole(number: float) -> bool:
    return round(number) >= 1 and math.isclose(number, round(number), rel_tol=ROUNDING)


def add_groups(tail: Array, y: float, groups: Array, pair: float, low: float, high: float, out: Exact) -> float:
    """out += what a person adds to the sums of an experiment; returns what its numbers for learning are multiplied by.

    tail: the person's group, 1 if it teaches (else 0), and the number of its arm's pair from 1 on, or 0. groups: for
    each group that multiplier and s. y counts as the nearest number of [low, high]; with q its place there, from -1/2
    to 1/2: s q in the place of the group, and for the bandit's people `pair` (q + 1/2, 1/2 - q) in that of the arm."""
    group, arm = int(tail[0]), int(tail[2])
    q = (min(max(y, low), high) - low) / (high - low) - 0.5
    out[group] += groups[group, 1] * q
    if group == 0 and arm > 0:
        place = groups.shape[0] + 2 * (arm - 1)
        out[place] += pair * (0.5 + q)
        out[place + 1] += pair * (0.5 - q)
    weight: float = tail[1] * groups[group, 0]
    return weight
