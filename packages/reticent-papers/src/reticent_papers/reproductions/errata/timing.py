"""Algorithm 2 of Sarmasarkar 2026, arXiv:2602.00417 (version 2), at the constants of J.1: what its timing shows.

One dimension. First come n users with the arm 1, who explore, until V is SHARE of the gamma^2 kappa from which on a
unit arm does not; then a probe; then user i, who has the arm 1 and reward 0 (world A: it explores, and line 8 computes
theta_o anew) or a tiny arm (world B); then a second probe. A probe is a user with the arms .9 and -.89, who does not
explore. It gets the second one if and only if the first is eliminated, that is if theta_o < -gamma sqrt(kappa / V) by
(14) and (15); else the first, whose UCB under H is larger, as theta_tau has not been computed yet and is 0. Some of the
n users have reward 1, so many that theta_o lies about there.

C of (52) is to be "sufficiently large": (67) wants gamma(lambda_max) <= gamma. With 1 under the O of (56) it is so from
C = 19 on."""

import math
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats
from scipy.special import expit

from reticent.data import Array, Booleans
from reticent.privacy.budget import Budget
from reticent_papers.joint.glm_rare_theory import Theory, theory

CLAIM = Budget(4.0, 0.02)
FAILURE = CLAIM.delta / 2  # zeta
HORIZON, RADIUS, CONSTANT = 1 << 26, 1.4, 25.0
SHARE, REWARDED = 0.9, 0.06
CONFIDENCE = 0.999
RUNS = 3000


def constants(horizon: int = HORIZON, constant: float = CONSTANT) -> Theory:
    """`horizon`: a power of 2. `constant`: C of (51) and (52)."""
    settings: dict[str, Any] = {"dim": 1, "horizon": horizon, "link": "logistic", "radius": RADIUS}
    return theory(budget=CLAIM, failure=FAILURE, constant=constant, **settings)


def horizon_of(asked: Theory) -> int:
    return 1 << (asked.levels - 1)


def gamma_needed(asked: Theory) -> float:
    """gamma(lambda_max) of (61), with d = R = 1."""
    root = math.sqrt(asked.ridge_max)
    tail = math.log(16 * horizon_of(asked) / (FAILURE * asked.ridge_max))
    return RADIUS * (4 * root + 7 * tail / root + 4 * math.sqrt(asked.nu_1))


def explorers(asked: Theory) -> int:
    """Users with a unit arm that make V so large."""
    return round(SHARE * asked.explore**2 - asked.ridge)


def changes_seen(asked: Theory, explores: bool, runs: int, rng: Generator, rewarded: float = REWARDED) -> int:
    """In how many runs the two probes got different arms. The noise of V is drawn anew for each, with as many nodes as
    the tree has levels: more than there is."""
    n = explorers(asked)
    ones = round(rewarded * n)
    theta_o = optimiser(asked, n, ones, rng, runs)
    later = optimiser(asked, n + 1, ones, rng, runs) if explores else theta_o
    return int(np.sum(second_arm(asked, n, theta_o, rng) != second_arm(asked, n + explores, later, rng)))


def second_arm(asked: Theory, n: int, theta_o: Array, rng: Generator) -> Booleans:
    """In which runs the first arm is eliminated."""
    gram = asked.ridge + n + asked.sigma_noise * math.sqrt(asked.levels) * rng.standard_normal(theta_o.size)
    return np.less(theta_o, -asked.explore / np.sqrt(gram))


def optimiser(asked: Theory, n: int, ones: int, rng: Generator, runs: int) -> Array:
    """Lemma U.4 on n users with the arm 1, `ones` of whom have reward 1 and the others 0, with J.6's rho of a call and
    zeta = 1 / T^6. As in Algorithm 7 it starts from 0 and returns the average."""
    steps = math.ceil(n**2 * asked.rho_o + 6 * math.log(horizon_of(asked)))
    lipschitz, diameter = 1 + RADIUS, 2 * RADIUS
    rate, sigma = diameter / (lipschitz * math.sqrt(steps)), lipschitz * math.sqrt(2 * steps / asked.rho_o) / n
    theta, average = np.zeros(runs), np.zeros(runs)
    for _ in range(steps):
        average += theta / steps
        gradient = expit(theta) - ones / n + asked.ridge_max * theta / n
        theta = np.clip(theta - rate * (gradient + sigma * rng.standard_normal(runs)), -RADIUS, RADIUS)
    return average


def least_epsilon(seen: int, unseen: int, runs: int, delta: float) -> float:
    """What P(event) <= e^epsilon P(event') + delta says of epsilon, with confidence 99.9 % (Clopper & Pearson)."""
    error = (1 - CONFIDENCE) / 2
    low = float(stats.beta.ppf(error, seen, runs - seen + 1)) if seen else 0.0
    high = float(stats.beta.ppf(1 - error, unseen + 1, runs - unseen))
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


def chances_of_a_switch(asked: Theory, gap: float) -> tuple[float, float]:
    """That Criterion II is met where the sum in H stands so much below 2 H_tau: at user i = 2^k = T / 2, before whom
    there are 2^k - 1 leaves in k nodes, and at the next user, before whom there is one node of 2^k leaves. So it stands
    if users before round T / 4 bring it there and then all explore, who do not test it: line 11 has seen none of these
    nodes before."""
    nodes = np.array([asked.levels - 2, 1])
    first, second = stats.norm.sf(gap / (asked.sigma_noise * np.sqrt(nodes)))
    return float(first), float(second)
