"""The shuffled sum with its published constants: kept to stand beside ours."""

import math
from typing import NamedTuple

from reticent import checks
from reticent.privacy.budget import Budget

LARGEST_EPSILON = 15.0
COIN = 0.25


class PaperPlan(NamedTuple):
    """g, b and p of eq. 122."""

    users: int
    size: int
    scale: float  # g / Delta
    reach: int  # g
    trials: int  # b
    sensitivity: float  # Delta

    @property
    def slots(self) -> int:
        return 2 * self.reach + self.trials

    @property
    def bits(self) -> int:
        return self.size * self.slots

    @property
    def std(self) -> float:
        """Of a coordinate of the sum: sqrt(n b p (1 - p) + n / 4) Delta / g, rounding included."""
        return math.sqrt(self.users * (self.trials * COIN * (1 - COIN) + 0.25)) / self.scale


def calibrate_paper(budget: Budget, *, users: int, dim: int, sensitivity: float, matrix: bool = False) -> PaperPlan:
    """b = 24 10^4 g^2 ln(4 (d^2 + 1) / delta)^2 / (epsilon^2 n), p = 1/4, g = max(2 sqrt n, d, 4), for vectors of d
    numbers or (`matrix`) the d (d + 1) / 2 distinct entries of symmetric matrices, bounded by Delta = `sensitivity`.

    Guarantee: claimed (epsilon, delta)-shuffle privacy for epsilon <= 15, delta < 1/2; we quote it and do not prove it.
    Reference: Sarmasarkar et al. 2026, eq. 122 and Algorithms 4-6; Cheu et al. 2022, arXiv:2106.09805.
    Departure: 2 g + b slots for each coordinate. Algorithm 4 biases an entry by Delta, so it lies in [0, 2 Delta] and
    takes up to 2 g ones, but has g + b slots; it also sends both halves of a symmetric matrix, which is the same
    report twice. The sensitivity of a matrix is stated in operator norm, which Gaussian-like noise does not answer to:
    the Frobenius norm of the difference of two rank-one matrices of norm Delta is up to sqrt 2 Delta. Its constant is
    so large that this does not matter."""
    budget.needs_delta("a shuffled sum")
    checks.positive_int(users=users, dim=dim)
    checks.positive(sensitivity=sensitivity)
    if budget.epsilon > LARGEST_EPSILON:
        raise ValueError(
            f"Expected epsilon at most {LARGEST_EPSILON:g} for the published calibration, got {budget.epsilon:g}."
        )
    g = math.ceil(max(2 * math.sqrt(users), dim, 4))
    logs = math.log(4 * (dim**2 + 1) / budget.delta)
    trials = math.ceil(24e4 * g**2 * logs**2 / (budget.epsilon**2 * users))
    size = dim * (dim + 1) // 2 if matrix else dim
    return PaperPlan(users, size, g / sensitivity, g, trials, sensitivity)
