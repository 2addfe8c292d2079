"""RS-GLinUCB as the code of Sarmasarkar 2026 has it, beside which that paper's table 2 sets its own bandit.

Read from the same repository and commit as papers.joint.glm_rare_code."""

import math
from typing import Any

import numpy as np

from reticent import special
from reticent.data import Array
from reticent.kernels.linalg import copy, grow, square_norm
from reticent.model.links import Link
from reticent_papers.references.rs_glin_ucb_kernel import OBSERVED, SWITCHES, WARM, RareSettings, RareState

PENALTY = 1e-5


def prepare(arms: Array, link: Link, settings: RareSettings, state: RareState) -> None:
    """Before a choice among these arms that is not of the warm-up: theta_tau is fitted once, when det H has grown by
    the factor for the first time. From then on H_tau is H itself, so that no later H is ever larger."""
    if state.counts[SWITCHES] or state.current.logdet[0] < state.switched.logdet[0] + math.log(settings.growth):
        return
    if max(square_norm(x, state.warm.inverse) for x in arms) > settings.threshold:
        return
    seen, late = int(state.counts[WARM]), int(state.counts[OBSERVED] - state.counts[WARM])
    rows = np.concatenate((state.rows[:seen], state.rows[len(state.rows) - late :]))
    values = np.concatenate((state.values[:seen], state.values[len(state.rows) - late :]))
    state.switched.theta[:] = fitted(rows, values, link, state.switched.theta, state.switched.theta)
    copy(state.current.inverse, state.switched.inverse)
    state.counts[SWITCHES] = 1


def learn(x: Array, r: float, link: Link, settings: RareSettings, state: RareState) -> None:
    """In the warm-up V += x x' / (1 + |x|^2_{V^-1}) and theta_o is fitted; else H += mu'(<x, theta_o>) / e x x'."""
    counts, rows, values, warm, current, switched = state
    square = square_norm(x, warm.inverse)
    warming = square > settings.threshold
    place = int(counts[WARM]) if warming else len(values) - 1 - int(counts[OBSERVED] - counts[WARM])
    rows[place], values[place] = x, r
    counts[OBSERVED] += 1
    if warming:
        counts[WARM] += 1
        warm.logdet[0] += grow(x, 1 / (1 + square), warm.inverse)
        start = (warm.theta + switched.theta) / 2
        warm.theta[:] = fitted(rows[: place + 1], values[: place + 1], link, start, warm.theta)
        return
    current.logdet[0] += grow(x, settings.damping * float(link.slope(float(x @ warm.theta))), current.inverse)
    if counts[SWITCHES]:
        copy(current.inverse, switched.inverse)


def fitted(rows: Array, values: Array, link: Link, start: Array, otherwise: Array) -> Array:
    """What L-BFGS-B makes of the likelihood with the gradient (mu - r) x, which for probit rewards is not its gradient;
    `otherwise` where it reports a failure, as it then often does."""
    from scipy.optimize import minimize  # a tenth of a second to import

    def loss(theta: Array) -> float:
        z = rows @ theta
        with np.errstate(all="ignore"):
            mean = special.ndtr(z) if link.name == "probit" else 1 / (1 + np.exp(-z))
            total = -np.sum(values * np.log(mean) + (1 - values) * np.log(1 - mean))
        return float(total + PENALTY * theta @ theta)

    def gradient(theta: Array) -> Any:
        return rows.T @ (link.mean(rows @ theta) - values) + 2 * PENALTY * theta

    found = minimize(loss, start, jac=gradient, method="L-BFGS-B")
    return np.asarray(found.x if found.success else otherwise)
