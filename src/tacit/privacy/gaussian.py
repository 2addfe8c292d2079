"""The exact privacy curve of Gaussian noise, both ways.

A mechanism whose two neighbouring outputs are Gaussians of the same covariance, mu standard deviations apart, is
(epsilon, delta)-private exactly for

    delta(epsilon, mu) = Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu).

Reference: Balle & Wang 2018, arXiv:1805.06530, Theorem 8; Dong, Roth & Su 2019 (mu-GDP composes: mu^2 adds up, also
when each mechanism is chosen in the light of the earlier ones' outputs).
"""

import math

from scipy.special import log_ndtr

from tacit import checks
from tacit.privacy.budget import Budget


def delta(epsilon: float, mu: float) -> float:
    """delta of mu-GDP at epsilon."""
    checks.non_negative(mu=mu)
    if epsilon == math.inf or mu == 0:
        return 0.0
    a = float(log_ndtr(mu / 2 - epsilon / mu))
    b = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return -math.exp(a) * math.expm1(b - a) if b < a else 0.0


def epsilon(mu: float, at: float) -> float:
    """The smallest epsilon of mu-GDP at delta = `at`, rounded up by at most one part in 10^12."""
    checks.probability(delta=at)
    if mu == math.inf:
        return math.inf
    checks.non_negative(mu=mu)
    if delta(0.0, mu) <= at:
        return 0.0
    low, high = 0.0, 1.0
    while delta(high, mu) > at:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if delta(middle, mu) > at else (low, middle)
    return high


def mu(budget: Budget) -> float:
    """The largest mu whose curve passes at or below the budget (inf without privacy), rounded down likewise."""
    if budget.epsilon == math.inf:
        return math.inf
    low, high = 0.0, 1.0
    while delta(budget.epsilon, high) <= budget.delta:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if delta(budget.epsilon, middle) > budget.delta else (middle, high)
    return low
