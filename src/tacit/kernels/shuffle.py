"""Shuffled sums in simulation: every user's rounding and coins, drawn as the device draws them, and what a server makes
of a batch.

A plan is a row of numbers (users, grid cells per unit, reach, trials, Laplace scale in cells): see
mechanisms.shuffle.calibration."""

import math
from typing import Any, NamedTuple

import numpy as np

from tacit.kernels.compile import inlined, kernel
from tacit.kernels.glm import Posterior
from tacit.kernels.linalg import square_norm

PLANNED, GRID, REACH, TRIALS, LAPLACE = 0, 1, 2, 3, 4
USERS, BATCH = 0, 1


class ShuffleState(NamedTuple):
    """Public: functions of shuffled sums."""

    counts: Any  # int64[2]: users of closed batches, closed batches
    sums: Any  # (m,): of all closed batches; ShuffleNewton: what they told, (svec(information), information theta)
    variance: Any  # float64[1]: of the noise in each coordinate of the sums
    spent: Any  # float64[1]: the largest epsilon of a closed batch, recomputed from those who reported
    posterior: Posterior


class OpenBatch(NamedTuple):
    """What the shuffler holds."""

    reports: Any  # int64[1]
    sums: Any  # int64[m]


@inlined
def ones(uniform):
    """The number of ones among the 53 bits of a uniform number of 53 bits."""
    word = np.uint64(uniform * 9007199254740992.0)
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inlined
def randomize(rng, vector, plan, sums):
    """sums += the integers of one user's report: floor(grid v + U) + reach + Bin(trials, 1/2), coordinate by
    coordinate; first all U, then all coins, 53 from each uniform number."""
    whole, rest = int(plan[TRIALS]) // 53, int(plan[TRIALS]) % 53
    last = 2.0**-53 * 2.0**rest  # only the `rest` lowest bits count
    for i in range(vector.size):
        sums[i] += np.int64(math.floor(vector[i] * plan[GRID] + rng.random())) + np.int64(plan[REACH])
    for i in range(vector.size):
        for _ in range(whole):
            sums[i] += ones(rng.random())
        u = rng.random() / last
        sums[i] += ones((u - math.floor(u)) * last)
    if plan[LAPLACE] > 0.0:
        for i in range(vector.size):
            up = math.floor(-plan[LAPLACE] * math.log(1.0 - rng.random()))
            sums[i] += np.int64(up) - np.int64(math.floor(-plan[LAPLACE] * math.log(1.0 - rng.random())))


@kernel
def unshuffle(reports, sums, plan, out):
    """out = (sum - reports (reach + trials / 2)) / grid, for a shuffled batch. Returns the variance of its noise in
    each coordinate, reports ((trials + 1) / 4 + 2 laplace^2) / grid^2 at most."""
    for i in range(sums.size):
        out[i] = (np.float64(sums[i]) - reports * (plan[REACH] + 0.5 * plan[TRIALS])) / plan[GRID]
    return reports * ((plan[TRIALS] + 1.0) / 4.0 + 2.0 * plan[LAPLACE] ** 2) / plan[GRID] ** 2


@kernel
def close_batch(reports, sums, plan, state):
    """Add a shuffled batch to those before. Changes state but for the posterior."""
    fresh = np.empty(sums.size)
    state.variance[0] += unshuffle(reports, sums, plan, fresh)
    for i in range(sums.size):
        state.sums[i] += fresh[i]
    state.counts[USERS] += reports
    state.counts[BATCH] += 1


@kernel
def optimistic_arm(arms, posterior, width):
    """argmax over arms of <x, theta> + width |x|_{P^-1}."""
    best, index = -np.inf, 0
    for a in range(arms.shape[0]):
        value = 0.0
        for i in range(arms.shape[1]):
            value += arms[a, i] * posterior.theta[i]
        if width > 0.0:
            value += width * math.sqrt(max(square_norm(arms[a], posterior.inverse), 0.0))
        if value > best:
            best, index = value, a
    return index


@kernel
def surviving(arms, posterior, width, alive):
    """alive[a] = whether no arm is shown to be better: <x, theta> + width |x| >= every <y, theta> - width |y|,
    |.| in P^-1."""
    count, d = arms.shape
    upper, floor = np.empty(count), -np.inf
    for a in range(count):
        z = 0.0
        for i in range(d):
            z += arms[a, i] * posterior.theta[i]
        half = width * math.sqrt(max(square_norm(arms[a], posterior.inverse), 0.0))
        upper[a] = z + half
        floor = max(floor, z - half)
    for a in range(count):
        alive[a] = upper[a] >= floor


@inlined
def draw(uniform, weights):
    """The arm whose share of [0, 1) holds `uniform`; never one of weight 0."""
    index, passed = 0, 0.0
    for a in range(weights.size):
        if weights[a] > 0.0:
            index = a
            passed += weights[a]
            if uniform < passed:
                break
    return index
