"""Sarmasarkar 2026, arXiv:2602.00417 (version 2), Algorithms 1 and 4: batches, widths, sensitivity, slots."""

import math

from scipy import stats

from reticent.model.links import named
from reticent.privacy import gaussian
from reticent.privacy.budget import Budget
from reticent_lab import plain
from reticent_papers.reproductions.errata.erratum import Erratum, Found
from reticent_papers.shuffle.published import calibrate_paper

DIM, HORIZON, BATCHES, EPSILON, DELTA = 5, 20_000, 4, 1.0, 1e-6


def weights() -> Found:
    logistic = named("logistic")
    ratio = float(logistic.slope(0.0)) / float(logistic.slope(2.0))
    half = Budget(EPSILON / 2, DELTA / 2)
    plan = calibrate_paper(half, users=10_000, dim=DIM, sensitivity=1.0, matrix=True)
    covered = gaussian.mu(half) * plan.std / math.sqrt(2)
    at = (
        "1 / kappa*, logistic, every |<x, theta*>| >= 2, theta_1 = 0, V large. As the noise of (122) is so large, it "
        f"bites from about {covered:,.0f} times on (d = 5, n = 10,000, epsilon = 1, delta = 1e-6): no attack is known"
    )
    return Found("<= 1 times", f"{ratio:.2f} times", at, ratio <= 1)


def optimiser_error() -> Found:
    error = 4 * nu()
    at = (
        "that term, R = S = 1, d = 5, T = 20,000, epsilon = 1, delta = 1e-6, 1 under the O of (22): (4 nu)^(1/4) and "
        "(4 nu)^(1/2). It does not bite where 4 R S nu <= 1"
    )
    return Found(f"{error**0.25:.1f}", f"{error**0.5:.1f}", at, error**0.5 <= error**0.25)


def nu() -> float:
    """(22) with R = S = 1 and 1 under its O."""
    return math.sqrt(DIM * math.log(HORIZON * DIM / DELTA) ** 3) / EPSILON


def alpha() -> Found:
    main, appendix = (batches(HORIZON, BATCHES, power)[-1] for power in (1 - 2.0 ** (1 - BATCHES), 1 - 2.0**-BATCHES))
    at = "B_M at T = 20,000, M = 4, with either: the bound of F.1 has the second, of a smaller power of T"
    return Found(f"{main:,.0f}", f"{appendix:,.0f}", at, math.isclose(main, appendix))


def batches(horizon: int, count: int, power: float) -> list[float]:
    """B_2 to B_M for alpha = T^(1 / (2 power))."""
    out = [horizon ** (1 / (2 * power))]
    while len(out) < count - 1:
        out.append(out[0] * math.sqrt(out[-1]))
    return out


def phi() -> Found:
    gamma = math.sqrt(20 * DIM * math.log(HORIZON)) + math.sqrt(4 * nu())  # (21) with C = 1, and 0 for sigma
    first, second = (4 * DIM**2 * math.exp(3) * batches(HORIZON, BATCHES, 7 / 8)[0] * g for g in (gamma**2, gamma / 2))
    at = "B_1 of (6), and of Appendix G with (28): d = 5, T = 20,000, kappa = 16, S = 1, epsilon = 1, delta = 1e-6"
    return Found(f"{first ** (2 / 3):,.0f}", f"{second ** (2 / 3):,.0f}", at, math.isclose(first, second))


def widths() -> Found:
    kappa = plain.kappa(named("probit"), 3.0)
    at = (
        f"largest gap of an arm that survives where the estimate is right, over that with gamma alone: probit, S = 3 "
        f"(kappa = {kappa:.0f}). The bounds hold, but kappa is back in the leading term"
    )
    return Found("1.0", f"{math.sqrt(kappa):.1f}", at, math.sqrt(kappa) <= 1)


def slots() -> Found:
    plan = calibrate_paper(Budget(EPSILON, DELTA), users=10_000, dim=DIM, sensitivity=1.0)
    entry, delta = 2.0, 1.0  # lines 12 and 22 add Delta to an entry of [-Delta, Delta]
    most = math.floor(entry * plan.reach / delta) + plan.trials
    free = plan.reach + plan.trials
    chance = float(stats.binom.sf(free - most + plan.trials, plan.trials, 0.25))
    at = (
        "bits, and largest count: n = 10,000, d = 5, epsilon = 1, delta = 1e-6. With the b of (122) it does not happen "
        f"(chance {max(chance, 1e-300):.0e} at most)"
    )
    return Found(f"{free:,}", f"{most:,}", at, most <= free)


def squares() -> Found:
    n, failure = 10_000, 0.01
    limit = math.sqrt(8 * math.log(2 / failure) / n)
    chance = float(stats.chi2.sf(n + limit, n))
    mean = float(stats.chi2.sf(n + n * limit, n))
    at = f"chance at n = 10,000 standard normals, delta = .01. For the mean it is {mean:.0e}. The lemma is not used"
    return Found("<= 0.01", f"{chance:.2f}", at, chance <= failure)


ROWS = [
    Erratum(
        "proof gap",
        "Sarmasarkar, Algorithm 1, line 22; E.3",
        "the weight is at most Delta = 1 / kappa* with high probability (Lemma F.7), so the sum is private",
        "the probability is over rewards that follow theta*; privacy is for all data (Definition C.1)",
        "weights are clipped",
        weights,
    ),
    Erratum(
        "proof gap",
        "Sarmasarkar, Theorems F.1 and E.3: nu",
        "sqrt(4 R S nu) stands under the square root: d^(9/8) epsilon^(-1/4)",
        "gamma has the root itself (21), so the proof gives d^(5/4) epsilon^(-1/2), as Theorem 5.1 says",
        "[bounds.md](bounds.md) has both theorems as printed",
        optimiser_error,
    ),
    Erratum(
        "slip",
        "Sarmasarkar, the line after (7), and Appendix G: alpha",
        "alpha = T^(1 / (2 (1 - 2^(1-M))))",
        "Appendix G and F.1 have 2^-M. With the first B_M = T; with the second M batches may end before T",
        "the first",
        alpha,
    ),
    Erratum(
        "slip",
        "Sarmasarkar, (28) against (6) and Appendix G: phi",
        "(6) and G: gamma^2 / S",
        "(28): gamma / (2 S). The term is a product of two widths: gamma^2",
        "(6)",
        phi,
    ),
    Erratum(
        "slip",
        "Sarmasarkar, (12)-(13): widths",
        "gamma sqrt(kappa) |x| under the inverse of H_k, for k >= 2 too",
        "Lemma F.9 proves gamma |x|, which is what F.10 uses",
        "gamma sqrt(kappa) in the warm-up, gamma after it",
        widths,
    ),
    Erratum(
        "slip",
        "Sarmasarkar, Algorithm 4, line 6: slots",
        "g + b bits hold the count",
        "entries are moved to [0, 2 Delta], which takes up to 2 g ones",
        "2 g + b slots: with exact coins the overflow is likely",
        slots,
    ),
    Erratum(
        "slip",
        "Sarmasarkar, Lemma F.3, (30)",
        "the sum of n centred squares exceeds sqrt(8 sigma^4 log(2 / delta) / n) with chance delta at most",
        "their mean does",
        "not used",
        squares,
    ),
]
