"""Proofs of lower bounds: Sarmasarkar 2026, Appendix R, and Chen et al. 2025, Proposition 3.1."""

import itertools
import math

import numpy as np
from scipy import stats

from reticent.data import Array
from reticent.model.links import named
from reticent_papers.reproductions.errata.erratum import Erratum, Found

ROUNDS, TRIALS, GAP = 10_000, 400, 0.1  # of the one-coordinate algorithm


def regime() -> Found:
    ratio, smaller = (least_regret_over_horizon(epsilon, 0.1) for epsilon in (1e-3, 1e-4))
    repaired = least_regret_over_horizon(1e-4, 1e-10)
    at = (
        f"times c / C is the regret a round that it asks for, at epsilon = .001, delta = .1; {smaller:,.0f} at .0001: "
        f"for any c and C it passes R. With delta log(1 / delta) <= epsilon^2 it is at most 2 epsilon ({repaired:.0e} "
        "at .0001)"
    )
    return Found("<= R", f"{ratio:,.0f}", at, smaller <= 2 * ratio)


def least_regret_over_horizon(epsilon: float, delta: float) -> float:
    """d / epsilon over the smallest T that is allowed, d / (epsilon^2 + delta log(1 / delta)); c = C = 1."""
    return (epsilon**2 + delta * math.log(1 / delta)) / epsilon


def local_gap() -> Found:
    a, base, link = 0.1, 0.1, named("logistic")  # tau = 1
    radius = 1 / (2 * (base + a))
    least = float(link.slope(1.0)) * radius / 2 * a
    theta = base - a
    gap = abs(float(link.mean(radius * theta)) - float(link.mean(-radius * theta)))
    at = "logistic, tau = 1, a = theta_0j = .1, V_j = -1. Beyond that R.2's best sign is theta_0j's, whatever V_j"
    return Found(f">= {least:.4f}", f"{gap:.4f}", at, gap >= least)


def r3() -> Found:
    small = 1e-6
    p = np.array([1 - small, small])
    left, right = kl(p, p[::-1]), 4 * mutual_information(np.array([p, p[::-1]]) / 2)
    at = (
        "d = 1, X = V but for a chance of 1e-6. Repair: for independent V_j the sum of TV(P_+^j, P_-^j)^2 is at most "
        "2 sum_j I(V_j; X) <= 2 I(V; X)"
    )
    return Found(f"<= {right:.2f}", f"{left:.1f}", at, left <= right)


def chain_rule() -> Found:
    given, together = xor_informations()
    at = "V uniform on two bits, X their exclusive or. What holds for independent V_j is sum I(V_j; X) <= I(V; X)"
    return Found(f"{together:.3f}", f"{given:.3f}", at, math.isclose(given, together))


def xor_informations() -> tuple[float, float]:
    """The sum over j of I(V_j; X | V_-j), and I(V; X)."""
    together, given = np.zeros((4, 2)), 0.0
    for row, (one, two) in enumerate(itertools.product((0, 1), repeat=2)):
        together[row, one ^ two] = 1 / 4
    for j in (0, 1):
        for other in (0, 1):
            rows = [row for row, bits in enumerate(itertools.product((0, 1), repeat=2)) if bits[1 - j] == other]
            given += mutual_information(together[rows] * 2) / 2
    return given, mutual_information(together)


def step_4() -> Found:
    many = OneCoordinate(16 * ROUNDS)
    at = (
        "d = 160,000, T = d / 16 (T_0 of the proof is c_0 d at epsilon = 1): a 1-private algorithm that plays one "
        "random coordinate, and learns its sign"
    )
    return Found(f"{many.claimed:,.0f}", f"<= {many.most:,.0f}", at, many.claimed <= many.most)


def arms() -> Found:
    few, many = OneCoordinate(2), OneCoordinate(200)
    at = (
        f"regret at d = 200 over d = 2 ({many.regret:.0f} and {few.regret:.0f}) of that algorithm, T = 10,000: one "
        "sign is enough. With trials that grow like log T so does its regret, which at T = C d is below c d / epsilon "
        "for any c, once d is large"
    )
    return Found(
        f"{many.dim // few.dim} times", f"{many.regret / few.regret:.0f} times", at, many.regret > 2 * few.regret
    )


def chen() -> Found:
    weight = 0.01
    phi = np.random.default_rng(0).random(100_000) < weight
    loss = float(np.mean(phi**2))
    at = "E phi^2 at lambda = .01, by simulation. With lambda the proof gives the proposition as it is stated"
    return Found(f"{weight**2:g}", f"{loss:.4f}", at, math.isclose(loss, weight**2, rel_tol=0.5))


def kl(p: Array, q: Array) -> float:
    return float(np.sum(p * np.log(p / q)))


def mutual_information(joint: Array) -> float:
    """Of a table of probabilities, rows by columns."""
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    some = joint > 0
    return kl(joint[some], product[some])


class OneCoordinate:
    """Plays +e_j for a random j in TRIALS rounds, adds Laplace noise of scale 1 / epsilon to the sum of their rewards
    (0 or 1; actions are then epsilon-private), and plays the sign that the noisy sum says. Means are 1/2 +- GAP / 2."""

    def __init__(self, dim: int, epsilon: float = 1.0) -> None:
        self.dim = dim
        sums = np.arange(TRIALS + 1)
        law = stats.binom.pmf(sums, TRIALS, 0.5 + GAP / 2)
        self.wrong = float(law @ stats.laplace.cdf(TRIALS / 2 - sums, scale=1 / epsilon))  # by symmetry for either sign
        trials_wrong = TRIALS / 2  # in half of the worlds +e_j is the wrong arm
        self.regret = GAP * (trials_wrong + (ROUNDS - TRIALS) * self.wrong)
        others = (dim - 1) / 2  # signs of which nothing is known
        self.most = ROUNDS * self.wrong  # n_j is T for one j, whose sign is known at least so well at the end
        self.claimed = ROUNDS / dim * (self.wrong + others)


ROWS = [
    Erratum(
        "statement false",
        "Sarmasarkar, Lemma 7.1",
        "regret >= c d / epsilon for all T >= C d / (epsilon^2 + delta log(1 / delta))",
        "not for fixed delta and small epsilon, where that is more than T rewards: (111) takes epsilon T_0 for d / "
        "epsilon, which needs delta log(1 / delta) <= epsilon^2 up to a constant",
        "reticent_papers.bounds.glm_lower has its own condition",
        regime,
    ),
    Erratum(
        "statement false",
        "Sarmasarkar, Lemmas R.1 and R.2",
        "the arms +-r e_j differ by at least m r a / 2, for any theta_0; playing another sign than V_j costs that",
        "only if |theta_0j| < a (3 a / 4 for that constant): theta_0j + a V_j may be 0, or have one sign for both V_j. "
        "theta_0 = 0 will do",
        "theta_0 = 0",
        local_gap,
    ),
    Erratum(
        "statement false",
        "Sarmasarkar, Lemma R.3",
        "sum_j KL(P_+^j | P_-^j) <= 4 I(V; X), by KL(P | Q) <= 2 KL(P | M) + 2 KL(Q | M), M = (P + Q) / 2",
        "false already for d = 1: the right side is bounded, the left is not",
        "total variation instead of KL",
        r3,
    ),
    Erratum(
        "proof gap",
        "Sarmasarkar, Lemma R.3: chain rule",
        "sum_j I(V_j; X | V_-j) = I(V; X) for independent V_j",
        "the left side may be larger",
        "the same",
        chain_rule,
    ),
    Erratum(
        "proof gap",
        "Sarmasarkar, Lemma 7.1, step 4",
        "sum_j E[n_j 1{wrong sign of j}] = (T / d) E[number of wrong signs]",
        "n_j and the error are not independent: who plays one coordinate often knows its sign",
        "reticent_papers.bounds.glm_lower: pairs of arms take turns, constants are explicit",
        step_4,
    ),
    Erratum(
        "proof gap",
        "Sarmasarkar, Lemma 7.1: its arms",
        "with the arms +-r e_j in every round, a private algorithm's regret grows like d",
        "it need not grow at all; another fixed set may do",
        "the same",
        arms,
    ),
    Erratum(
        "slip",
        "Chen et al. 2025, proof of Proposition 3.1",
        "the loss E|phi (theta' - theta)|^2 is lambda^2 |theta' - theta|^2, phi = 1 with chance lambda, else 0",
        "lambda |theta' - theta|^2",
        "reticent_papers.bounds.regression_lower, with constants",
        chen,
    ),
]
