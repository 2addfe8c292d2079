"""Local privacy, linear rewards: "Improved rate for Locally Differentially Private Linear Bandits" (anonymous, under
review). Upper bounds up to a constant under the O, here `constant`; lambda_min = `eigenvalue` is the smallest
eigenvalue of E[x x']. Their event E_1 leaves out the dimension (docs/papers/errata.md): in d they are printed, not
proven."""

import math

from reticent import checks
from reticent.privacy.budget import Budget


def local_online_ucb_rate(
    *, dim: int, horizon: int, epsilon: float, eigenvalue: float = 0.0, constant: float = 1.0
) -> float:
    """Corollary 3.6, second line: min(sqrt(d) T^3/4 / epsilon, sqrt(d T) / (epsilon lambda_min)), up to a constant and
    logarithms. The two are equal at lambda_min = T^-1/4, the threshold below which devices perturb their arms."""
    checks.positive_int(dim=dim, horizon=horizon)
    checks.positive(epsilon=epsilon, constant=constant)
    checks.non_negative(eigenvalue=eigenvalue)
    slow = math.sqrt(dim) * float(horizon) ** 0.75
    fast = math.sqrt(dim * horizon) / eigenvalue if eigenvalue else math.inf
    return float(constant * min(slow, fast) / epsilon)


def local_online_ucb(
    *,
    dim: int,
    horizon: int,
    budget: Budget,
    eigenvalue: float = 0.0,
    radius: float = 1.0,
    subgaussian: float = 1.0,
    failure: float | None = None,
    constant: float = 1.0,
) -> float:
    """Corollary 3.6, first line: with the threshold T^-1/4, Delta^2 = T^-1/4 if lambda_min is at most that and else 0,
    h = lambda_min + Delta^2, H = (G / h)^2 + G D / h and D = radius, regret

        [(R + D sqrt(log(1 / delta)) / epsilon) sqrt(log(T / alpha)) + sqrt(D Delta^2 log(T / alpha) sqrt(T H log T))
         + log T sqrt(H log(1 / delta)) / epsilon] sqrt(d T log(T / d))

    up to a constant, with probability 1 - 11 alpha, alpha = failure >= 1 / T. G bounds gradients (Corollary C.1, with 1
    for its constant C)."""
    checks.positive_int(dim=dim, horizon=horizon)
    checks.positive(radius=radius, subgaussian=subgaussian, constant=constant)
    checks.non_negative(eigenvalue=eigenvalue)
    checks.probability(delta=budget.delta)
    if horizon <= dim:
        raise ValueError(f"Expected a horizon above dim = {dim}, got {horizon}.")
    alpha = 1 / horizon if failure is None else failure
    checks.probability(failure=alpha)
    t, e, big, r = float(horizon), budget.epsilon, radius, subgaussian
    log_d, log_a = math.log(1 / budget.delta), math.log(t / alpha)
    perturbation = t**-0.25 if eigenvalue <= t**-0.25 else 0.0  # Delta^2
    strength = eigenvalue + perturbation
    g = largest_gradient(horizon=horizon, budget=budget, perturbation=perturbation, radius=big, failure=alpha)
    h = (g / strength) ** 2 + g * big / strength
    width = (r + big * math.sqrt(log_d) / e) * math.sqrt(log_a)
    width += math.sqrt(big * perturbation * log_a * math.sqrt(t * h * math.log(t)))
    width += math.log(t) * math.sqrt(h * log_d) / e
    return float(constant * width * math.sqrt(dim * t * math.log(t / dim)))


def largest_gradient(*, horizon: int, budget: Budget, perturbation: float, radius: float, failure: float) -> float:
    """G of Corollary C.1 with C = 1 and Delta^2 = perturbation."""
    sigma = 2 * math.sqrt(2 * math.log(1.25 / budget.delta)) / budget.epsilon
    d, shake, log = radius, math.sqrt(perturbation), math.log(2 * horizon / failure)
    linear = 2 * d * sigma + 2 * sigma + d * shake + shake
    square = (
        2 * d * shake**2 + 4 * d * shake * sigma + 2 * shake * sigma + 2 * d * sigma**2 + 2 * sigma**2 + d * sigma**2
    )
    return 2 * math.sqrt(2 * log) * linear + 2 * log * square + 2 * d + 2


def local_anytime_ucb(*, dim: int, horizon: int, epsilon: float, constant: float = 1.0) -> float:
    """Theorem E.1: at every round t, Algorithm 9 (power 1/8) has regret at most
    P log^3/2(t) (sqrt(d) t^3/4 + sqrt(d) t^5/8 / epsilon), P = constant."""
    checks.positive_int(dim=dim, horizon=horizon)
    checks.positive(epsilon=epsilon, constant=constant)
    t = float(horizon)
    return float(constant * math.log(t) ** 1.5 * math.sqrt(dim) * (t**0.75 + t**0.625 / epsilon))


def local_combiner(*, dim: int, horizon: int, epsilon: float, eigenvalue: float = 0.0, constant: float = 1.0) -> float:
    """Theorem 4.1: Algorithm 2, which does not know lambda_min, has regret sqrt(d T) / (epsilon lambda_min^2) if
    lambda_min >= T^-1/8, and else sqrt(d) T^5/6 + sqrt(d) T^17/24 / epsilon, up to a constant and logarithms."""
    checks.positive_int(dim=dim, horizon=horizon)
    checks.positive(epsilon=epsilon, constant=constant)
    checks.non_negative(eigenvalue=eigenvalue)
    t = float(horizon)
    if eigenvalue >= t**-0.125:
        return float(constant * math.sqrt(dim * t) / (epsilon * eigenvalue**2))
    return float(constant * math.sqrt(dim) * (t ** (5 / 6) + t ** (17 / 24) / epsilon))
