"""The constants of Shariff & Sheffet 2018, section 4: noise and the bounds that follow from it.

n is the number of releases, m the number of tree levels a leaf is in, L2 = 1 + Y^2 bounds |x|^2 + y^2.
"""

import functools
import math

import numpy as np

from reticent import special
from reticent.algorithms.ridge import Confidence
from reticent.privacy import search
from reticent.privacy.budget import Budget
from reticent.privacy.composition import repeated_epsilon
from reticent_papers.confidence import Regularizer, gaussian_regularizer, width_of

SHARES = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8)  # of delta for the nodes' own deltas, tried for the fewest degrees of freedom
SAFELY = 0.999  # of epsilon: dp-accounting rounds up
FLOATS = 2.0**-52  # down to neighbouring floats: what dp-accounting rounds is not smooth


def gaussian_paper_sigma(budget: Budget, m: int, largest_reward: float) -> float:
    """sigma_noise = 4 sqrt(m) L2 ln(4 / delta) / epsilon, in svec coordinates.

    The paper adds (Z + Z') / sqrt 2 with entries of Z of std sigma_noise: diagonal entries of std sqrt 2 sigma_noise
    and others of std sigma_noise, which is std sqrt 2 sigma_noise for each svec coordinate.
    Departure: the paper takes L2 for the Frobenius sensitivity; for replacing a user it is sqrt 2 L2. The certificate
    computes with the latter, and the published noise is large enough for it."""
    if budget.epsilon == math.inf:
        return 0.0
    return math.sqrt(2) * 4 * math.sqrt(m) * (1 + largest_reward**2) * math.log(4 / budget.delta) / budget.epsilon


def gaussian_paper_bounds(sigma: float, m: int, n: int, dim: int, failure: float, shift: float | None) -> Regularizer:
    """Proposition 11: Upsilon = sigma_noise sqrt(2 m) (4 sqrt d + 2 ln(2 n / failure)), shift 2 Upsilon,
    perturbation = sigma_noise sqrt(m / floor) (sqrt d + sqrt(2 ln(2 n / failure))); sigma = sqrt 2 sigma_noise."""
    upsilon = sigma * math.sqrt(m) * (4 * math.sqrt(dim) + 2 * math.log(2 * n / failure))
    moment = sigma / math.sqrt(2) * math.sqrt(m) * (math.sqrt(dim) + math.sqrt(2 * math.log(2 * n / failure)))
    return gaussian_regularizer(upsilon, moment, math.inf, shift)


def wishart_dof(epsilon0: float, delta0: float, dim: int) -> int:
    """Theorem 8: d + 1 + 28 ln(4 / delta0) / epsilon0^2 degrees of freedom make one node (epsilon0, delta0)-private,
    for epsilon0 < 1 and delta0 < 1 / e (Sheffet 2015, Theorem 4.1; beyond that it is false)."""
    if not (0 < epsilon0 < 1 and 0 < delta0 < 1 / math.e):
        raise ValueError(
            "Expected a budget that gives each node of a Wishart tree epsilon below 1 and delta below 1/e, "
            f"got {epsilon0:.3g} and {delta0:.3g}."
        )
    return dim + 1 + math.ceil(28 / epsilon0**2 * math.log(4 / delta0))


def wishart_paper_node(budget: Budget, m: int) -> tuple[float, float]:
    """The share of one node as published: epsilon / sqrt(8 m ln(2 / delta)), delta / (2 m)."""
    return budget.epsilon / math.sqrt(8 * m * math.log(2 / budget.delta)), budget.delta / (2 * m)


@functools.lru_cache(maxsize=64)
def wishart_exact_node(budget: Budget, m: int) -> tuple[float, float]:
    """The share of one node that needs the fewest degrees of freedom: 2 m - 1 nodes, composed optimally, are in budget.

    A user is in m nodes, and one whose reward arrives in another step in up to m - 1 others besides: arrival times are
    covered, which Gaussian noise has for free."""
    count = 2 * m - 1
    best = (math.inf, 0.0, 0.0)
    for share in SHARES:
        delta0 = share * budget.delta / count
        most = min(budget.epsilon, 1 - 1e-9)  # Theorem 8 holds below 1
        too_much = functools.partial(_exceeds, budget, delta0, count)
        epsilon0, _ = search.halved(too_much, 0.0, most, digits=FLOATS)
        if epsilon0 > 0:
            best = min(best, (math.log(4 / delta0) / epsilon0**2, epsilon0, delta0))
    epsilon0, delta0 = best[1:]
    while repeated_epsilon(epsilon0, delta0, count, budget.delta) > budget.epsilon:
        epsilon0 *= SAFELY
    return epsilon0, delta0


def _exceeds(budget: Budget, delta0: float, count: int, epsilon0: float) -> bool:
    """Whether so many (epsilon0, delta0)-private nodes cost more than the budget."""
    return repeated_delta(epsilon0, delta0, count, SAFELY * budget.epsilon) > budget.delta


def wishart_bounds(
    dof: int,
    m: int,
    n: int,
    dim: int,
    failure: float,
    largest_reward: float,
    shift: float | None,
    published: bool,
) -> Regularizer:
    """Proposition 9, H ~ Wishart(L2 I, m dof) + shift I.

    The eigenvalues before the shift lie in L2 (sqrt(m dof) -+ (sqrt d + sqrt(2 ln(8 n / failure))))^2; the default
    shift is -c of eq. (4). |h|_{H^-1} <= L (sqrt d + sqrt(2 ln(2 n / failure))) before the shift, and by Claim 20 times
    sqrt(floor before / floor after) after it (for a positive shift, ceiling for floor); `published` takes the looser
    constant printed for that shift."""
    square = 1 + largest_reward**2
    root = math.sqrt(m * dof)
    spread = math.sqrt(dim) + math.sqrt(2 * math.log(8 * n / failure))
    other = math.sqrt(dim) + math.sqrt(2 * math.log((2 if published else 8) * n / failure))
    if root <= spread:
        raise ValueError(f"Expected more degrees of freedom than {spread**2 / m:.0f}, got {dof}.")
    floor, ceiling = square * (root - spread) ** 2, square * (root + spread) ** 2
    gamma = math.sqrt(square) * other
    default = -(floor - 4 * square * root * spread)
    chosen = default if shift is None else shift
    if floor + chosen <= 0:
        raise ValueError(f"Expected a shift above {-floor:.6g} (minus the smallest eigenvalue), got {chosen:.6g}.")
    edge = floor if chosen <= 0 else ceiling  # where lambda / (lambda + shift) is largest
    perturbation = gamma * math.sqrt(edge / (edge + chosen))
    if published and shift is None:
        perturbation = math.sqrt(square) * math.sqrt(root * other)
    return Regularizer(shift=chosen, floor=floor + chosen, ceiling=ceiling + chosen, perturbation=perturbation)


def by_norms(regularizer: Regularizer, *, dim: int, radius: float, subgaussian: float, failure: float) -> Confidence:
    """The width of Proposition 4: |H theta* - h|_{V^-1} <= radius sqrt(ceiling) + perturbation."""
    offset = radius * math.sqrt(regularizer.ceiling) + regularizer.perturbation
    return Confidence(width=width_of(regularizer, dim, subgaussian, failure, offset), drift=0.0)


def repeated_delta(epsilon0: float, delta0: float, count: int, epsilon: float) -> float:
    """delta at epsilon of `count` adaptive (epsilon0, delta0)-private mechanisms, in closed form:
    1 - (1 - delta0)^count (1 - delta'), where delta' sums
    binom(count, l) (e^((count - l) epsilon0) - e^(epsilon + l epsilon0))_+ / (1 + e^epsilon0)^count over l.

    Reference: Kairouz, Oh & Viswanath 2015, Theorem 3.3 (tight for worst-case mechanisms)."""
    loss = np.arange(count + 1)
    log_binomial = special.gammaln(count + 1) - special.gammaln(loss + 1) - special.gammaln(count - loss + 1)
    log_total = count * np.logaddexp(0.0, epsilon0)
    ahead = (count - loss) * epsilon0
    behind = epsilon + loss * epsilon0
    some = ahead > behind
    terms = np.exp(log_binomial + ahead - log_total)[some] * -np.expm1((behind - ahead)[some])
    return float(-math.expm1(count * math.log1p(-delta0) + math.log1p(-min(float(terms.sum()), 1 - 1e-16))))
