"""What really happens to the data, and the epsilon that follows from it.

The ledger computes, it does not quote: each mechanism is recorded by the noise and sensitivity in use, and epsilon
is recomputed from those. `check` refuses a plan whose epsilon comes out above its budget.
"""

import math
from collections.abc import Sequence

import msgspec

from tacit.errors import BudgetExceeded
from tacit.privacy import gaussian
from tacit.privacy.budget import Budget
from tacit.privacy.composition import repeated_epsilon


class GaussianRelease(msgspec.Struct, frozen=True, tag="gaussian"):
    """Linear statistics released through a factorisation with Gaussian noise: mu = sensitivity column_norm / sigma.

    column_norm is the largest l2 norm of a column of the encoder: how often, and how strongly, one user's
    contribution enters what is released."""

    name: str
    statistic: str
    sensitivity: float
    column_norm: float
    sigma: float

    @property
    def mu(self) -> float:
        return self.sensitivity * self.column_norm / self.sigma if self.sigma else math.inf


class RepeatedRelease(msgspec.Struct, frozen=True, tag="repeated"):
    """A mechanism that is (epsilon0, delta0)-private by a theorem, and sees a user `count` times."""

    name: str
    statistic: str
    theorem: str
    epsilon0: float
    delta0: float
    count: int
    degrees_of_freedom: int


class ShuffledRelease(msgspec.Struct, frozen=True, tag="shuffled"):
    """The shuffled sum of one batch: integers v grid, rounded, plus `trials` fair coins of each user and coordinate."""

    name: str
    statistic: str
    sensitivity: float
    users: int
    minimum: int
    grid: float
    trials: int
    std: float
    bits: int


class LocalRelease(msgspec.Struct, frozen=True, tag="local"):
    """One report of a device, private by itself; `std` is that of the noise in each decoded number."""

    name: str
    statistic: str
    numbers: int
    sensitivity: float
    std: float


Release = GaussianRelease | RepeatedRelease | ShuffledRelease | LocalRelease


def epsilon_of(releases: Sequence[Release], delta: float) -> float:
    """epsilon at delta of all releases together."""
    gaussians = [r for r in releases if isinstance(r, GaussianRelease)]
    repeated = [r for r in releases if isinstance(r, RepeatedRelease)]
    if not repeated:
        return gaussian.epsilon(math.hypot(*(r.mu for r in gaussians)), delta) if gaussians else 0.0
    if gaussians or len(repeated) > 1:
        raise ValueError("Expected either Gaussian releases or a single repeated one, got a mixture.")
    one = repeated[0]
    return repeated_epsilon(one.epsilon0, one.delta0, one.count, delta)


def check(releases: Sequence[Release], budget: Budget) -> float:
    """The recomputed epsilon, or BudgetExceeded."""
    if budget.epsilon == math.inf:
        return math.inf
    computed = epsilon_of(releases, budget.delta)
    if computed > budget.epsilon * (1 + 1e-9):
        raise BudgetExceeded(
            f"Expected epsilon at most {budget.epsilon:g} at delta {budget.delta:g}, got {computed:.6g} "
            "from the noise that would be used."
        )
    return computed
