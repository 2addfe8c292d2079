"""ECOLog: one online step of logistic regression a round, in the norm of the information so far."""

import math
from typing import NamedTuple

import numpy as np

from reticent.data import Array, Integers
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.formulas import link_mean
from reticent.kernels.linalg import grow, invert, square_norm
from reticent.kernels.linear import RidgeEstimate, optimistic
from reticent.kernels.rounds import CHOICES, Range, outcome
from reticent.model.glm import unit_reward
from reticent.model.links import LOGISTIC
from reticent_papers.kernels.links import link_slope
from reticent_papers.kernels.matrices import HALVINGS
from reticent_papers.kernels.mle import loss

OBSERVED = 1
ROUGH_HALVINGS = 50  # of the multiplier, each of which solves a step


class ECOSettings(NamedTuple):
    radius: float  # S
    ridge: float
    failure: float
    width_scale: float


class ECOState(NamedTuple):
    """RAW."""

    counts: Integers  # (2,): choices, observations
    matrix: Array  # (d, d): W = sum of mu'(<x, theta>) x x' + ridge I, theta after its step
    excess: Array  # (1,): what the data adds to the width, squared
    estimate: RidgeEstimate  # theta and W^-1


@kernel
def implicit(x: Array, centre: Array, inverse: Array, a: float, b: float, out: Array) -> float:
    """out = argmin over t of |t - centre|_W^2 / 2 + a log(1 + e^z) - b z, z = <x, t>, W^-1 = inverse. It is
    centre - (a mu(z) - b) W^-1 x, where z = <x, centre> - |x|_{W^-1}^2 (a mu(z) - b), by bisection."""
    start = 0.0
    for i in range(x.size):
        start += x[i] * centre[i]
    square = square_norm(x, inverse)
    low, high = start - square * max(a - b, 0.0), start + square * b
    for _ in range(HALVINGS):
        z = 0.5 * (low + high)
        if z - start + square * (a * link_mean(LOGISTIC, z) - b) > 0.0:
            high = z
        else:
            low = z
    residual = a * link_mean(LOGISTIC, 0.5 * (low + high)) - b
    norm = 0.0
    for i in range(x.size):
        out[i] = centre[i]
        for j in range(x.size):
            out[i] -= residual * inverse[i, j] * x[j]
        norm += out[i] * out[i]
    return math.sqrt(norm)


@kernel
def online_step(
    x: Array, theta: Array, matrix: Array, inverse: Array, a: float, b: float, radius: float, out: Array
) -> None:
    """out = the argmin of `implicit` around theta over |t| <= radius: with the multiplier m of the constraint it is the
    free one for W + m I around (W + m I)^-1 W theta; m by bisection."""
    if implicit(x, theta, inverse, a, b, out) <= radius:
        return
    d = x.size
    image = np.dot(matrix, theta)
    shifted, other, centre = matrix.copy(), np.empty((d, d)), np.empty(d)
    low, high = 0.0, 0.0
    for i in range(d):
        high += image[i] * image[i]
    high = (math.sqrt(high) + a + b) / radius  # |t| <= (|W theta| + a + b) / m for |x| <= 1
    for _ in range(ROUGH_HALVINGS):
        middle = 0.5 * (low + high)
        for i in range(d):
            shifted[i, i] = matrix[i, i] + middle
        invert(shifted, other)
        for i in range(d):
            centre[i] = 0.0
            for j in range(d):
                centre[i] += other[i, j] * image[j]
        if implicit(x, centre, other, a, b, out) > radius:
            low = middle
        else:
            high = middle


@kernel
def eco_width(state: ECOState, settings: ECOSettings) -> float:
    """With t observations, width_scale sqrt(2 ridge S^2 + (1 + S)^2 g + excess),
    g = sqrt(ridge) / 2 + 2 / sqrt(ridge) log(2 / failure sqrt(1 + t / (4 ridge)))."""
    radius, ridge, failure, scale = settings
    t = state.counts[OBSERVED]
    root = math.sqrt(ridge)
    g = root / 2.0 + 2.0 / root * math.log(2.0 / failure * math.sqrt(1.0 + t / (4.0 * ridge)))
    return scale * math.sqrt(max(0.0, 2.0 * ridge * radius**2 + (1.0 + radius) ** 2 * g + state.excess[0]))


@kernel
def eco_choose(arms: Array, state: ECOState, settings: ECOSettings) -> int:
    return optimistic(arms, state.estimate, eco_width(state, settings), 0.0)


@kernel
def eco_rows(arms: Array, state: ECOState, settings: ECOSettings, out: Integers) -> None:
    for i in range(arms.shape[0]):
        out[i] = eco_choose(arms[i], state, settings)


@kernel
def eco_learn(x: Array, r: float, settings: ECOSettings, state: ECOState) -> None:
    """theta <- its step for (x, r); W += mu'(<x, theta>) x x'; and, with the step `bar` for the sum of both rewards'
    losses, excess += 2 (1 + S) (loss(bar) - loss(theta)) - |theta - bar|_W^2 / 2."""
    d = x.size
    counts, matrix, excess, estimate = state
    radius = settings.radius
    bar, new = np.empty(d), np.empty(d)
    online_step(x, estimate.theta, matrix, estimate.inverse, 2.0, 1.0, radius, bar)
    online_step(x, estimate.theta, matrix, estimate.inverse, 1.0, r, radius, new)
    z, z_bar = 0.0, 0.0
    for i in range(d):
        z += x[i] * new[i]
        z_bar += x[i] * bar[i]
        estimate.theta[i] = new[i]
        bar[i] -= new[i]
    gain = loss(LOGISTIC, z_bar, r, True) - loss(LOGISTIC, z, r, True)
    excess[0] += 2.0 * (1.0 + radius) * gain - 0.5 * square_norm(bar, matrix)
    slope = link_slope(LOGISTIC, z)
    estimate.logdet[0] += grow(x, slope, estimate.inverse)
    for i in range(d):
        for j in range(d):
            matrix[i, j] += slope * x[i] * x[j]
    counts[OBSERVED] += 1


@kernel
def eco_rounds(block: Block, state: ECOState, rewards: Range, settings: ECOSettings) -> None:
    """ECOLog. Changes state and the block's out arrays."""
    for t in range(block.noise.size):
        index = eco_choose(block.arms[t], state, settings)
        if outcome(block, t, index):
            state.counts[CHOICES] += 1
            r = unit_reward(block.reward[t], rewards.low, rewards.high, LOGISTIC)
            eco_learn(block.arms[t, index], r, settings, state)
