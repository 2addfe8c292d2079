"""Shariff & Sheffet 2018, arXiv:1810.00068, and "Improved rate for Locally Differentially Private Linear Bandits"."""

import math

from scipy import stats

from reticent.privacy import gaussian
from reticent_papers.reproductions.errata.erratum import Erratum, Found


def two_numbers() -> Found:
    high, small, mild = true_epsilon(10.0, 0.1), true_epsilon(1.0, 1e-6), true_epsilon(1.0, 0.1)
    at = (
        f"epsilon at delta = .1, Delta = 0. It bites for small delta, too ({small:.2f} for 1 at delta = 1e-6), but not "
        f"everywhere ({mild:.2f} for 1 at delta = .1)"
    )
    return Found("10", f"{high:.1f}", at, high <= 10 and small <= 1)


def true_epsilon(claimed: float, delta: float) -> float:
    """Of x (unit ball) and y (from -1 to 1) with that sigma: they differ by 2 sqrt 2 together."""
    sigma = 2 * math.sqrt(2 * math.log(1.25 / delta)) / claimed
    return gaussian.epsilon(2 * math.sqrt(2) / sigma, delta)


def long_noise() -> Found:
    in_few, in_many = (1 - (1 - norm_exceeds(dim=dim, horizon=20_000, failure=0.01)) ** 20_000 for dim in (5, 50))
    at = (
        "chance of a longer one in T = 20,000 rounds, alpha = .01, d = 5: more than the 11 alpha of the lemma for all "
        f"its events together (the union that is printed for E read as an intersection); {in_many:.2f} at d = 50. It "
        "holds in d = 1"
    )
    return Found("<= 0.01", f"{in_few:.2f}", at, in_few <= 0.01)


def norm_exceeds(*, dim: int, horizon: int, failure: float) -> float:
    """The chance that a standard Gaussian of that dimension is longer than E_1 says."""
    return float(stats.chi2.sf(2 * math.log(2 * horizon / failure), dim))


def shift() -> Found:
    least, most, planned = (shifted_eigenvalue(nodes) for nodes in (1, 10, 11))
    at = (
        f"mean eigenvalue over L~^2 where one node covers the prefix, as after 512 of n = 1024 rounds; {most:,.0f} "
        f"where ten do, the most that occur; {planned:,.0f} for m = 11: d = 5, epsilon = 1, delta = .1, alpha = .01"
    )
    return Found("> 0", f"{least:,.0f}", at, least > 0)


def shifted_eigenvalue(nodes: int) -> float:
    """Mean eigenvalue of H_t - c I, over L~^2, where H_t is the noise of so many nodes: nodes k - c, with k of section
    4.1 and c of (4), which takes away what m = 11 nodes have."""
    d, m, n, delta, failure = 5, 11, 1024, 0.1, 0.01
    k = d + 1 + math.ceil(224 * m * math.log(8 * m / delta) * math.log(2 / delta))
    root, reach = math.sqrt(m * k), math.sqrt(d) + math.sqrt(2 * math.log(8 * n / failure))
    return nodes * k - ((root - reach) ** 2 - 4 * root * reach)


ROWS = [
    Erratum(
        "privacy broken",
        "Improved rate, Theorem 3.2",
        "noise of std 2 sqrt(2 log(1.25 / delta)) / epsilon on x and on y makes them (epsilon, delta)-private",
        "together they move by 2 sqrt 2, not 2, and the formula is for epsilon below 1",
        "calibration='exact'; [local.md](../local.md#the-published-ones)",
        two_numbers,
    ),
    Erratum(
        "statement false",
        "Improved rate, Lemma B.1: event E_1; Corollary C.1",
        "|eta| <= sigma sqrt(2 log(2 T / alpha)) in all rounds with chance 1 - alpha, whatever d",
        "its own Theorem H.10 has d there: G, and with it the rate sqrt(d T), grows with d",
        "widths are a setting; regret is measured",
        long_noise,
    ),
    Erratum(
        "statement false",
        "Shariff & Sheffet, Proposition 9: shift",
        "H_t - c I has eigenvalues of at least rho'_min > 0",
        "if H_t has the noise of m nodes, as the proof says; section 4 has 'at most m', and fewer cover a prefix: c "
        "takes away what m have",
        "levels that cover nothing have a noise of their own, drawn once",
        shift,
    ),
]
