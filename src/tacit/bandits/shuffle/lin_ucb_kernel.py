"""ShuffleLinUCB: optimism on shuffled sums of x x' and y x."""

import math

import numpy as np

from tacit.kernels.compile import kernel
from tacit.kernels.formulas import add_linear
from tacit.kernels.linalg import invert, smat
from tacit.kernels.rounds import outcome
from tacit.kernels.shuffle import BATCH, PLANNED, close_batch, optimistic_arm, randomize


@kernel
def linear_fit(state, settings):
    """V = sums of x x' + (ridge + spread std) I, eigenvalues at least the ridge; theta = V^-1 (sum of y x).
    settings = (low, high, scale, ridge, spread, width); std is that of the noise so far."""
    scale, least, spread = settings[2], settings[3], settings[4]
    d = state.posterior.theta.size
    packed = d * (d + 1) // 2
    matrix = np.empty((d, d))
    smat(state.sums[:packed], matrix)
    for i in range(d):
        matrix[i, i] += least + spread * math.sqrt(state.variance[0])
    roots, axes = np.linalg.eigh(matrix)
    for i in range(d):
        for j in range(d):
            s = 0.0
            for a in range(d):
                s += axes[i, a] * max(roots[a], least) * axes[j, a]
            matrix[i, j] = s
    invert(matrix, state.posterior.inverse)
    for i in range(d):
        s = 0.0
        for j in range(d):
            s += state.posterior.inverse[i, j] * state.sums[packed + j]
        state.posterior.theta[i] = s / scale


@kernel
def shuffle_linear_rounds(rng, block, state, transit, plans, settings):
    """Changes state, transit and the block's out arrays."""
    vector = np.empty(transit.sums.size)
    for t in range(block.noise.size):
        if transit.reports[0] >= plans[state.counts[BATCH], PLANNED]:
            close_batch(transit.reports[0], transit.sums, plans[state.counts[BATCH]], state)
            linear_fit(state, settings)
            transit.reports[0] = 0
            transit.sums[:] = 0
        index = optimistic_arm(block.arms[t], state.posterior, settings[5])
        if outcome(block, t, index):
            vector[:] = 0.0
            add_linear(block.arms[t, index], block.reward[t], settings[2], settings[0], settings[1], vector)
            randomize(rng, vector, plans[state.counts[BATCH]], transit.sums)
            transit.reports[0] += 1
