"""Chen, Li, Rakhlin & Simchi-Levi 2025, arXiv:2502.13115: reweighted regression, joint and local privacy.

Upper bounds up to a constant under the O, here `constant`, and logarithms of T. Its (alpha, beta) are (epsilon, delta);
sigma = sqrt(2 log(1.25 / delta)) / epsilon; kappa_nu = `condition` is the largest slope of the link over the smallest
(1 for linear rewards); d_A = `spanned` is the dimension that the arms of one round span, at most min(d, K)."""

import math

import numpy as np

from reticent import checks
from reticent.privacy.budget import Budget

MODELS = ("joint", "local")


def joint_reweighted(
    *, dim: int, horizon: int, budget: Budget, condition: float = 1.0, spanned: int | None = None, constant: float = 1.0
) -> float:
    """Theorem 5.1: d_A d kappa_nu^3/2 sqrt T + sigma d_A d (kappa_nu^3/2 + kappa_nu sqrt d)."""
    sigma, part = _checked(dim, horizon, budget, condition, spanned, constant)
    steep = condition**1.5
    private = sigma * (steep + condition * math.sqrt(dim))
    return float(constant * part * dim * (steep * math.sqrt(horizon) + private))


def joint_reweighted_linear(
    *, dim: int, arms: int, horizon: int, budget: Budget, spanned: int | None = None, constant: float = 1.0
) -> float:
    """Theorem 5.2, as its proof ends: d_A sqrt(d T log K) + d_A (sigma d^3/2 + d log K), for linear rewards."""
    sigma, part = _checked(dim, horizon, budget, 1.0, spanned, constant)
    checks.positive_int(arms=arms)
    log_k = math.log(max(2, arms))
    return float(constant * part * (math.sqrt(dim * horizon * log_k) + sigma * dim**1.5 + dim * log_k))


def local_reweighted(
    *, dim: int, horizon: int, budget: Budget, condition: float = 1.0, spanned: int | None = None, constant: float = 1.0
) -> float:
    """Theorem 5.3: sigma d_A d (kappa_nu sqrt d + kappa_nu^3/2) sqrt T."""
    sigma, part = _checked(dim, horizon, budget, condition, spanned, constant)
    return float(constant * sigma * part * dim * (condition * math.sqrt(dim) + condition**1.5) * math.sqrt(horizon))


def square_cb(*, model: str, arms: int, horizon: int, budget: Budget, constant: float = 1.0) -> float:
    """Theorem 6.4, free of the dimension: sqrt K (T^3/4 + sigma^1/3 T^2/3) under joint privacy, and
    sqrt K sigma^1/3 T^5/6 under local privacy; linear rewards."""
    checks.one_of(MODELS, model=model)
    sigma, _ = _checked(1, horizon, budget, 1.0, 1, constant)
    checks.positive_int(arms=arms)
    t = float(horizon)
    rate = t**0.75 + sigma ** (1 / 3) * t ** (2 / 3) if model == "joint" else sigma ** (1 / 3) * t ** (5 / 6)
    return float(constant * math.sqrt(arms) * rate)


def linear_lower(*, model: str, dim: int, arms: int, horizon: int, epsilon: float, constant: float = 1.0) -> float:
    """Table 1: no private algorithm for linear rewards has less regret in all worlds than sqrt(d T log K) + d / epsilon
    (joint; He et al. 2022) or d sqrt(T) / epsilon (local; Chen & Rakhlin 2025), up to a constant and logarithms. The
    local one is for epsilon of at most 1."""
    checks.one_of(MODELS, model=model)
    checks.positive_int(dim=dim, arms=arms, horizon=horizon)
    checks.positive(epsilon=epsilon, constant=constant)
    if model == "local":
        return float(constant * dim * math.sqrt(horizon) / epsilon)
    return float(constant * (math.sqrt(dim * horizon * math.log(max(2, arms))) + dim / epsilon))


def regression_lower(*, model: str, eigenvalue: float, rounds: int, budget: Budget, constant: float = 1.0) -> float:
    """Proposition 3.1: d = 1, covariates 1 with probability lambda = `eigenvalue` and else 0, a known law. No private
    estimator from T rounds has a smaller mean squared error E phi^2 (theta' - theta*)^2 for all |theta*| <= 1:

    - joint: of order min(1 / (lambda (epsilon + delta)^2 T^2), lambda). Here with constants, by its proof with the loss
      lambda (theta' - theta*)^2 (docs/papers/errata.md): for targets +-1 the laws of a row at theta* = 0 and theta are
      lambda theta / 2 apart, so (Karwa & Vadhan 2018, Lemma 6.1) the error is at least lambda theta^2 / 8 times
      exp(-a) - 2 T lambda theta delta, a = 3 epsilon T lambda theta; the best theta in (0, 1] counts;
    - local, for delta of at most 1 / (2 T): constant min(1 / (lambda epsilon^2 T), lambda), epsilon of at most 1."""
    checks.one_of(MODELS, model=model)
    checks.positive_int(rounds=rounds)
    checks.positive(constant=constant)
    if not 0 < eigenvalue <= 1:
        raise ValueError(f"Expected eigenvalue in (0, 1], got {eigenvalue:g}.")
    if model == "local":
        return float(constant * min(1 / (eigenvalue * budget.epsilon**2 * rounds), eigenvalue))
    theta = np.logspace(-9, 0, 3601)
    apart = rounds * eigenvalue * theta
    wrong = np.exp(-3 * budget.epsilon * apart) - 2 * apart * budget.delta
    return constant * max(0.0, float((eigenvalue * theta**2 / 8 * wrong).max()))


def dimension_free_rounds(*, model: str, dim: int, norm: float, budget: Budget, constant: float = 1.0) -> float:
    """Proposition 6.1: rows phi = theta*, y = 1 with theta* on the unit sphere of dimension d. A private estimator of
    norm at most R = `norm` (from 1 to a small constant times sqrt d) predicts no better than 0 does for some theta*,
    unless it has that many rounds, up to a constant: d / (R^2 epsilon) under joint privacy with delta = 0,
    min(d / (R^2 epsilon^2), 1 / delta) under local privacy."""
    checks.one_of(MODELS, model=model)
    checks.positive_int(dim=dim)
    checks.positive(norm=norm, constant=constant)
    if model == "joint":
        return float(constant * dim / (norm**2 * budget.epsilon))
    return float(constant * min(dim / (norm * budget.epsilon) ** 2, 1 / budget.delta if budget.delta else math.inf))


def _checked(
    dim: int, horizon: int, budget: Budget, condition: float, spanned: int | None, constant: float
) -> tuple[float, int]:
    """sigma and d_A."""
    checks.positive_int(dim=dim, horizon=horizon)
    checks.positive(condition=condition, constant=constant)
    budget.needs_delta("these bounds")
    if spanned is not None:
        checks.positive_int(spanned=spanned)
    sigma = math.sqrt(2 * math.log(1.25 / budget.delta)) / budget.epsilon if budget.epsilon < math.inf else 0.0
    return sigma, min(dim, spanned or dim)
