"""Sarmasarkar 2026, arXiv:2602.00417 (version 2): generalised linear bandits under shuffle and joint privacy.

Its theorems hold up to a constant under the O, here `constant`, and some also up to factors that they hide: those
say so. kappa, kappa* and the matrices behind them: docs/notation.md. Rewards lie in [0, R], R = largest_reward."""

import math

import numpy as np

from reticent import checks
from reticent.model.links import Link
from reticent.privacy.budget import Budget

MOST_EPSILON = 5.0  # of Theorem 5.1


def shuffle_glm_rate(
    *,
    dim: int,
    horizon: int,
    budget: Budget,
    kappa: float,
    kappa_star: float,
    radius: float,
    constant: float = 1.0,
) -> float:
    """Theorem 5.1: for epsilon < 5, delta < 1/2 and T >= d, Algorithm 1 has expected regret

        (d^3/2 sqrt(T / kappa*) + d^5/4 sqrt(T / (kappa* epsilon)) + d^2 T^1/3 e^3S kappa^1/3 / epsilon^2/3) sqrt(log T)

    up to a constant, polynomials in R, S, log d, log(1 / delta) and log log T."""
    _check_shuffle(dim, horizon, budget, kappa, kappa_star, radius, constant)
    d, t, e = float(dim), float(horizon), budget.epsilon
    leading = d**1.5 * math.sqrt(t / kappa_star) + d**1.25 * math.sqrt(t / (kappa_star * e))
    rest = d**2 * t ** (1 / 3) * math.exp(3 * radius) * kappa ** (1 / 3) / e ** (2 / 3)
    return float(constant * (leading + rest) * math.sqrt(math.log(t)))


def shuffle_glm(
    *,
    dim: int,
    horizon: int,
    budget: Budget,
    kappa: float,
    kappa_star: float,
    radius: float,
    constant: float = 1.0,
) -> float:
    """Theorem E.3, the full form of Theorem 5.1: with L = log(2 d T log log T / delta), expected regret

        log log T [d^3/2 sqrt(T log T / kappa*) + d sqrt(T log(d^2 / delta)) (d + L)^1/4 / (kappa* sqrt epsilon)
                   + d^9/8 sqrt(T / kappa*) log^3/8(T d / delta) / epsilon^1/4
                   + e^3S (kappa T)^1/3 (d^2 log^2/3 T + d^4/3 log^2/3(d^2 / delta) (d + L)^1/3 / (epsilon kappa*)^2/3
                                         + d^3/2 log^1/2(T d / delta) / epsilon^1/3)]

    up to a constant and a polynomial in R and S; log log T is taken as at least 1. As printed: the terms with d^9/8 and
    d^3/2 / epsilon^1/3 have the optimiser's error to half of the power that follows (docs/papers/errata.md)."""
    _check_shuffle(dim, horizon, budget, kappa, kappa_star, radius, constant)
    d, t, e, delta = float(dim), float(horizon), budget.epsilon, budget.delta
    log_log = max(1.0, math.log(math.log(t)))
    log_t, log_d, log_td = math.log(t), math.log(d**2 / delta), math.log(t * d / delta)
    width = d + math.log(2 * d * t * log_log / delta)
    leading = (
        d**1.5 * math.sqrt(t * log_t / kappa_star)
        + d * math.sqrt(t * log_d) * width**0.25 / (kappa_star * math.sqrt(e))
        + d**1.125 * math.sqrt(t / kappa_star) * log_td**0.375 / e**0.25
    )
    rest = (
        d**2 * log_t ** (2 / 3)
        + d ** (4 / 3) * log_d ** (2 / 3) * width ** (1 / 3) / (e * kappa_star) ** (2 / 3)
        + d**1.5 * math.sqrt(log_td) / e ** (1 / 3)
    )
    return float(constant * log_log * (leading + math.exp(3 * radius) * (kappa * t) ** (1 / 3) * rest))


def joint_glm_rare_rate(*, dim: int, horizon: int, budget: Budget, kappa_star: float, constant: float = 1.0) -> float:
    """Theorem 6.2: for d <= T and delta <= min(1 / e, d / R^3), Algorithm 2 has, with probability 1 - zeta > 1 - delta,
    regret

        sqrt T (d log T / sqrt(kappa*) + d^3/4 log T (log T + d)^1/4 / sqrt(epsilon kappa* min(kappa*, 1)))

    up to a constant, polynomials in R, S, log(1 / zeta) and log T, and terms that grow more slowly than sqrt T. The
    algorithm as printed is not private (docs/papers/errata.md)."""
    _check_joint(dim, horizon, budget, kappa_star, constant)
    d, t, log_t = float(dim), float(horizon), math.log(horizon)
    private = d**0.75 * log_t * (log_t + d) ** 0.25 / math.sqrt(budget.epsilon * kappa_star * min(kappa_star, 1.0))
    return float(constant * math.sqrt(t) * (d * log_t / math.sqrt(kappa_star) + private))


def joint_glm_rare(
    *,
    dim: int,
    horizon: int,
    budget: Budget,
    kappa: float,
    kappa_star: float,
    radius: float,
    failure: float | None = None,
    largest_reward: float = 1.0,
    constant: float = 1.0,
) -> float:
    """Theorem J.8, the full form of Theorem 6.2: with L = log(T / zeta), D = log(1 / delta), m = min(kappa*, 1) and
    q = d^1/4 (L D)^1/2 (d + L)^1/4, with probability 1 - zeta regret

        [R d sqrt(L T / kappa*) + R S d^1/2 q sqrt(T / (epsilon kappa* m))] sqrt(log(R T))
        + kappa d R^3 [R^2 S sqrt(d L) + R^2 S q / sqrt(epsilon kappa*) + R^4 S^4 d sqrt(kappa D) L / epsilon]^2 log T

    up to a constant. zeta = failure: delta / 2 unless given."""
    _check_joint(dim, horizon, budget, kappa_star, constant)
    checks.positive(kappa=kappa, radius=radius, largest_reward=largest_reward)
    failure = budget.delta / 2 if failure is None else failure
    checks.probability(failure=failure)
    if not failure < budget.delta <= min(1 / math.e, dim / largest_reward**3):
        raise ValueError(
            f"Expected failure < delta <= min(1 / e, d / R^3), got failure {failure:g} and delta {budget.delta:g}."
        )
    d, t, s, r, e = float(dim), float(horizon), radius, largest_reward, budget.epsilon
    log_f, log_d = math.log(t / failure), math.log(1 / budget.delta)
    mixed = d**0.25 * math.sqrt(log_f * log_d) * (d + log_f) ** 0.25
    leading = r * d * math.sqrt(log_f * t / kappa_star)
    leading += r * s * math.sqrt(d * t) * mixed / math.sqrt(e * kappa_star * min(kappa_star, 1.0))
    gamma = r**2 * s * (math.sqrt(d * log_f) + mixed / math.sqrt(e * kappa_star))
    gamma += r**4 * s**4 * d * math.sqrt(kappa * log_d) * log_f / e
    explored = kappa * d * r**3 * gamma**2 * math.log(t)
    return float(constant * (leading * math.sqrt(math.log(max(math.e, r * t))) + explored))


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


def _check_shuffle(
    dim: int, horizon: int, budget: Budget, kappa: float, kappa_star: float, radius: float, constant: float
) -> None:
    checks.positive_int(dim=dim, horizon=horizon)
    checks.positive(kappa=kappa, kappa_star=kappa_star, radius=radius, constant=constant)
    if not (budget.epsilon < MOST_EPSILON and 0 < budget.delta < 0.5):
        raise ValueError(
            f"Expected epsilon below {MOST_EPSILON:g} and delta in (0, 1/2), as Theorem 5.1 does, "
            f"got {budget.epsilon:g} and {budget.delta:g}."
        )
    _check_long(dim, horizon)


def _check_joint(dim: int, horizon: int, budget: Budget, kappa_star: float, constant: float) -> None:
    checks.positive_int(dim=dim, horizon=horizon)
    checks.positive(kappa_star=kappa_star, constant=constant)
    _check_long(dim, horizon)


def _check_long(dim: int, horizon: int) -> None:
    if horizon < max(3, dim):
        raise ValueError(f"Expected a horizon of at least {max(3, dim)}, as many rounds as dimensions, got {horizon}.")
