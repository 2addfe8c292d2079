"""Shariff & Sheffet 2018, arXiv:1810.00068, and "Improved rate for Locally Differentially Private Linear Bandits"."""

import math

from scipy import stats

from tacit.papers.reproductions.errata.erratum import Erratum
from tacit.privacy import gaussian


def errata() -> list[Erratum]:
    low, high = true_epsilon(1.0, 0.1), true_epsilon(10.0, 0.1)
    small = true_epsilon(1.0, 1e-6)
    chance = norm_exceeds(dim=50, horizon=20_000, failure=0.01)
    least = shifted_eigenvalue(dim=5, levels=11, horizon=1024, epsilon=1.0, delta=0.1, failure=0.01)
    return [
        Erratum(
            "Shariff & Sheffet, Proposition 9: shift",
            "H_t - c I has eigenvalues of at least rho'_min > 0 in every round",
            "> 0",
            f"{least:,.0f}",
            "mean eigenvalue over L^2 where one node covers the prefix, as at t = 512: d = 5, n = 1024, epsilon = 1, "
            "delta = .1",
            least > 0,
        ),
        Erratum(
            "Improved rate, Theorem 3.2",
            "sigma = 2 sqrt(2 log(1.25 / delta)) / epsilon makes x and y together (epsilon, delta)-private",
            "10",
            f"{high:.1f}",
            f"epsilon at delta = .1, as in its figure 1 (for 1: {low:.2f}; for 1 at delta = 1e-6: {small:.2f}): "
            "two numbers of sensitivity 2, and a formula for epsilon below 1",
            high <= 10,
        ),
        Erratum(
            "Improved rate, event E_1; Corollary C.1",
            "|eta_x| <= sigma sqrt(2 log(2 T / alpha)) in every round but with probability alpha, whatever d",
            f"{0.01 / 20_000:.0e}",
            f"{chance:.2f}",
            "chance that one round is above it: d = 50, T = 20,000, alpha = .01. Its Theorem H.10 has d in the bound, "
            "so G grows with d, and the rate sqrt(d T) with it",
            chance <= 0.01 / 20_000,
        ),
    ]


def true_epsilon(claimed: float, delta: float) -> float:
    """Of x (unit ball) and y (from -1 to 1) with that sigma: they differ by 2 sqrt 2 together."""
    sigma = 2 * math.sqrt(2 * math.log(1.25 / delta)) / claimed
    return gaussian.epsilon(2 * math.sqrt(2) / sigma, delta)


def norm_exceeds(*, dim: int, horizon: int, failure: float) -> float:
    """The chance that a standard Gaussian of that dimension is longer than E_1 says."""
    return float(stats.chi2.sf(2 * math.log(2 * horizon / failure), dim))


def shifted_eigenvalue(*, dim: int, levels: int, horizon: int, epsilon: float, delta: float, failure: float) -> float:
    """Mean eigenvalue of H_t - c I, over L^2, where H_t is the noise of one node: k - c, with k of section 4.1 and c of
    (4), which takes away what `levels` nodes would have."""
    m = levels
    k = dim + 1 + math.ceil(224 * m / epsilon**2 * math.log(8 * m / delta) * math.log(2 / delta))
    root, reach = math.sqrt(m * k), math.sqrt(dim) + math.sqrt(2 * math.log(8 * horizon / failure))
    return k - ((root - reach) ** 2 - 4 * root * reach)
