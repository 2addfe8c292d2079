"""Several shuffled sums of the same users, each chosen in the light of the earlier ones: one calibration for all."""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tacit.mechanisms.shuffle.calibration import PRODUCT_ROUNDING, Plan, closeness, gaussian_delta, smallest
from tacit.privacy import search
from tacit.privacy.budget import Budget

SMALLEST_MU, LARGEST_MU = 1e-9, 20.0
TRIALS = 1 << 26  # coins of all users in each coordinate of each sum: more cost bits, not noise


class Sum(NamedTuple):
    """One of the sums: m numbers, moved by at most D; `share` of the squared privacy parameter goes to it, `times`
    over."""

    size: int
    sensitivity: float
    norm: float
    share: float
    times: int = 1


def calibrate_sums(budget: Budget, *, users: int, sums: Sequence[Sum]) -> list[Plan]:
    """Plans under which all sums together are (epsilon, delta)-private.

    Proof: as in calibration, with m the coordinates of all sums together; but the move K of a sum may depend on the
    results of earlier ones, so its rounding is bounded always, not on average: |K| <= W + sqrt m (each coordinate
    moves by less than 1 more). Gaussian mechanisms chosen adaptively compose: their squared mu add up (Dong, Roth & Su
    2019), and so does step 3, whose factors bound every density ratio whatever was chosen. So with
    ((W_j + sqrt m_j) / s)^2 = share_j mu^2 / times_j, shares adding to 1, delta_R(eps_G) is delta_Gauss(eps_G; mu)."""
    budget.needs_delta("a shuffled sum")
    trials = math.ceil(TRIALS / users)
    total = sum(part.size * part.times for part in sums)
    mu = _mu(budget, trials * users, total)
    s = math.sqrt(trials * users / 4 - 1 / 12)
    plans = []
    for part in sums:
        width = s * mu * math.sqrt(part.share / part.times) - math.sqrt(part.size)
        if width <= 0:
            raise ValueError("Expected a budget that allows for the rounding of all sums, got a smaller one.")
        scale = width / part.sensitivity / PRODUCT_ROUNDING
        reach = math.ceil(scale * part.norm)
        plans.append(Plan(users, part.size, scale, reach, trials, part.sensitivity))
    return plans


def composed_epsilon(plans: Sequence[tuple[Plan, int]], delta: float) -> float:
    """epsilon at delta of plans with the same coins, each run so many times: recomputed from the noise in use."""
    trials = plans[0][0].users * plans[0][0].trials
    s = math.sqrt(trials / 4 - 1 / 12)
    total = sum(plan.size * times for plan, times in plans)
    square = sum(
        times * ((plan.scale * plan.sensitivity * PRODUCT_ROUNDING + math.sqrt(plan.size)) / s) ** 2
        for plan, times in plans
    )

    def enough(at: float) -> bool:
        return _delta(trials, total, math.sqrt(square), at) <= delta

    return smallest(enough)


@functools.lru_cache(maxsize=256)
def _mu(budget: Budget, trials: int, total: int) -> float:
    def too_much(mu: float) -> bool:
        return _delta(trials, total, mu, budget.epsilon) > budget.delta

    return search.halved(too_much, 0.0, LARGEST_MU, digits=1e-6, least=SMALLEST_MU)[0]


def _delta(trials: int, total: int, mu: float, epsilon: float) -> float:
    over, under, lost, missed = closeness(trials)
    inner = epsilon - total * (over + under)
    possible = inner >= 0
    if not possible.any() or mu == 0:
        return 1.0 if mu else 0.0
    over, lost, missed, inner = over[possible], lost[possible], missed[possible], inner[possible]
    gauss = gaussian_delta(inner, np.full(inner.size, mu))
    return float(np.min(total * lost + np.exp(total * over) * (gauss + np.exp(inner) * total * missed)))
