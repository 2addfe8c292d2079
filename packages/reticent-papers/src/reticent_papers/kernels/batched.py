"""B-GLinCB: a few batches; in each one an optimal design over the arms that no earlier batch rules out."""

import math
from typing import NamedTuple, Protocol

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Booleans, Exact, Integers
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.linalg import copy, invert, square_norm
from reticent.kernels.rounds import BOUNDARY, CHOICES, Range, draw_arm, outcome
from reticent.model.glm import unit_reward
from reticent.model.links import Code
from reticent_devices.kernels.design import information, uniform
from reticent_papers.kernels.links import link_slope
from reticent_papers.kernels.mle import newton

SEEN, CLOSED = 2, 3
SWEEPS = 10  # of the multiplicative algorithm


class Widths(NamedTuple):
    """Of the intervals that rule arms out."""

    first: float  # in standard deviations of batch 1, whose matrix has no slopes
    later: float
    radius: float  # S


class Closed(Protocol):
    """What the closed batches leave behind, and all that arms are chosen by."""

    @property
    def counts(self) -> Integers: ...  # (4,), the last one: batches closed
    @property
    def thetas(self) -> Array: ...  # (batches, d): estimate of each closed batch
    @property
    def inverses(self) -> Array: ...  # (batches, d, d): the shape of its intervals


class BatchState(NamedTuple):
    """Closed, and the data of the open batch."""

    counts: Integers  # (4,): choices, the choice count at which the batch closes, its observations, batches closed
    rows: Exact  # (horizon, d): arms of the open batch
    values: Exact  # (horizon,): their rewards in units of the link
    thetas: Array
    inverses: Array  # (information of each closed batch + ridge I)^-1


@kernel
def d_optimal(arms: Array, scales: Array, alive: Booleans, weights: Array) -> None:
    """weights <- a nearly D-optimal (so G-optimal) design on sqrt(scale) x over those alive, by the multiplicative
    algorithm: w_a <- w_a scale_a |x_a|^2_{M(w)^-1} / d."""
    count, d = arms.shape
    matrix, inverse = np.empty((d, d)), np.empty((d, d))
    uniform(alive, weights)
    for _ in range(SWEEPS):
        information(arms, scales, weights, matrix)
        invert(matrix, inverse)
        mass = 0.0
        for a in range(count):
            weights[a] *= scales[a] * square_norm(arms[a], inverse)
            mass += weights[a]
        if not mass > 0.0:
            uniform(alive, weights)
            return
        for a in range(count):
            weights[a] /= mass


@kernel
def scaling(x: Array, link: Code, state: Closed, widths: Widths) -> float:
    """mu'(<x, theta_1>) / exp(min(2 S, first width |x|_{V^-1})): a lower bound on the slope at theta*, once batch 1 is
    closed."""
    z = 0.0
    for i in range(x.size):
        z += x[i] * state.thetas[0, i]
    half = widths.first * math.sqrt(max(square_norm(x, state.inverses[0]), 0.0))
    return link_slope(link, z) * math.exp(-min(2.0 * widths.radius, half))


@kernel
def survivors(arms: Array, state: Closed, first: float, later: float, alive: Booleans) -> int:
    """alive[a] = whether no closed batch shows another arm to be better: <x, theta_k> + width |x|_k is at least every
    <x, theta_k> - width |x|_k among those alive. Returns their number."""
    count, d = arms.shape
    upper = np.empty(count)
    alive[:] = True
    for k in range(state.counts[CLOSED]):
        width = first if k == 0 else later
        floor = -np.inf
        for a in range(count):
            z = 0.0
            for i in range(d):
                z += arms[a, i] * state.thetas[k, i]
            half = width * math.sqrt(max(square_norm(arms[a], state.inverses[k]), 0.0))
            upper[a] = z + half
            if alive[a]:
                floor = max(floor, z - half)
        for a in range(count):
            alive[a] = alive[a] and upper[a] >= floor
    left = 0
    for a in range(count):
        left += alive[a]
    return left


@kernel
def batch_weights(arms: Array, state: Closed, link: Code, widths: Widths, weights: Array) -> None:
    """weights[a] = the probability of arm a at this state."""
    count = arms.shape[0]
    alive, scales = np.empty(count, np.bool_), np.ones(count)
    survivors(arms, state, widths.first, widths.later, alive)
    if state.counts[CLOSED] > 0:
        for a in range(count):
            scales[a] = scaling(arms[a], link, state, widths)
    d_optimal(arms, scales, alive, weights)


@kernel
def batch_rows(rng: Generator, arms: Array, state: Closed, link: Code, widths: Widths, out: Integers) -> None:
    weights = np.empty(arms.shape[1])
    for i in range(arms.shape[0]):
        batch_weights(arms[i], state, link, widths, weights)
        out[i] = draw_arm(rng.random(), weights)


@kernel
def batch_close(state: BatchState, link: Code, ridge: float, widths: Widths, ends: Integers) -> None:
    """Close the open batch: its estimate, its information (x x' in batch 1, then scaled), and the next boundary."""
    counts, rows, values, thetas, inverses = state
    n, k, d = counts[SEEN], counts[CLOSED], rows.shape[1]
    matrix, unused = ridge * np.eye(d), np.empty((d, d))
    for t in range(n):
        weight = 1.0 if k == 0 else scaling(rows[t], link, state, widths)
        for i in range(d):
            for j in range(d):
                matrix[i, j] += weight * rows[t, i] * rows[t, j]
    if k > 0:
        thetas[k] = thetas[k - 1]
    newton(rows[:n], values[:n], link, ridge, False, thetas[k], unused)
    invert(matrix, inverses[k])
    counts[SEEN] = 0
    counts[CLOSED] = k + 1
    counts[BOUNDARY] = ends[k + 1]


@kernel
def batch_learn(x: Array, r: float, state: BatchState) -> None:
    n = state.counts[SEEN]
    copy(x, state.rows[n])
    state.values[n] = r
    state.counts[SEEN] = n + 1


@kernel
def batch_rounds(
    rng: Generator,
    block: Block,
    state: BatchState,
    rewards: Range,
    link: Code,
    ridge: float,
    widths: Widths,
    ends: Integers,
) -> None:
    """BGLinCB. Changes state and the block's out arrays."""
    weights = np.empty(block.arms.shape[1])
    for t in range(block.noise.size):
        if state.counts[CHOICES] >= state.counts[BOUNDARY]:
            batch_close(state, link, ridge, widths, ends)
        batch_weights(block.arms[t], state, link, widths, weights)
        index = draw_arm(rng.random(), weights)
        if outcome(block, t, index):
            state.counts[CHOICES] += 1
            batch_learn(block.arms[t, index], unit_reward(block.reward[t], rewards.low, rewards.high, link), state)
