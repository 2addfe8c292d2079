"""ShuffleSBLB: optimism on debiased sums of bits, renewed when the determinant has grown."""

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Coded, Exact, Integers, Released
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.glm import Posterior
from reticent.kernels.linalg import copy, invert
from reticent.kernels.rounds import outcome
from reticent.model.vectors import shortened
from reticent_devices.bandits.shuffle.batches_kernel import BATCH, USERS, optimistic_arm
from reticent_devices.mechanisms.shuffle.calibration import Plans, ShufflePlan
from reticent_devices.mechanisms.shuffle.sums_kernel import OpenBatch, plan_of, unshuffle
from reticent_papers.mechanisms.flips_kernel import flip

LOGDET, WIDTH = 0, 1


class SBLBSettings(NamedTuple):
    largest: float  # reward, in size
    radius: float  # S
    subgaussian: float  # sigma, in units of the largest reward
    ridge: float  # lambda
    failure: float  # delta of the paper
    threshold: float  # ln(1 + eta)
    width_scale: float


class SBLBState(NamedTuple):
    """Public: functions of shuffled sums."""

    counts: Integers  # (2,): users of closed batches, closed batches
    sums: Released  # (m,): of x x' / 2, its upper triangle row by row, and of r x / 2, over all closed batches
    spent: Array  # (1,): the largest epsilon of a closed batch, recomputed from those who reported
    held: Array  # (2,): log det V_j and beta_j, of the estimate that devices choose by
    posterior: Posterior  # of it, theta_j and the inverse of V_j


@kernel
def ridge_at(t: float, plan: ShufflePlan, settings: SBLBSettings) -> float:
    """lambda_j, eq. (8): sqrt(8 t ln(2 t / delta)) (1 / m + 2 / ((1 - p) sqrt m)) + lambda."""
    m = float(plan.trials)
    kept = plan.scale / m
    noise = math.sqrt(8.0 * t * math.log(2.0 * t / settings.failure)) * (1.0 / m + 2.0 / (kept * math.sqrt(m)))
    return settings.width_scale * noise + settings.ridge


@kernel
def width_at(t: float, d: int, plan: ShufflePlan, settings: SBLBSettings) -> float:
    """beta_j, eq. (7) with L = 1, in units of the largest reward."""
    m = float(plan.trials)
    p = 1.0 - plan.scale / m
    ridge, logs = ridge_at(t, plan, settings), math.log(2.0 * t / settings.failure)
    rewards = settings.subgaussian * math.sqrt(8.0 * logs + d * math.log(3.0 + t / ridge))
    coins = 2.0 * math.sqrt(p * (1.0 - p / 2.0) * t * m * logs) + 8.0 * logs / 3.0 + math.sqrt(8.0 * t * logs) / m
    prior = settings.radius / settings.largest * math.sqrt(3.0 * ridge)
    return settings.width_scale * (rewards + prior + d / math.sqrt(ridge) * coins)


@kernel
def sblb_close(reports: int, sums: Coded, plan: ShufflePlan, settings: SBLBSettings, state: SBLBState) -> None:
    """Add a shuffled batch to those before: V = sums of x x' / 2 + (2 lambda_t - lambda) I, B = sums of r x / 2. If
    det V is 1 + eta times that of the present estimate, or more: theta = V^-1 B, and the width is renewed. Changes
    state."""
    fresh, _ = unshuffle(reports, sums, plan)
    state.counts[USERS] += reports
    state.counts[BATCH] += 1
    for i in range(fresh.size):
        state.sums[i] += fresh[i]
    d, t = state.posterior.theta.size, float(state.counts[USERS])
    matrix, inverse = np.empty((d, d)), np.empty((d, d))
    added, k = 2.0 * ridge_at(t, plan, settings) - settings.ridge, 0
    for i in range(d):
        for j in range(i, d):
            matrix[i, j] = matrix[j, i] = state.sums[k]
            k += 1
        matrix[i, i] += added
    logdet = invert(matrix, inverse)
    if logdet >= state.held[LOGDET] + settings.threshold:  # not if noise left a negative eigenvalue: NaN
        state.held[LOGDET] = logdet
        state.held[WIDTH] = settings.largest * width_at(t, d, plan, settings)
        copy(inverse, state.posterior.inverse)
        for i in range(d):
            s = 0.0
            for j in range(d):
                s += inverse[i, j] * state.sums[k + j]
            state.posterior.theta[i] = settings.largest * s


@kernel
def sblb_rounds(
    rng: Generator, block: Block, state: SBLBState, transit: OpenBatch, plans: Plans, settings: SBLBSettings
) -> None:
    """Changes state, transit and the block's out arrays."""
    values = Exact(np.empty(transit.sums.size))
    d = block.arms.shape[2]
    plan = plan_of(plans, state.counts[BATCH])
    for t in range(block.noise.size):
        if transit.reports[0] >= plan.users:
            sblb_close(transit.reports[0], transit.sums, plan, settings, state)
            plan = plan_of(plans, state.counts[BATCH])
            transit.reports[0] = 0
            transit.sums[:] = 0
        index = optimistic_arm(block.arms[t], state.posterior, state.held[WIDTH])
        if outcome(block, t, index):
            x, r, k = shortened(block.arms[t, index]), block.reward[t] / settings.largest, 0
            for i in range(d):
                for j in range(i, d):
                    values[k] = 0.5 * (x[i] * x[j]) + 0.5
                    k += 1
            for i in range(d):
                values[k + i] = 0.5 * (r * x[i]) + 0.5
            flip(rng, values, plan, transit.sums)
            transit.reports[0] += 1
