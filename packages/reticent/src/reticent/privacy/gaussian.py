"""The exact privacy curve of Gaussian noise, both ways.

A mechanism whose two neighbouring outputs are Gaussians of the same covariance, mu standard deviations apart, is
(epsilon, delta)-private exactly for

    delta(epsilon, mu) = Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu).

Reference: Balle & Wang 2018, arXiv:1805.06530, Theorem 8; Dong, Roth & Su 2019 (mu-GDP composes: mu^2 adds up, also
when each mechanism is chosen in the light of the earlier ones' outputs).
"""

import functools
import math

import numpy as np

from reticent import checks, special
from reticent.privacy import search
from reticent.privacy.budget import Budget

SMALL = 1e-3  # mu below which the two terms are too close for their difference
DIGITS = 1e-12  # relative, of epsilon and mu
NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)


def delta(epsilon: float, mu: float) -> float:
    """delta of mu-GDP at epsilon."""
    checks.non_negative(mu=mu)
    if epsilon == math.inf or mu == 0:
        return 0.0
    if mu < SMALL:
        return _small_delta(epsilon, mu)
    a = float(special.log_ndtr(mu / 2 - epsilon / mu))
    b = epsilon + float(special.log_ndtr(-mu / 2 - epsilon / mu))
    return -math.exp(a) * math.expm1(b - a) if b < a else 0.0


def _small_delta(epsilon: float, mu: float) -> float:
    """The same, as (Phi(mu / 2 - t) - Phi(-mu / 2 - t)) - (e^epsilon - 1) Phi(-mu / 2 - t), t = epsilon / mu: the first
    is the normal density's integral over an interval of length mu, by Gauss's rule, without cancellation; what cancels
    between the two is t^2 units in the last place."""
    t = epsilon / mu
    if t > 40:
        return 0.0  # smaller than any float
    density = float(np.exp(-((t + mu / 2 * NODES) ** 2) / 2) @ WEIGHTS) / 2 / math.sqrt(2 * math.pi)
    return max(0.0, mu * density - math.expm1(epsilon) * float(special.ndtr(-mu / 2 - t)))


@functools.lru_cache(maxsize=1024)  # bandits that learn in epochs ask again at each
def epsilon(mu: float, at: float) -> float:
    """The smallest epsilon of mu-GDP at delta = `at`, rounded up by at most one part in 10^12."""
    checks.probability(delta=at)
    if mu == math.inf:
        return math.inf
    checks.non_negative(mu=mu)
    if delta(0.0, mu) <= at:
        return 0.0

    def enough(epsilon: float) -> bool:
        return delta(epsilon, mu) <= at

    return search.halved(enough, *search.doubled(enough, 0.0, 1.0), digits=DIGITS)[1]


@functools.lru_cache(maxsize=1024)
def mu(budget: Budget) -> float:
    """The largest mu whose curve passes at or below the budget (inf without privacy), rounded down likewise."""
    budget.needs_delta("Gaussian noise")
    if budget.epsilon == math.inf:
        return math.inf

    def too_much(mu: float) -> bool:
        return delta(budget.epsilon, mu) > budget.delta

    return search.halved(too_much, *search.doubled(too_much, 0.0, 1.0), digits=DIGITS)[0]
