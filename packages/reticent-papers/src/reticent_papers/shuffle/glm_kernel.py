"""Algorithm 1 of the shuffle paper: batches as in B-GLinCB, with a shuffled sum for the information and one for every
gradient of the optimiser. Here is what the server makes of each sum, and a simulation of all its devices."""

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Exact, Integers, Released
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.formulas import link_mean
from reticent.kernels.linalg import copy, smat
from reticent.kernels.rounds import draw_arm, outcome
from reticent.model.glm import unit_reward
from reticent.model.links import Code
from reticent.model.vectors import add_outer, packed_size
from reticent_papers.kernels.batched import CLOSED, Closed, Widths, batch_weights, scaling
from reticent_papers.mechanisms.noisy_kernel import with_coins
from reticent_papers.shuffle.lin_ucb_kernel import floored_inverse

USERS, VERSION, ROUND = 0, 1, 2  # and CLOSED = 3


class RoundsState(NamedTuple):
    """Public: functions of shuffled sums."""

    counts: Integers  # (4,): users of closed sums of information, sums closed, round of the open batch, batches closed
    thetas: Array  # (batches, d): estimate of each closed batch
    inverses: Array  # (batches, d, d): (its information + ridge I)^-1
    iterate: Array  # (d,): where the open batch's users are asked for a gradient
    total: Array  # (d,): sum of its iterates so far
    heard: Integers  # (1 + gradients,): reports in each round of the open batch
    spent: Array  # (1,): the largest epsilon of a batch so far, recomputed from those who reported


class Cohort(NamedTuple):
    """What the devices of the open batch remember: simulation only."""

    reports: Integers  # (1,): whose reward came
    rows: Exact  # (horizon, d): arms
    values: Exact  # (horizon,): rewards as shares of their range


class Sums(NamedTuple):
    """How the sums of a batch are coded. Public."""

    information: float  # grid cells per unit
    matrix_coins: float  # of a user in each number
    gradient: float  # the same for a gradient
    coins: float
    chance: float  # of a coin
    largest: float  # weight in the information


class Fit(NamedTuple):
    """How the server fits. Public."""

    gradients: int
    step: float  # of the descent
    ridge: float  # lambda, on the information
    pull: float  # lambda of the loss
    radius: float


@kernel
def take_sum(released: Released, reports: int, fit: Fit, state: RoundsState) -> None:
    """The next shuffled sum of the open batch. Round 0: its information, whose eigenvalues below the ridge are raised
    to it. Then P_GD from 0: iterate <- project(iterate - step (gradient sum + pull iterate) / reports); the estimate is
    the mean of the iterates at which gradients were asked for. Changes state."""
    k, d = state.counts[CLOSED], state.iterate.size
    if state.counts[ROUND] == 0:
        matrix = np.empty((d, d))
        smat(released, matrix)
        for i in range(d):
            matrix[i, i] += fit.ridge
        floored_inverse(matrix, fit.ridge, state.inverses[k])
        state.iterate[:] = 0.0
        state.total[:] = 0.0
        state.counts[USERS] += reports
    else:
        square = 0.0
        for i in range(d):
            state.total[i] += state.iterate[i]
            state.iterate[i] -= fit.step * (released[i] + fit.pull * state.iterate[i]) / reports
            square += state.iterate[i] ** 2
        if square > fit.radius**2:
            for i in range(d):
                state.iterate[i] *= fit.radius / math.sqrt(square)
    state.counts[VERSION] += 1
    state.counts[ROUND] += 1
    if state.counts[ROUND] > fit.gradients:
        for i in range(d):
            state.thetas[k, i] = state.total[i] / fit.gradients
        state.counts[ROUND] = 0
        state.counts[CLOSED] = k + 1


# simulation


@kernel
def shuffled_information(
    rng: Generator, rows: Array, users: int, state: Closed, link: Code, widths: Widths, sums: Sums
) -> Released:
    """The svec of the sum of weight x x' (weight 1 in batch 1, then the scaled slope, clipped), each user's rounded to
    the grid, with the coins of all users."""
    d = rows.shape[1]
    total, exact = Exact(np.zeros(packed_size(d))), np.empty(packed_size(d))
    for t in range(rows.shape[0]):
        weight = 1.0 if state.counts[CLOSED] == 0 else scaling(rows[t], link, state, widths)
        exact[:] = 0.0
        add_outer(rows[t], min(weight, sums.largest), exact)
        for i in range(exact.size):
            total[i] += math.floor(exact[i] * sums.information + rng.random())
    return with_coins(rng, total, sums.information, users * sums.matrix_coins, sums.chance)


@kernel
def shuffled_gradient(
    rng: Generator, rows: Array, values: Array, users: int, link: Code, theta: Array, sums: Sums
) -> Released:
    """The sum of (mu(<x, theta>) - r) x, each user's rounded to the grid, with the coins of all users."""
    d = theta.size
    total = Exact(np.zeros(d))
    for t in range(rows.shape[0]):
        z = 0.0
        for i in range(d):
            z += rows[t, i] * theta[i]
        residual = link_mean(link, z) - values[t]
        for i in range(d):
            total[i] += math.floor(residual * rows[t, i] * sums.gradient + rng.random())
    return with_coins(rng, total, sums.gradient, users * sums.coins, sums.chance)


@kernel
def shuffle_glm_close(
    rng: Generator, cohort: Cohort, users: int, state: RoundsState, link: Code, widths: Widths, sums: Sums, fit: Fit
) -> None:
    """All rounds of the open batch, whose `users` all report; those whose reward never came send coins alone. Changes
    state."""
    n = cohort.reports[0]
    rows, values = cohort.rows[:n], cohort.values[:n]
    take_sum(shuffled_information(rng, rows, users, state, link, widths, sums), users, fit, state)
    for _ in range(fit.gradients):
        take_sum(shuffled_gradient(rng, rows, values, users, link, state.iterate, sums), users, fit, state)


@kernel
def remember(x: Array, r: float, cohort: Cohort) -> None:
    """One more user whose reward came. Changes cohort."""
    n = cohort.reports[0]
    copy(x, cohort.rows[n])
    cohort.values[n] = r
    cohort.reports[0] = n + 1


@kernel
def shuffle_glm_rounds(
    policy: Generator,
    block: Block,
    state: Closed,
    cohort: Cohort,
    low: float,
    high: float,
    link: Code,
    widths: Widths,
    users: int,
    start: int,
) -> int:
    """ShuffleGLM, from round `start` up to the end of the block or of the batch of `users`. Returns the next round.
    Changes cohort and the block's out arrays."""
    weights = np.empty(block.arms.shape[1])
    for t in range(start, block.noise.size):
        if cohort.reports[0] >= users:
            return t
        batch_weights(block.arms[t], state, link, widths, weights)
        index = draw_arm(policy.random(), weights)
        if outcome(block, t, index):
            remember(block.arms[t, index], unit_reward(block.reward[t], low, high, link), cohort)
    return block.noise.size
