"""Shariff & Sheffet 2018, arXiv:1810.00068: joint privacy, linear rewards.

Theorems 5 and 6 (Corollaries 10 and 12 are these with the constants of Propositions 9 and 11, which is what
`Regularizer` holds), Claim 14, Corollary 15. All constants are explicit."""

import math
from collections.abc import Sequence

from reticent import checks
from reticent_papers.confidence import Regularizer


def linear_ucb(
    regularizer: Regularizer,
    *,
    dim: int,
    horizon: int,
    radius: float = 1.0,
    subgaussian: float = 1.0,
    failure: float = 0.01,
    largest_mean: float = 1.0,
    gap: float | None = None,
) -> float:
    """An upper bound on the regret of linear UCB with changing regularisers that holds with probability 1 - failure,
    with the widths of Proposition 4: Theorem 5, or Theorem 6 if every best arm is `gap` above the others."""
    checks.positive_int(dim=dim, horizon=horizon)
    checks.positive(radius=radius, subgaussian=subgaussian)
    checks.probability(failure=failure)
    low, high = regularizer.floor, regularizer.ceiling
    growth = horizon / (dim * low)
    bracket = subgaussian * (2 * math.log(2 / failure) + dim * math.log(high / low + growth)) + (
        radius * math.sqrt(high) + regularizer.perturbation
    ) * math.sqrt(dim * math.log(1 + growth))
    scale = max(1.0, largest_mean)
    if gap is None:
        return scale * math.sqrt(8 * horizon) * bracket
    checks.positive(gap=gap)
    return 8 * scale / gap * bracket**2


def private_arms_lower(gaps: Sequence[float], *, horizon: int, epsilon: float) -> float:
    """No epsilon-private algorithm for a multi-armed bandit whose other arms are `gaps` below the best can have less
    expected regret, for large horizons: (k - 1) ln(horizon) / (200 epsilon) (Corollary 15, from Claim 14).

    It is additional to what holds without privacy, sum of ln(horizon) / gap up to constants."""
    checks.positive_int(horizon=horizon)
    checks.positive(epsilon=epsilon, **{f"gap {i}": g for i, g in enumerate(gaps)})
    return len(gaps) * math.log(horizon) / (200 * epsilon)
