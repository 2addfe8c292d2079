"""Algorithm 1 of the shuffle paper: batches as in B-GLinCB, with shuffled sums for the information and for every
gradient of the optimiser. The rows of the open batch are what its users' devices remember.

A plan is a row (scale of the information, its trials, scale of a gradient, its trials, chance of a coin, iterations,
step, ridge, largest weight)."""

import math

import numpy as np

from tacit.kernels.batched import CLOSED, SEEN, batch_learn, batch_weights, draw, scaling
from tacit.kernels.compile import inlined, kernel
from tacit.kernels.formulas import link_mean
from tacit.kernels.linalg import ROOT2, invert
from tacit.kernels.mle import unit_reward
from tacit.kernels.rounds import BOUNDARY, CHOICES, outcome

MATRIX_SCALE, MATRIX_TRIALS, SCALE, STEP_TRIALS, CHANCE, ITERATIONS, STEP, RIDGE, LARGEST = range(9)


@inlined
def coins(rng, trials, chance):
    """Bin(trials, chance) - trials chance; a normal number of the same variance beyond 2^50 trials."""
    if trials < 1.0:
        return 0.0
    if trials < 1125899906842624.0:
        return np.float64(rng.binomial(np.int64(trials), chance)) - trials * chance
    return math.sqrt(trials * chance * (1.0 - chance)) * rng.standard_normal()


@kernel
def shuffled_information(rng, state, link, numbers, plan, out):
    """out <- sum of weight x x' over the open batch (weight 1 in batch 1, then the scaled slope, clipped), each user's
    svec rounded to the grid, with the coins of all: the law of the shuffled sum; plus ridge I."""
    n, k, d = state.counts[SEEN], state.counts[CLOSED], state.rows.shape[1]
    out[:] = 0.0
    for t in range(n):
        weight = 1.0 if k == 0 else scaling(state.rows[t], link, state, numbers)
        weight = min(weight, plan[LARGEST])
        for i in range(d):
            for j in range(i, d):
                value = weight * state.rows[t, i] * state.rows[t, j] * (1.0 if i == j else ROOT2)
                out[i, j] += math.floor(value * plan[MATRIX_SCALE] + rng.random())
    for i in range(d):
        for j in range(i, d):
            noisy = (out[i, j] + coins(rng, plan[MATRIX_TRIALS], plan[CHANCE])) / plan[MATRIX_SCALE]
            out[i, j] = noisy + plan[RIDGE] if i == j else noisy / ROOT2
            out[j, i] = out[i, j]


@kernel
def shuffled_gradient(rng, rows, values, link, theta, plan, out):
    """out <- the sum of (mu(<x, theta>) - r) x, clipped to norm 1, each user's rounded to the grid, with the coins of
    all: the law of the shuffled sum."""
    d = theta.size
    out[:] = 0.0
    for t in range(rows.shape[0]):
        z = 0.0
        for i in range(d):
            z += rows[t, i] * theta[i]
        residual = min(max(link_mean(link, z) - values[t], -1.0), 1.0)
        for i in range(d):
            out[i] += math.floor(residual * rows[t, i] * plan[SCALE] + rng.random())
    for i in range(d):
        out[i] = (out[i] + coins(rng, plan[STEP_TRIALS], plan[CHANCE])) / plan[SCALE]


@kernel
def shuffled_descent(rng, rows, values, people, link, radius, plan, theta):
    """P_GD: theta <- the mean of iterates theta_{t+1} = project(theta_t - step (shuffled gradient sum + ridge theta_t)
    / people), started at 0. people: of the batch, which is public; how many of them answered is not."""
    d = theta.size
    iterate, total, gradient = np.zeros(d), np.zeros(d), np.empty(d)
    count = int(plan[ITERATIONS])
    for _ in range(count):
        for i in range(d):
            total[i] += iterate[i]
        shuffled_gradient(rng, rows, values, link, iterate, plan, gradient)
        square = 0.0
        for i in range(d):
            iterate[i] -= plan[STEP] * (gradient[i] + plan[RIDGE] * iterate[i]) / people
            square += iterate[i] * iterate[i]
        if square > radius * radius:
            for i in range(d):
                iterate[i] *= radius / math.sqrt(square)
    for i in range(d):
        theta[i] = total[i] / count


@kernel
def shuffle_glm_close(rng, state, link, numbers, ends, plans):
    """Close the open batch: its information, its estimate, the next boundary. Eigenvalues below the ridge are raised to
    it, since noise may have taken them anywhere."""
    n, k, d = state.counts[SEEN], state.counts[CLOSED], state.rows.shape[1]
    matrix = np.empty((d, d))
    shuffled_information(rng, state, link, numbers, plans[k], matrix)
    roots, axes = np.linalg.eigh(matrix)
    floored = np.empty((d, d))
    for i in range(d):
        for j in range(d):
            s = 0.0
            for a in range(d):
                s += axes[i, a] * max(roots[a], plans[k, RIDGE]) * axes[j, a]
            floored[i, j] = s
    invert(floored, state.inverses[k])
    people = ends[k] - (ends[k - 1] if k > 0 else 0)
    shuffled_descent(rng, state.rows[:n], state.values[:n], people, link, numbers[2], plans[k], state.thetas[k])
    state.counts[SEEN] = 0
    state.counts[CLOSED] = k + 1
    state.counts[BOUNDARY] = ends[k + 1]


@kernel
def shuffle_glm_rounds(policy, rng, block, state, bounds, link, numbers, ends, plans):
    """ShuffleGLM. Changes state and the block's out arrays."""
    weights = np.empty(block.arms.shape[1])
    for t in range(block.noise.size):
        if state.counts[CHOICES] >= state.counts[BOUNDARY]:
            shuffle_glm_close(rng, state, link, numbers, ends, plans)
        batch_weights(block.arms[t], state, link, numbers, weights)
        index = draw(policy.random(), weights)
        if outcome(block, t, index):
            state.counts[CHOICES] += 1
            batch_learn(block.arms[t, index], unit_reward(block.reward[t], bounds[0], bounds[1], link), state)
