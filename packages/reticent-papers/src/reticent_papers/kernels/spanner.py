"""A few arms that span the rest with bounded coefficients, and rounds played among them."""

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Booleans, Integers
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.rounds import BOUNDARY, CHOICES, Range, draw_arm, outcome
from reticent.model.glm import in_units
from reticent.model.links import Code
from reticent_papers.kernels.batched import BatchState, Closed, batch_learn, survivors

FLAT = 1e-9  # relative length below which a residual counts as zero
SWAPS = 10_000  # at most; a few are made


@kernel
def spanner(arms: Array, alive: Booleans, factor: float, chosen: Integers) -> tuple[int, float]:
    """chosen[:rank] <- arms among those alive whose combinations with coefficients in [-factor, factor] give all of
    them (up to FLAT). Returns (rank, the largest coefficient): the second certifies the first.

    Greedy Gram-Schmidt picks a basis; while some arm has a coefficient above `factor`, it takes that basis arm's
    place, which multiplies the volume by the coefficient: at most log(volume) / log(factor) swaps."""
    count, d = arms.shape
    rest, axes = arms.copy(), np.zeros((min(count, d), d))
    rank, scale = 0, 0.0
    while rank < axes.shape[0]:
        best, longest = -1, 0.0
        for a in range(count):
            if alive[a]:
                s = 0.0
                for i in range(d):
                    s += rest[a, i] * rest[a, i]
                if s > longest:
                    best, longest = a, s
        if rank == 0:
            scale = longest
        if best < 0 or longest <= FLAT * FLAT * scale:
            break
        for i in range(d):
            axes[rank, i] = rest[best, i] / np.sqrt(longest)
        for a in range(count):
            s = 0.0
            for i in range(d):
                s += rest[a, i] * axes[rank, i]
            for i in range(d):
                rest[a, i] -= s * axes[rank, i]
        chosen[rank] = best
        rank += 1
    inside = np.zeros((count, rank))  # coordinates along the axes, then coefficients in the basis
    for a in range(count):
        for j in range(rank):
            for i in range(d):
                inside[a, j] += arms[a, i] * axes[j, i]
    basis = np.zeros((rank, rank))
    for j in range(rank):
        basis[j] = inside[chosen[j]]
    for a in range(count):
        for j in range(rank - 1, -1, -1):
            s = inside[a, j]
            for i in range(j + 1, rank):
                s -= inside[a, i] * basis[i, j]
            inside[a, j] = s / basis[j, j]
    largest = 0.0
    for _ in range(SWAPS):
        arm, place, largest = -1, 0, 0.0
        for a in range(count):
            if alive[a]:
                for j in range(rank):
                    if abs(inside[a, j]) > largest:
                        arm, place, largest = a, j, abs(inside[a, j])
        if largest <= factor:
            break
        chosen[place] = arm
        row = inside[arm].copy()
        for a in range(count):
            share = inside[a, place] / row[place]
            for j in range(rank):
                inside[a, j] -= share * row[j]
            inside[a, place] = share
    return rank, largest


@kernel
def span_weights(arms: Array, state: Closed, factor: float, weights: Array) -> None:
    """weights[a] = the probability of arm a: equal ones on a spanner of those that no closed epoch rules out."""
    count = arms.shape[0]
    alive, chosen = np.empty(count, np.bool_), np.empty(count, np.int64)
    left = survivors(arms, state, 1.0, 1.0, alive)  # the state's matrices have the widths in them
    rank, _ = spanner(arms, alive, factor, chosen)
    if rank == 0:
        for a in range(count):
            weights[a] = 1.0 / left if alive[a] else 0.0
        return
    for a in range(count):
        weights[a] = 0.0
    for j in range(rank):
        weights[chosen[j]] = 1.0 / rank


@kernel
def span_rows(rng: Generator, arms: Array, state: Closed, factor: float, out: Integers) -> None:
    weights = np.empty(arms.shape[1])
    for i in range(arms.shape[0]):
        span_weights(arms[i], state, factor, weights)
        out[i] = draw_arm(rng.random(), weights)


@kernel
def span_rounds(
    rng: Generator, block: Block, state: BatchState, rewards: Range, link: Code, factor: float, start: int
) -> int:
    """JointReweighted, from round `start` up to the end of the block or of the epoch. Returns the next round. Changes
    state and the block's out arrays."""
    weights = np.empty(block.arms.shape[1])
    for t in range(start, block.noise.size):
        if state.counts[CHOICES] >= state.counts[BOUNDARY]:
            return t
        span_weights(block.arms[t], state, factor, weights)
        index = draw_arm(rng.random(), weights)
        if outcome(block, t, index):
            state.counts[CHOICES] += 1
            r = in_units(block.reward[t], link, rewards.low, rewards.high)
            batch_learn(block.arms[t, index], r, state)
    return block.noise.size
