"""Composition beyond Gaussians, by dp-accounting: an extra, imported when it is used (that takes a second)."""

import math

import numpy as np

from tacit import checks, extras, special


def repeated_epsilon(epsilon0: float, delta0: float, count: int, delta: float) -> float:
    """epsilon at delta of `count` adaptive (epsilon0, delta0)-private mechanisms, by dp-accounting.

    Pessimistic: its privacy loss distribution is rounded up, on a grid of epsilon0 / 1000 per mechanism."""
    checks.probability(delta=delta, delta0=delta0)
    checks.positive_int(count=count)
    pld = extras.load(
        "dp_accounting.pld.privacy_loss_distribution", "composition beyond Gaussians", extra="composition"
    )
    one = pld.from_privacy_parameters(
        pld.common.DifferentialPrivacyParameters(epsilon0, delta0),
        value_discretization_interval=epsilon0 / 1000,
    )
    return float(one.self_compose(count).get_epsilon_for_delta(delta))


def repeated_delta(epsilon0: float, delta0: float, count: int, epsilon: float) -> float:
    """delta at epsilon of the same, in closed form: 1 - (1 - delta0)^count (1 - delta'), where delta' sums
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
