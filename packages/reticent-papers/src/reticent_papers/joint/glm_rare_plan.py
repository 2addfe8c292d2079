"""JointGLMRare(constants="practical"): the noise of its gradients and the numbers of its rule, from public settings."""

import math
from typing import Any, NamedTuple

from reticent import checks
from reticent.mechanisms.grid import LENGTH_SLACK, cell_with, sigma_for

# Practical constants (the paper's are in glm_rare_theory), by regret on tuning seeds; none of them touches privacy. No
# record was kept but of two: PACE of 0, 1.5, 2 and 4, and EXPLORE of 2 / d, 3 / d, 4 / d and .6, on the settings of
# figure 1 and table 2 and on d = 8, epsilon 1 to 8.
RIDGE, RIDGE_PER_NOISE = 5.0, 2.0  # lambda: so much, and so much more for each unit of the noise's std in V at the end
EXPLORE, EXPLORE_LEAST = 0.6, 2.0  # explore^2 over lambda: so much times d, and at least 2, where V doubles and is used
SHRINK, SHRINK_PUBLISHED = 0.25, 2.0  # lambda of the loss, per unit of the noise's std in its gradient sums
WIDTH = 0.1
PACE = 2.0  # strict: calls wait until the choices have doubled; without, noise uses up all calls in the first rounds
UNCERTAIN_SHARE = 0.01  # of the rounds that J.1 allows for: calls for theta_o under timing="published"


class Practical(NamedTuple):
    sigma_o: float
    sigma_tau: float
    sensitivity: float  # of a gradient sum, on the grid in use
    rule: dict[str, Any]


def practical(
    settings: Any, *, slope: float, noise: float, optimiser: float, secure: bool, sensitivity: float
) -> Practical:
    """settings: the bandit's, None where a constant follows. noise: std of V at the end. optimiser: mu of all gradient
    sums of one kind, which secure noise has on a grid; sensitivity: theirs without one."""
    published = settings.timing == "published"
    ridge = RIDGE + RIDGE_PER_NOISE * noise if settings.ridge is None else settings.ridge
    explore = settings.explore
    if explore is None:
        explore = math.sqrt(max(EXPLORE_LEAST, EXPLORE * settings.dim) * ridge)
    shrink = (SHRINK_PUBLISHED if published else SHRINK) if settings.shrink is None else settings.shrink
    width = WIDTH if settings.width is None else settings.width
    checks.positive(ridge=ridge, explore=explore)
    checks.non_negative(shrink=shrink, width=width)
    uncertain_rounds = 8 * settings.dim * explore**2 * math.log(settings.horizon)  # count1 of J.1
    most_o = _cut_off("most_o", settings.most_o, UNCERTAIN_SHARE * uncertain_rounds if published else settings.dim)
    most_tau = _cut_off("most_tau", settings.most_tau, math.log2(1 + settings.horizon / settings.dim))  # count2 / 4

    def on_grid(cell: float) -> float:
        return sensitivity * (1 + LENGTH_SLACK * secure) + cell * math.sqrt(settings.dim)

    def sigma(calls: int, cell: float) -> float:
        return sigma_for(on_grid(cell) * math.sqrt(calls * settings.iterations), optimiser, cell)

    most = max(most_o, most_tau)  # whole numbers in floats: 52 bits of noise, and as many of 2^14 users
    cell = cell_with(sensitivity, settings.dim, lambda cell: sigma(most, cell) / cell, bits=52) if secure else 0.0
    sigma_o, sigma_tau = sigma(most_o, cell), sigma(most_tau, cell)
    rule = {
        "explore": float(explore),
        "width": float(width),
        "ridge": float(ridge),
        "ridge_hessian": float(ridge * slope / math.e),
        "slope": slope,
        "shrink_o": 1 + shrink * sigma_o,
        "shrink_tau": 1 + shrink * sigma_tau,
        "step": float(settings.step),
        "most_o": most_o,
        "most_tau": most_tau,
        "pace": 0.0 if published else PACE,
        "cell": cell,
    }
    return Practical(sigma_o, sigma_tau, on_grid(cell), rule)


def _cut_off(name: str, value: int | None, default: float) -> int:
    if value is None:
        return max(1, math.ceil(default))
    checks.positive_int(**{name: value})
    return int(value)
