"""GLOC: an online Newton step, and the confidence set that its regret gives."""

import math
from typing import NamedTuple

import numpy as np

from reticent.data import Array, Integers
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.formulas import link_mean
from reticent.kernels.linalg import copy, grow, invert, square_norm
from reticent.kernels.linear import RidgeEstimate, optimistic
from reticent.kernels.rounds import CHOICES, Range, outcome
from reticent.model.glm import unit_reward
from reticent.model.links import Code
from reticent_papers.kernels.matrices import HALVINGS
from reticent_papers.references.glm_ucb_kernel import mean_optimistic


class GLOCSettings(NamedTuple):
    slope: float  # k: the smallest that the link has
    noise: float  # R: of rewards
    failure: float
    radius: float  # S
    ridge: float
    in_mean: bool  # whether the index is optimistic about the mean reward, not about <x, theta*>
    width_scale: float


class GLOCState(NamedTuple):
    """RAW."""

    counts: Integers  # (1,): choices
    online: Array  # (d,): the iterate of the online Newton step
    matrix: Array  # (d, d): V = sum of x x' + ridge I
    moment: Array  # (d,): sum of z x, z = <x, online> before its step
    regret: Array  # (1,): B, the bound on the online regret
    squares: Array  # (1,): sum of z^2
    estimate: RidgeEstimate  # theta = V^-1 moment: the centre of the set


@kernel
def project(theta: Array, matrix: Array, radius: float) -> None:
    """theta <- argmin of |t - theta|_matrix over |t| <= radius: (matrix + m I)^-1 matrix theta with the smallest m >= 0
    that is enough, by bisection. Inside the ball nothing changes."""
    d = theta.size
    square = 0.0
    for i in range(d):
        square += theta[i] * theta[i]
    if square <= radius * radius:
        return
    image = np.dot(matrix, theta)
    shifted, inverse, trial = matrix.copy(), np.empty((d, d)), np.empty(d)
    low, high = 0.0, 0.0
    for i in range(d):
        high += image[i] * image[i]
    high = math.sqrt(high) / radius  # |t| <= |matrix theta| / m
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        for i in range(d):
            shifted[i, i] = matrix[i, i] + middle
        invert(shifted, inverse)
        square = 0.0
        for i in range(d):
            trial[i] = 0.0
            for j in range(d):
                trial[i] += inverse[i, j] * image[j]
            square += trial[i] * trial[i]
        if square > radius * radius:
            low = middle
        else:
            high = middle
            copy(trial, theta)
    return


@kernel
def gloc_width(state: GLOCState, settings: GLOCSettings) -> float:
    """width_scale times the radius of the confidence set; with B the bound on the online regret, k the smallest slope,
    R the noise:
    beta = 1 + 4 B / k + 8 R^2 / k^2 log(2 / failure sqrt(1 + 2 B / k + 4 R^4 / (k^4 failure^2))),
    sqrt(beta + ridge S^2 - (sum of z^2 - <theta, moment>)); in the mean: sqrt(beta) alone."""
    slope, noise, failure, radius, ridge, in_mean, scale = settings
    bound = state.regret[0]
    ratio = noise / slope
    inner = 1.0 + 2.0 * bound / slope + 4.0 * ratio**4 / failure**2
    beta = 1.0 + 4.0 * bound / slope + 8.0 * ratio**2 * math.log(2.0 / failure * math.sqrt(inner))
    if in_mean:
        return scale * math.sqrt(beta)
    left = state.squares[0]
    for i in range(state.moment.size):
        left -= state.estimate.theta[i] * state.moment[i]
    return scale * math.sqrt(max(0.0, beta + ridge * radius**2 - max(0.0, left)))


@kernel
def gloc_choose(arms: Array, state: GLOCState, link: Code, settings: GLOCSettings) -> int:
    """argmax of <x, theta> + width |x|_{V^-1}; in the mean, of mu(<x, online>) + width |x|_{V^-1}."""
    width = gloc_width(state, settings)
    if settings.in_mean:
        return mean_optimistic(arms, state.online, state.estimate.inverse, link, width)
    return optimistic(arms, state.estimate, width, 0.0)


@kernel
def gloc_rows(arms: Array, state: GLOCState, link: Code, settings: GLOCSettings, out: Integers) -> None:
    for i in range(arms.shape[0]):
        out[i] = gloc_choose(arms[i], state, link, settings)


@kernel
def gloc_learn(x: Array, r: float, link: Code, settings: GLOCSettings, state: GLOCState) -> None:
    """One online Newton step: with g = mu(z) - r and k the smallest slope,
    V += x x',  online <- projection of online - g / k V^-1 x in the norm of V,  B += g^2 |x|^2_{V^-1} / (2 k)."""
    d = x.size
    online, estimate = state.online, state.estimate
    slope = settings.slope
    z = 0.0
    for i in range(d):
        z += x[i] * online[i]
    estimate.logdet[0] += grow(x, 1.0, estimate.inverse)
    for i in range(d):
        state.moment[i] += z * x[i]
        for j in range(d):
            state.matrix[i, j] += x[i] * x[j]
    g = link_mean(link, z) - r
    state.regret[0] += g * g * square_norm(x, estimate.inverse) / (2.0 * slope)
    state.squares[0] += z * z
    for i in range(d):
        step, centre = 0.0, 0.0
        for j in range(d):
            step += estimate.inverse[i, j] * x[j]
            centre += estimate.inverse[i, j] * state.moment[j]
        online[i] -= g / slope * step
        estimate.theta[i] = centre
    project(online, state.matrix, settings.radius)


@kernel
def gloc_rounds(block: Block, state: GLOCState, rewards: Range, link: Code, settings: GLOCSettings) -> None:
    """GLOC. Changes state and the block's out arrays."""
    for t in range(block.noise.size):
        index = gloc_choose(block.arms[t], state, link, settings)
        if outcome(block, t, index):
            state.counts[CHOICES] += 1
            r = unit_reward(block.reward[t], rewards.low, rewards.high, link)
            gloc_learn(block.arms[t, index], r, link, settings, state)
