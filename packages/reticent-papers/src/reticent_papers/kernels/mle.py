"""Maximum likelihood from all past data, refitted on a geometric schedule, and the choices made by it.

Rewards come in units of the link: in [0, 1] for logistic and probit. All data is kept: memory grows with the horizon.
"""

import math
from typing import NamedTuple

import numpy as np

from reticent.data import Array, Exact, Integers
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.formulas import link_mean
from reticent.kernels.linalg import copy, grow, invert
from reticent.kernels.linear import RidgeEstimate, optimistic
from reticent.kernels.rounds import BOUNDARY, CHOICES, Range, outcome
from reticent.model.glm import unit_reward
from reticent.model.links import PROBIT, Code, integral
from reticent_papers.kernels.links import link_slope

OBSERVED = 2
STEPS = 50  # of Newton, at most
SAFE, DONE = 0.1, 1e-6  # step' H step below which a whole step descends, and below which one more is exact enough
FAR = 6.0  # |z| from which the normal hazard rate is taken from its series: 1 - mu has lost its digits there
GROWTH = 1.05  # of the data between two fits, to save time: the papers fit in every round. No record of its choice


class MLEState(NamedTuple):
    """What bandits with a maximum likelihood estimate keep: no privacy here, the estimate is as raw as the data."""

    counts: Integers  # (3,): choices, observations at which the next fit is due, observations
    rows: Exact  # (horizon, d): the arms whose rewards were seen
    values: Exact  # (horizon,): those rewards, in units of the link
    estimate: RidgeEstimate


@kernel
def loss(link: Code, z: float, r: float, likelihood: bool) -> float:
    """-r z + integral of mu up to z, whose minimiser solves sum (mu(z) - r) x = 0; with `likelihood` and a probit link,
    for which that is something else, -r log mu(z) - (1 - r) log(1 - mu(z))."""
    if link == PROBIT and likelihood:
        return -r * math.log(max(link_mean(link, z), 1e-300)) - (1.0 - r) * math.log(max(link_mean(link, -z), 1e-300))
    return integral(link, z) - r * z


@kernel
def efficiency(link: Code, z: float, mean: float, slope: float, likelihood: bool) -> float:
    """The weight of an observation in the score: mu' / (mu (1 - mu)) for the probit likelihood, else 1."""
    if link != PROBIT or not likelihood:
        return 1.0
    if abs(z) < FAR:
        return slope / (mean * (1.0 - mean))
    far = abs(z)  # the normal hazard rate, where 1 - mu has lost its digits
    return far + 1.0 / far - 2.0 / far**3


@kernel
def objective(rows: Array, values: Array, link: Code, ridge: float, likelihood: bool, theta: Array) -> float:
    """sum of losses + ridge / 2 |theta|^2."""
    total = 0.0
    for i in range(theta.size):
        total += 0.5 * ridge * theta[i] * theta[i]
    for t in range(values.size):
        z = 0.0
        for i in range(theta.size):
            z += rows[t, i] * theta[i]
        total += loss(link, z, values[t], likelihood)
    return total


@kernel
def newton(
    rows: Array, values: Array, link: Code, ridge: float, likelihood: bool, theta: Array, inverse: Array
) -> float:
    """theta <- argmin of the objective, by Newton's method (Fisher scoring for the probit likelihood) from theta, with
    halved steps where a whole one does not descend; inverse <- (sum of e mu' x x' + ridge I)^-1 there, e the weight
    `efficiency`. Returns the log determinant of what was inverted."""
    d = theta.size
    matrix = np.empty((d, d))
    gradient, step, trial = np.empty(d), np.empty(d), np.empty(d)
    logdet = 0.0
    for _ in range(STEPS):
        for i in range(d):
            gradient[i] = ridge * theta[i]
            for j in range(d):
                matrix[i, j] = ridge if i == j else 0.0
        for t in range(values.size):
            z = 0.0
            for i in range(d):
                z += rows[t, i] * theta[i]
            mean, slope = link_mean(link, z), link_slope(link, z)
            weight = efficiency(link, z, mean, slope, likelihood)
            residual = weight * (mean - values[t])
            weight *= slope
            for i in range(d):
                gradient[i] += residual * rows[t, i]
                for j in range(i + 1):
                    matrix[i, j] += weight * rows[t, i] * rows[t, j]
        for i in range(d):
            for j in range(i):
                matrix[j, i] = matrix[i, j]
        logdet = invert(matrix, inverse)
        decrement = 0.0
        for i in range(d):
            step[i] = 0.0
            for j in range(d):
                step[i] -= inverse[i, j] * gradient[j]
            decrement -= step[i] * gradient[i]
        if decrement < SAFE:
            for i in range(d):
                theta[i] += step[i]
            if decrement < DONE:
                break
            continue
        value = objective(rows, values, link, ridge, likelihood, theta)
        scale = 1.0
        while True:
            for i in range(d):
                trial[i] = theta[i] + scale * step[i]
            if scale < 1e-6 or objective(rows, values, link, ridge, likelihood, trial) <= value:
                break
            scale *= 0.5
        for i in range(d):
            theta[i] = trial[i]
    return logdet


@kernel
def record(x: Array, r: float, link: Code, ridge: float, likelihood: bool, state: MLEState) -> bool:
    """Keep one observation, r in units of the link. Refits when the observations have grown by the factor GROWTH;
    returns whether it did. The inverse is that of the curvature at the last fit, with later observations added."""
    counts, rows, values, estimate = state
    n = counts[OBSERVED]
    copy(x, rows[n])
    values[n] = r
    counts[OBSERVED] = n + 1
    if n + 1 < counts[BOUNDARY]:
        z = 0.0
        for i in range(x.size):
            z += x[i] * estimate.theta[i]
        slope = link_slope(link, z)
        weight = slope * efficiency(link, z, link_mean(link, z), slope, likelihood)
        estimate.logdet[0] += grow(x, weight, estimate.inverse)
        return False
    estimate.logdet[0] = newton(
        rows[: n + 1], values[: n + 1], link, ridge, likelihood, estimate.theta, estimate.inverse
    )
    counts[BOUNDARY] = max(n + 2, int((n + 1) * GROWTH))
    return True


@kernel
def mle_rounds(block: Block, state: MLEState, rewards: Range, link: Code, ridge: float, width: float) -> None:
    """MLEUCB. Changes state and the block's out arrays."""
    for t in range(block.noise.size):
        index = optimistic(block.arms[t], state.estimate, width, 0.0)
        if outcome(block, t, index):
            state.counts[CHOICES] += 1
            r = unit_reward(block.reward[t], rewards.low, rewards.high, link)
            record(block.arms[t, index], r, link, ridge, True, state)
