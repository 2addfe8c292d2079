"""Algorithm 1 of the shuffle paper: batches as in B-GLinCB, with shuffled sums for the information and for every
gradient of the optimiser. The rows of the open batch are what its users' devices remember."""

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from tacit.bandits.shuffle.batches_kernel import floored_inverse
from tacit.data import Array, Raw, Released
from tacit.kernels.batched import CLOSED, SEEN, BatchState, Widths, batch_learn, batch_weights, scaling
from tacit.kernels.block import Block
from tacit.kernels.compile import kernel
from tacit.kernels.formulas import link_mean
from tacit.kernels.linalg import smat
from tacit.kernels.rounds import BOUNDARY, CHOICES, draw_arm, outcome
from tacit.mechanisms.shuffle.sums_kernel import with_coins
from tacit.model.glm import unit_reward
from tacit.model.links import Code
from tacit.model.vectors import add_outer, packed_size


class BatchPlan(NamedTuple):
    """What the users of one batch do, and how the server fits. Public."""

    people: int  # of the batch; how many of them answered is not public
    matrix_scale: float  # grid cells per unit of the information
    matrix_trials: float  # coins of all users in each of its numbers
    scale: float  # the same for a gradient
    trials: float
    chance: float  # of a coin
    iterations: int
    step: float  # of the descent
    ridge: float
    largest: float  # weight in the information


@kernel
def shuffled_information(rng: Generator, state: BatchState, link: Code, widths: Widths, plan: BatchPlan) -> Released:
    """The svec of the sum of weight x x' over the open batch (weight 1 in batch 1, then the scaled slope, clipped),
    each user's rounded to the grid, with the coins of all."""
    n, k, d = state.counts[SEEN], state.counts[CLOSED], state.rows.shape[1]
    total, exact = Raw(np.zeros(packed_size(d))), np.empty(packed_size(d))
    for t in range(n):
        weight = 1.0 if k == 0 else scaling(state.rows[t], link, state, widths)
        weight = min(weight, plan.largest)
        exact[:] = 0.0
        add_outer(state.rows[t], weight, exact)
        for i in range(exact.size):
            total[i] += math.floor(exact[i] * plan.matrix_scale + rng.random())
    return with_coins(rng, total, plan.matrix_scale, plan.matrix_trials, plan.chance)


@kernel
def shuffled_gradient(
    rng: Generator, rows: Array, values: Array, link: Code, theta: Array, plan: BatchPlan
) -> Released:
    """The sum of (mu(<x, theta>) - r) x, clipped to norm 1, each user's rounded to the grid, with the coins of all."""
    d = theta.size
    total = Raw(np.zeros(d))
    for t in range(rows.shape[0]):
        z = 0.0
        for i in range(d):
            z += rows[t, i] * theta[i]
        residual = min(max(link_mean(link, z) - values[t], -1.0), 1.0)
        for i in range(d):
            total[i] += math.floor(residual * rows[t, i] * plan.scale + rng.random())
    return with_coins(rng, total, plan.scale, plan.trials, plan.chance)


@kernel
def shuffled_descent(
    rng: Generator, rows: Array, values: Array, link: Code, radius: float, plan: BatchPlan, theta: Array
) -> None:
    """P_GD: theta <- the mean of iterates theta_{t+1} = project(theta_t - step (shuffled gradient sum + ridge theta_t)
    / people), started at 0."""
    d = theta.size
    iterate, total = np.zeros(d), np.zeros(d)
    for _ in range(plan.iterations):
        for i in range(d):
            total[i] += iterate[i]
        gradient = shuffled_gradient(rng, rows, values, link, iterate, plan)
        square = 0.0
        for i in range(d):
            iterate[i] -= plan.step * (gradient[i] + plan.ridge * iterate[i]) / plan.people
            square += iterate[i] * iterate[i]
        if square > radius * radius:
            for i in range(d):
                iterate[i] *= radius / math.sqrt(square)
    for i in range(d):
        theta[i] = total[i] / plan.iterations


@kernel
def shuffle_glm_close(
    rng: Generator, state: BatchState, link: Code, widths: Widths, plan: BatchPlan, boundary: int
) -> None:
    """Close the open batch: its information, its estimate, the next boundary."""
    n, k, d = state.counts[SEEN], state.counts[CLOSED], state.rows.shape[1]
    matrix = np.empty((d, d))
    smat(shuffled_information(rng, state, link, widths, plan), matrix)
    for i in range(d):
        matrix[i, i] += plan.ridge
    floored_inverse(matrix, plan.ridge, state.inverses[k])
    shuffled_descent(rng, state.rows[:n], state.values[:n], link, widths.radius, plan, state.thetas[k])
    state.counts[SEEN] = 0
    state.counts[CLOSED] = k + 1
    state.counts[BOUNDARY] = boundary


@kernel
def shuffle_glm_rounds(
    policy: Generator,
    block: Block,
    state: BatchState,
    low: float,
    high: float,
    link: Code,
    widths: Widths,
    start: int,
) -> int:
    """ShuffleGLM, from round `start` up to the end of the block or of the batch. Returns the next round. Changes state
    and the block's out arrays."""
    weights = np.empty(block.arms.shape[1])
    for t in range(start, block.noise.size):
        if state.counts[CHOICES] >= state.counts[BOUNDARY]:
            return t
        batch_weights(block.arms[t], state, link, widths, weights)
        index = draw_arm(policy.random(), weights)
        if outcome(block, t, index):
            state.counts[CHOICES] += 1
            batch_learn(block.arms[t, index], unit_reward(block.reward[t], low, high, link), state)
    return block.noise.size
