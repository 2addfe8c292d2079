"""Proofs of lower bounds: Sarmasarkar 2026, Appendix R, and Chen et al. 2025, Proposition 3.1."""

import math

import numpy as np
from scipy import stats

from tacit.data import Array
from tacit.papers.reproductions.errata.erratum import Erratum

ROUNDS, TRIALS, GAP = 10_000, 400, 0.1  # of the one-coordinate algorithm


def errata() -> list[Erratum]:
    left, right = kl_and_halves(1e-6)
    few, many = OneCoordinate(2), OneCoordinate(200)
    weight, loss = 0.01, squared_error(0.01, 100_000)
    return [
        Erratum(
            "Lemma R.3",
            "KL(P | Q) <= 2 KL(P | M) + 2 KL(Q | M), M = (P + Q) / 2",
            f"<= {right:.2f}",
            f"{left:.1f}",
            "P = (1 - 1e-6, 1e-6), Q = (1e-6, 1 - 1e-6): the right side is at most 4 ln 2, the left has no bound. "
            "What follows is repaired by TV^2 <= KL(P | M) + KL(Q | M)",
            left <= right,
        ),
        Erratum(
            "Lemma 7.1, step 4",
            "sum_j E[n_j 1{wrong sign of j}] = (T / d) E[number of wrong signs]",
            f"{many.claimed:,.0f}",
            f"<= {many.most:,.0f}",
            "d = 200, T = 10,000: a 1-private algorithm that plays one random coordinate, and learns its sign",
            many.claimed <= many.most,
        ),
        Erratum(
            "Lemma 7.1, the arms",
            "with all 2 d arms in every round, a private algorithm's regret grows like d",
            f"{many.dim // few.dim} times",
            f"{many.regret / few.regret:.0f} times",
            f"regret at d = 200 over d = 2 ({many.regret:.0f} and {few.regret:.0f}): one sign is enough to play well",
            many.regret > 2 * few.regret,
        ),
        Erratum(
            "Chen et al. 2025, proof of Proposition 3.1",
            "the loss E|phi (theta' - theta)|^2 is lambda^2 |theta' - theta|^2, phi = 1 with chance lambda, else 0",
            f"{weight**2:g}",
            f"{loss:.4f}",
            "E phi^2 at lambda = .01, by simulation; with lambda the proof gives the proposition as it is stated",
            math.isclose(loss, weight**2, rel_tol=0.5),
        ),
    ]


def kl(p: Array, q: Array) -> float:
    return float(np.sum(p * np.log(p / q)))


def kl_and_halves(small: float) -> tuple[float, float]:
    """Both sides of R.3's inequality for two coins of bias `small` and 1 - `small`."""
    p = np.array([1 - small, small])
    q, m = p[::-1], np.array([0.5, 0.5])
    return kl(p, q), 2 * kl(p, m) + 2 * kl(q, m)


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


def squared_error(weight: float, draws: int) -> float:
    """The mean of phi^2 over draws of phi, which is 1 with probability `weight` and 0 else."""
    phi = np.random.default_rng(0).random(draws) < weight
    return float(np.mean(phi**2))
