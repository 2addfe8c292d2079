"""ShuffleLinUCB: optimism on shuffled sums of x x' and y x."""

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Coded, Exact
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.formulas import add_linear
from reticent.kernels.linalg import invert, smat
from reticent.kernels.rounds import outcome
from reticent_devices.bandits.shuffle.batches_kernel import BATCH, ShuffleState, open_batch, optimistic_arm
from reticent_devices.mechanisms.shuffle.calibration import Plans, ShufflePlan
from reticent_devices.mechanisms.shuffle.sums_kernel import OpenBatch, plan_of, randomize


class Settings(NamedTuple):
    low: float  # of rewards
    high: float
    scale: float  # of the moment within a contribution
    ridge: float
    spread: float  # of the noise matrix's eigenvalues, in standard deviations of the noise
    width: float


@kernel
def floored_inverse(matrix: Array, least: float, out: Array) -> None:
    """out <- the inverse of `matrix` with eigenvalues below `least` raised to it: noise may have put them anywhere."""
    d = matrix.shape[0]
    roots, axes = np.linalg.eigh(matrix)
    floored = np.empty((d, d))
    for i in range(d):
        for j in range(d):
            s = 0.0
            for a in range(d):
                s += axes[i, a] * max(roots[a], least) * axes[j, a]
            floored[i, j] = s
    invert(floored, out)


@kernel
def linear_close(reports: int, sums: Coded, plan: ShufflePlan, settings: Settings, state: ShuffleState) -> None:
    """Add a shuffled batch to those before, and renew the estimate: V = sums of x x' + (ridge + spread std) I,
    eigenvalues at least the ridge; theta = V^-1 (sum of y x); std is that of the noise so far. Changes state."""
    fresh, variance = open_batch(reports, sums, plan, state)
    state.variance[0] += variance
    for i in range(fresh.size):
        state.sums[i] += fresh[i]
    d = state.posterior.theta.size
    packed = d * (d + 1) // 2
    matrix = np.empty((d, d))
    smat(state.sums[:packed], matrix)
    for i in range(d):
        matrix[i, i] += settings.ridge + settings.spread * math.sqrt(state.variance[0])
    floored_inverse(matrix, settings.ridge, state.posterior.inverse)
    for i in range(d):
        s = 0.0
        for j in range(d):
            s += state.posterior.inverse[i, j] * state.sums[packed + j]
        state.posterior.theta[i] = s / settings.scale


@kernel
def shuffle_linear_rounds(
    rng: Generator, block: Block, state: ShuffleState, transit: OpenBatch, plans: Plans, settings: Settings
) -> None:
    """Changes state, transit and the block's out arrays."""
    vector = Exact(np.empty(transit.sums.size))
    plan = plan_of(plans, state.counts[BATCH])
    for t in range(block.noise.size):
        if transit.reports[0] >= plan.users:
            linear_close(transit.reports[0], transit.sums, plan, settings, state)
            plan = plan_of(plans, state.counts[BATCH])
            transit.reports[0] = 0
            transit.sums[:] = 0
        index = optimistic_arm(block.arms[t], state.posterior, settings.width)
        if outcome(block, t, index):
            vector[:] = 0.0
            x, y = block.arms[t, index], block.reward[t]
            add_linear(x, y, settings.scale, settings.low, settings.high, vector)
            randomize(rng, vector, plan, transit.sums)
            transit.reports[0] += 1
