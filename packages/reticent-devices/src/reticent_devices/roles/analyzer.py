"""The analyzer: plans of batches, and the check of what a shuffler hands over."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

from reticent import checks
from reticent.data import Coded
from reticent.errors import BudgetExceeded
from reticent.privacy import gaussian
from reticent.privacy.budget import Budget
from reticent_devices.mechanisms.shuffle.calibration import Plans, ShufflePlan, calibrate, epsilon, table
from reticent_devices.mechanisms.shuffle.encoding import reach
from reticent_devices.roles import wire
from reticent_devices.roles.wire import Parameters

CENTRAL_TRIALS = 400
SILENT_GRID = 2.0**20  # cells per unit where no noise is asked for


@dataclass(frozen=True, kw_only=True)
class Analyzer:
    """Batches of users, each user in one of them, so each batch may spend the whole budget.

    Guarantee: (epsilon, delta)-shuffle privacy of every batch's multiset for replacing one of its users, at the epsilon
    that `epsilon(reports)` recomputes from the noise of those who reported, less `malicious` of the planned, who may
    have left theirs out. Batches are planned so that it stays within the budget down to `minimum` reports.
    Reference: the protocol is Cheu et al. 2022 (arXiv:2106.09805) with p = 1/2; calibration: ours.
    Departure: fair coins (their number is a popcount); 2 reach + trials slots.

    first, growth, largest: batch k is planned for ceil(first growth^k) users, and at most `largest`.
    calibration="central": the noise of a trusted curator's Gaussian mechanism, to compare with; it has no proof in the
    shuffle model."""

    budget: Budget
    size: int
    sensitivity: float
    norm: float
    first: int
    growth: float = 2.0
    dropout: float = 0.0
    malicious: float = 0.0
    largest: float = math.inf
    calibration: str = "exact"
    _fixed: list[ShufflePlan] = field(default_factory=list, init=False, repr=False, compare=False)
    _plans: list[ShufflePlan] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        checks.positive_int(first=self.first)
        checks.one_of(("exact", "central"), calibration=self.calibration)
        if not 1 <= self.growth < math.inf:
            raise ValueError(f"Expected growth of at least 1, got {self.growth!r}.")
        if not self.largest >= self.first:
            raise ValueError(f"Expected largest to be at least the first batch, {self.first}, got {self.largest!r}.")
        check_shares(self.dropout, self.malicious)

    def fix(self, plan: ShufflePlan) -> None:
        """One plan for every batch: simulation of another mechanism, whose guarantee its caller computes."""
        self._fixed.append(plan)

    def plan(self, batch: int) -> ShufflePlan:
        """Of batch 0, 1, ..."""
        if self._fixed:
            return self._fixed[0]
        while len(self._plans) <= batch:
            self._plans.append(self._next())
        return self._plans[batch]

    def _next(self) -> ShufflePlan:
        """After the plans so far. At `largest` batches grow no more: whoever fills them with reports of their own must
        not make them too large for everybody else."""
        if self._plans and self._plans[-1].users >= self.largest:
            return self._plans[-1]
        return self._make(math.ceil(min(self.largest, self.first * self.growth ** len(self._plans))))

    def _make(self, users: int) -> ShufflePlan:
        if self.budget.epsilon == math.inf:
            return ShufflePlan(users, self.size, SILENT_GRID, reach(SILENT_GRID, self.norm), 0, self.sensitivity)
        if self.calibration == "central":
            std = self.sensitivity / gaussian.mu(self.budget)
            scale = math.sqrt(users * (CENTRAL_TRIALS + 1)) / 2 / std
            return ShufflePlan(users, self.size, scale, reach(scale, self.norm), CENTRAL_TRIALS, self.sensitivity)
        plan = calibrate(
            self.budget,
            users=users,
            size=self.size,
            sensitivity=self.sensitivity,
            norm=self.norm,
            honest=honest(users, self.dropout, self.malicious),
        )
        spent = self.epsilon(plan, self.minimum(plan))
        if spent > self.budget.epsilon * (1 + 1e-6):
            raise BudgetExceeded(
                f"Expected epsilon at most {self.budget.epsilon:g} at delta {self.budget.delta:g}, got {spent:.6g} "
                "from the noise that would be used."
            )
        return plan

    def minimum(self, plan: ShufflePlan) -> int:
        """The fewest reports that may be analyzed."""
        return fewest(plan.users, self.dropout)

    def epsilon(self, plan: ShufflePlan, reports: int) -> float:
        """What a batch of so many reports costs its users. Reports beyond the planned number count for nothing: who
        sends them is anybody's guess."""
        if self.budget.epsilon == math.inf or self.calibration == "central":
            return math.inf
        return epsilon(plan, self.budget.delta, min(reports, plan.users) - self.liars(plan))

    def liars(self, plan: ShufflePlan) -> int:
        """The most users who may leave out their noise."""
        return liars(plan.users, self.malicious)

    def plans(self, users: int, batch: int) -> Plans:
        """As a kernel takes them, up to the batch that holds the `users`-th user from the start of `batch`."""
        last = batch
        left = users
        while left > 0:
            left -= self.plan(last).users
            last += 1
        return table([self.plan(k) for k in range(last + 1)])

    def parameters(self, batch: int, digest: bytes) -> Parameters:
        plan = self.plan(batch)
        return Parameters(batch, digest, plan.size, plan.reach, plan.trials)

    def open(self, message: bytes, batch: int, digest: bytes) -> tuple[int, Coded]:
        """(reports, sums) of a batch, checked; an error changes nothing."""
        return wire.decode_batch(message, self.parameters(batch, digest))


# exact numbers of users: in floating point, 0.07 of 100 are more than 7


def fewest(users: int, dropout: float) -> int:
    """Who surely report, if a share of the users may send nothing."""
    return max(1, math.ceil((1 - Fraction(str(dropout))) * users))


def liars(users: int, malicious: float) -> int:
    """The most who may send no noise."""
    return math.ceil(Fraction(str(malicious)) * users)


def honest(users: int, dropout: float, malicious: float) -> int:
    """Who surely report, with noise."""
    return max(1, fewest(users, dropout) - liars(users, malicious))


def check_shares(dropout: float, malicious: float) -> None:
    for name, share in (("dropout", dropout), ("malicious", malicious)):
        if not 0 <= share < 1:
            raise ValueError(f"Expected {name} in [0, 1), got {share!r}.")
    if dropout + malicious >= 1:
        raise ValueError("Expected dropout and malicious users to leave some honest ones, got none.")
