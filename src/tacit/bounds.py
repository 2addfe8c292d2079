"""Bounds on regret, as plain functions: what theory promises and what it forbids.

Reference: Shariff & Sheffet 2018, arXiv:1810.00068: Theorems 5 and 6 (Corollaries 10 and 12 are these with the
constants of Propositions 9 and 11, which is what `Regularizer` holds), Claim 14, Corollary 15."""

import math
from collections.abc import Sequence

import numpy as np

from tacit import checks
from tacit.bandits.ridge import Regularizer
from tacit.model.links import Link
from tacit.privacy.budget import Budget


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


def glm_lower(link: Link, *, dim: int, horizon: int, radius: float = 1.0, budget: Budget | None = None) -> float:
    """No algorithm (within that budget, protecting rewards) has less expected regret than this in all worlds with
    |x| <= 1, |theta*| <= radius and rewards of 0 or 1: of order sqrt(d T), and d / epsilon for privacy.

    The worlds: round t offers +e_j and -e_j with j = t modulo d, and theta* = a (+-1, ..., +-1), so that in each of d
    separate games of n = T / d rounds one arm has mean 1/2 + g/2 and the other 1/2 - g/2, g = mu(a) - mu(-a).
    Statistics: within a game the KL divergence between the two signs is at most n g ln((1 + g) / (1 - g)), so that
    (Bretagnolle & Huber) the probabilities of a wrong arm under the two signs sum to at least exp(-KL) / 2 in each
    round: regret at least (T g / 4) exp(-KL).
    Privacy: a reward's law (for both arms together) differs between the signs by g in total variation, so the actions
    are (e, d')-close with e = 6 epsilon n g, d' = 4 exp(e) n g delta (Karwa & Vadhan 2018, arXiv:1711.03908, Lemma
    6.1), and the probabilities of a wrong arm sum to at least exp(-e) (1 - d'): regret at least half of that times T g.
    Each is maximised over g up to its largest, at a = radius / sqrt(d); the larger one is returned.

    Reference: Sarmasarkar 2026, Lemma 7.1, d / epsilon up to a constant; its non-private term is d sqrt(T / kappa*)
    (Abeille et al. 2021, arXiv:2010.12642), sharper than ours in d.
    Departure: the constants are explicit, and the pairs of arms take turns. In the paper all 2 d arms are offered in
    each round, where one sign is enough to play well, so that errors and plays of a coordinate are not independent as
    its proof takes them to be."""
    checks.positive_int(dim=dim, horizon=horizon)
    checks.positive(radius=radius)
    if not link.bounded:
        raise ValueError(f"Expected a link with means in [0, 1], got {link.name}.")
    n = horizon // dim
    steepest = float(link.mean(radius / math.sqrt(dim)) - link.mean(-radius / math.sqrt(dim)))
    gaps = steepest * np.logspace(-6, 0, 2001)
    statistics = n * dim * gaps / 4 * np.exp(-n * gaps * np.log((1 + gaps) / np.maximum(1 - gaps, 1e-300)))
    best = float(statistics.max())
    if budget is not None and budget.epsilon < math.inf:
        wrong = np.exp(-6 * budget.epsilon * n * gaps) - 4 * n * gaps * budget.delta
        best = max(best, float((n * dim * gaps / 2 * wrong).max()))
    return best
