"""Sarmasarkar 2026, arXiv:2602.00417 (version 2), Algorithms 1 and 4: batches, widths, sensitivity, slots."""

import math

from tacit.mechanisms.shuffle.paper import calibrate_paper
from tacit.model.links import named
from tacit.papers.reproductions.errata.erratum import Erratum
from tacit.privacy.budget import Budget

HORIZON, BATCHES = 20_000, 4


def errata() -> list[Erratum]:
    main, appendix = (sum(batches(HORIZON, BATCHES, power)) for power in (1 - 2.0 ** (1 - BATCHES), 1 - 2.0**-BATCHES))
    logistic, probit = named("logistic"), named("probit")
    factor = math.sqrt(probit.kappa(3.0))
    near_zero = float(logistic.slope(0.0)) / float(logistic.slope(2.0))
    plan = calibrate_paper(Budget(1.0, 1e-6), users=10_000, dim=5, sensitivity=1.0)
    low = smallest_eigenvalue(dim=5, horizon=HORIZON, epsilon=1.0, delta=1e-2, kappa_star=4.0, constant=1.0)
    error = optimisation_error(dim=5, horizon=HORIZON, epsilon=1.0, delta=1e-6)
    return [
        Erratum(
            "(7) and App. G: alpha",
            "batches B_2 = alpha, B_k = alpha sqrt(B_k-1) end at B_M = T",
            f"{main:,.0f}",
            f"{appendix:,.0f}",
            "B_2 + ... + B_M at T = 20,000, M = 4: with 1 - 2^(1-M), the line after (7); with 1 - 2^-M, Appendix G",
            math.isclose(main, appendix),
        ),
        Erratum(
            "(12)-(13) and Lemma F.9: widths",
            "gamma sqrt(kappa) |x| under the inverse of H_k, for k >= 2 too",
            f"{factor:.1f} times",
            "1 times",
            "gamma |x|, probit, S = 3 (kappa = 222): Lemma F.9 needs no sqrt(kappa), without which no kappa is removed",
            factor <= 1,
        ),
        Erratum(
            "Algorithm 1, line 22; E.3: Delta = 1 / kappa*",
            "mu'(<x, theta_1>) / beta(x) <= 1 / kappa*, with high probability over the data",
            "1 times",
            f"{near_zero:.2f} times",
            "1 / kappa*, logistic, every |<x, theta*>| >= 2, theta_1 = 0, V large: privacy must cover it too",
            near_zero <= 1,
        ),
        Erratum(
            "Algorithm 4, line 6: slots",
            "a message of g + b bits holds the count",
            f"{plan.reach + plan.trials:,}",
            f"{2 * plan.reach + plan.trials:,}",
            "bits and largest count at n = 10,000, d = 5, epsilon = 1, delta = 1e-6: entries are moved to [0, 2 Delta]",
            False,
        ),
        Erratum(
            "(20), (22), (23): lambda_min",
            "lambda_min >= 20 d R log T, which Theorem F.1 needs",
            f"{20 * 5 * math.log(HORIZON):.0f}",
            f"{low:.0f}",
            "d = 5, T = 20,000, epsilon = 1, delta = .01, kappa* = 4, with 1 under the O of sigma: it has to be 8",
            low >= 20 * 5 * math.log(HORIZON),
        ),
        Erratum(
            "Theorems F.1 and E.3: nu",
            "the optimiser's error adds sqrt(4 R S nu) under a square root: d^(9/8) epsilon^(-1/4) in E.3",
            f"{error**0.25:.1f}",
            f"{error**0.5:.1f}",
            "that term of gamma, R = S = 1, d = 5, T = 20,000, epsilon = 1, delta = 1e-6: (21) has the root itself, so "
            "d^(5/4) epsilon^(-1/2), as Theorem 5.1 says",
            error <= 1,
        ),
    ]


def batches(horizon: int, count: int, power: float) -> list[float]:
    """B_2 to B_M for alpha = T^(1 / (2 power))."""
    alpha = horizon ** (1 / (2 * power))
    out = [alpha]
    while len(out) < count - 1:
        out.append(alpha * math.sqrt(out[-1]))
    return out


def smallest_eigenvalue(
    *, dim: int, horizon: int, epsilon: float, delta: float, kappa_star: float, constant: float
) -> float:
    """lambda_min of (23) with lambda of (20) and sigma of (22), R = 1, M = 4."""
    noise = math.log(dim**2 / delta) / (kappa_star * epsilon)
    roots = 2 * math.sqrt(math.log(2 * dim * BATCHES * horizon / delta)) + 4 * math.sqrt(dim)
    ridge = 20 * dim * math.log(horizon) + constant * noise * roots
    return ridge - 8 * noise * (4 * math.sqrt(dim) + 2 * math.sqrt(math.log(2 * BATCHES * horizon / delta)))


def optimisation_error(*, dim: int, horizon: int, epsilon: float, delta: float) -> float:
    """4 R S nu of (22) with R = S = 1 and 1 under its O."""
    return 4 / epsilon * math.sqrt(dim * math.log(horizon * dim / delta) ** 3)
