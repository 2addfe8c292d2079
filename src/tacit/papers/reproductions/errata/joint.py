"""Sarmasarkar 2026, arXiv:2602.00417 (version 2), Algorithm 2: when it recomputes, and how its noise is calibrated."""

import math
from typing import Any

import numpy as np
from scipy import stats

from tacit.data import Array
from tacit.papers import JointGLMRare
from tacit.papers.joint.glm_rare_theory import theory
from tacit.papers.reproductions.errata.erratum import Erratum
from tacit.privacy.budget import Budget
from tacit.privacy.noise import Simulated

CLAIM = Budget(1.0, 0.02)
CONFIDENCE = 0.999
ANGLES = np.arange(4) * math.pi / 4
PROBES = [0.01 * sign * np.array([math.cos(a), math.sin(a)]) for a in ANGLES for sign in (1, -1)]


def errata(runs: int) -> list[Erratum]:
    at = f"claimed: epsilon = 1 at delta = .02; {runs} runs"
    noticed = [sum(later_users_notice(explores, run) for run in range(runs)) for explores in (True, False)]
    lowest = least_epsilon(noticed[0], noticed[1], runs)
    moved = sum(tau_after_two_users(True, run) != tau_after_two_users(False, run) for run in range(runs))
    numbers = 6 * math.log(5000)
    delta = delta_of_scales(1.0, 1 / 2, 1 / 3, round(numbers))
    operator, frobenius = largest_differences(20_000)
    ratio = rho_of_v(kappa_star=4.0, delta=0.02)
    setting = theory(dim=50, horizon=10**6, budget=Budget(8.0, 0.01), link="logistic", radius=1.0, failure=0.01)
    switches = most_switches(50, 10**6, setting.ridge)
    return [
        Erratum(
            "Algorithm 2, lines 4-8; Lemma J.7",
            "joint privacy, with theta_o recomputed whenever the raw arms of a user ask for exploration",
            "epsilon 1",
            f"epsilon >= {lowest:.1f}",
            f"{at}: later users saw that user 1 had explored in {noticed[0]} runs, and in {noticed[1]} if it had not",
            lowest <= CLAIM.epsilon,
        ),
        Erratum(
            "Algorithm 2, lines 9-12; Remark J.3",
            "when theta_tau is recomputed follows from released matrices alone",
            "0 runs",
            f"{moved} runs",
            f"of {runs}, in which user 2's raw arms alone decided whether theta_tau was new for user 3",
            moved == 0,
        ),
        Erratum(
            "Lemma U.4 with n = |T_o|; Lemma J.6",
            "noise of std 2 L sqrt(T / (2 rho)) / n on means of n gradients costs rho",
            "delta 0",
            f"delta {delta:.3f}",
            f"at epsilon = 1, from the scale of the noise alone: n = 2 or 3, 6 ln 5000 = {numbers:.0f} numbers (d = 3)",
            delta < 0.02,
        ),
        Erratum(
            "Lemma J.4: operator norm",
            "a matrix x x' that is replaced moves a leaf by 1, the norm that Gaussian noise answers to",
            f"{operator:.3f}",
            f"{frobenius:.3f}",
            "|x x' - y y'| for unit x, y: operator norm as printed, Frobenius norm as the noise needs (largest found)",
            frobenius <= 1.001,
        ),
        Erratum(
            "Lemma J.4: V's tree",
            "sigma_noise, for leaves of norm 1 / kappa*, makes the tree of V cost epsilon^2 / (144 log(3 / delta))",
            "1 times",
            f"{ratio:.2f} times",
            "that rho, at kappa* = 4, delta = .02: the leaves of V are x x', of norm 1",
            ratio <= 1,
        ),
        Erratum(
            "Lemma Q.2: count2",
            "Lemma P.4 bounds the switches by 4 log2(1 + T R^3 / d)",
            f"{setting.most_tau:.0f}",
            f"{switches:.0f}",
            "switches that P.4 allows: d = 50, T = 10^6, epsilon = 8, delta = zeta = .01, logistic, lambda of (50)",
            switches <= setting.most_tau,
        ),
        Erratum(
            "P.1, (103)-(104)",
            "d (4 sqrt d + 1) / (4 sqrt d lambda) lambda / (4 sqrt d + 1) = 1/4",
            "0.25",
            f"{determinant_bound(25):.2f}",
            "at d = 25: it is sqrt(d) / 4, as the O(sqrt d) in the sentence after it says",
            math.isclose(determinant_bound(25), 0.25),
        ),
    ]


def published(seed: int, **options: Any) -> JointGLMRare:
    return JointGLMRare(dim=2, horizon=64, budget=CLAIM, timing="published", source=Simulated(seed), **options)


def later_users_notice(explores: bool, seed: int) -> bool:
    """Whether, of 8 users who offer themselves two tiny arms v and -v, one gets its second arm: theta_o is then not 0.
    User 1's arms are unit vectors or tiny."""
    bandit = published(seed, radius=6.0, ridge=200.0, shrink=0.1, iterations=2)
    bandit.observe(bandit.choose((1.0 if explores else 0.001) * np.eye(2)), 1.0)
    noticed = False
    for v in PROBES:
        choice = bandit.choose(np.stack([v, -v]))
        bandit.observe(choice, 0.5)
        noticed |= choice.index == 1
    return noticed


def tau_after_two_users(explores: bool, seed: int) -> int:
    """How often theta_tau has been computed when user 3 comes: with so small a ridge the noise alone makes H grow, so
    that Criterion II is met at user 2, but it is tested only if user 2 does not explore."""
    bandit = published(seed, ridge=1.0, explore=100.0, iterations=1)
    for size in (0.001, 1.0 if explores else 0.001):
        bandit.observe(bandit.choose(size * np.eye(2)), 0.5)
    return bandit.recomputations[1]


def least_epsilon(seen: int, unseen: int, runs: int) -> float:
    """What P(event) <= e^epsilon P(event') + delta says of epsilon, with confidence 99.9 % (Clopper & Pearson)."""
    error = (1 - CONFIDENCE) / 2
    low = float(stats.beta.ppf(error, seen, runs - seen + 1)) if seen else 0.0
    high = float(stats.beta.ppf(1 - error, unseen + 1, runs - unseen))
    return max(0.0, math.log((low - CLAIM.delta) / high)) if low > CLAIM.delta else 0.0


def delta_of_scales(epsilon: float, wide: float, narrow: float, numbers: int) -> float:
    """The least delta at which so many Gaussians of std `wide` are within epsilon of the same with std `narrow`. The
    log-likelihood ratio is n ln(narrow / wide) + |x|^2 (1 / narrow^2 - 1 / wide^2) / 2, which grows with |x|^2."""
    limit = 2 * (epsilon + numbers * math.log(wide / narrow)) / (narrow**-2 - wide**-2)
    above = stats.chi2.sf(limit / wide**2, numbers), stats.chi2.sf(limit / narrow**2, numbers)
    return float(above[0] - math.exp(epsilon) * above[1])


def largest_differences(tries: int) -> tuple[float, float]:
    """The largest operator and Frobenius norm of x x' - y y' over random unit vectors of the plane."""
    angles: Array = np.random.default_rng(0).uniform(0, 2 * math.pi, (2, tries))
    x, y = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    difference = x[:, :, None] * x[:, None, :] - y[:, :, None] * y[:, None, :]
    operator = np.abs(np.linalg.eigvalsh(difference)).max()
    return float(operator), float(np.linalg.norm(difference, axis=(1, 2)).max())


def rho_of_v(kappa_star: float, delta: float) -> float:
    """zCDP of the tree of V over what J.3 claims. Each of m nodes has symmetrised noise (Z + Z') / 2, whose
    log-likelihood ratio for a shift M is that of N(0, sigma^2) in svec coordinates: rho = |M|^2 / (2 sigma^2), with
    |M|^2 = 2 and sigma^2 = 72 m log(32 / delta)^2 / (kappa* epsilon)^2. m and epsilon cancel."""
    m, epsilon = 14, 1.0
    sigma2 = 72 * m * math.log(32 / delta) ** 2 / (kappa_star * epsilon) ** 2
    return m * 2 / (2 * sigma2) / (epsilon**2 / (144 * math.log(3 / delta)))


def most_switches(dim: int, horizon: int, ridge: float) -> float:
    """Lemma P.4's bound on the number of switches, with L^2 = R^3 = 1 as in Lemma Q.2."""
    return 1 + dim * math.log1p(horizon / (ridge * dim)) / math.log(11 / 8)


def determinant_bound(dim: int) -> float:
    root = 4 * math.sqrt(dim)
    return dim * (root + 1) / root / (root + 1)
