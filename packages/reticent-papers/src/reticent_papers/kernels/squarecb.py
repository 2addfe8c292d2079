"""SquareCB on a linear predictor, with gradient steps of which no d x d matrix is ever made."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Exact, Integers, Released
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.rounds import BOUNDARY, CHOICES, draw_arm, outcome


class SquareState(NamedTuple):
    """`theta` is raw until it is released into `played`."""

    counts: Integers  # (4,): choices, the choice count at which the step closes, steps closed, epochs closed
    played: Released  # (d,): the estimate that arms are chosen by
    theta: Exact  # (d,): the iterate of the open epoch
    greed: Array  # (1,): gamma of the weights over sqrt K
    step: Array  # (1,): of a gradient


@kernel
def gap_weights(arms: Array, played: Released, greed: float, weights: Array) -> None:
    """weights[a] = 1 / (K + gamma (f_best - f_a)), gamma = greed sqrt K, and the rest for the best."""
    count, d = arms.shape
    gamma = greed * np.sqrt(float(count))
    best, top = 0, -np.inf
    for a in range(count):
        f = 0.0
        for i in range(d):
            f += arms[a, i] * played[i]
        weights[a] = f
        if f > top:
            best, top = a, f
    rest = 1.0
    for a in range(count):
        if a != best:
            weights[a] = 1.0 / (count + gamma * (top - weights[a]))
            rest -= weights[a]
    weights[best] = rest


@kernel
def gap_rows(rng: Generator, arms: Array, played: Released, greed: float, out: Integers) -> None:
    weights = np.empty(arms.shape[1])
    for i in range(arms.shape[0]):
        gap_weights(arms[i], played, greed, weights)
        out[i] = draw_arm(rng.random(), weights)


@kernel
def gradient_step(x: Array, r: float, step: float, clip: float, theta: Exact) -> None:
    """theta <- the projection of theta - step x (<x, theta> - r) on |theta| <= clip: a contraction for step <= 2. x is
    first shrunk into the unit ball."""
    d = x.size
    s, z = 0.0, 0.0
    for i in range(d):
        s += x[i] * x[i]
        z += x[i] * theta[i]
    shrink = 1.0 / max(1.0, np.sqrt(s))
    move = step * shrink * (shrink * z - r)
    s = 0.0
    for i in range(d):
        theta[i] -= move * x[i]
        s += theta[i] * theta[i]
    if s > clip * clip:
        factor = clip / np.sqrt(s)
        for i in range(d):
            theta[i] *= factor


@kernel
def joint_square_rounds(
    policy: Generator, block: Block, state: SquareState, unit: float, clip: float, start: int
) -> int:
    """JointSquareCB, from round `start` up to the end of the block or of the epoch. Returns the next round. Changes
    state and the block's out arrays."""
    weights = np.empty(block.arms.shape[1])
    for t in range(start, block.noise.size):
        if state.counts[CHOICES] >= state.counts[BOUNDARY]:
            return t
        gap_weights(block.arms[t], state.played, state.greed[0], weights)
        index = draw_arm(policy.random(), weights)
        if outcome(block, t, index):
            state.counts[CHOICES] += 1
            gradient_step(block.arms[t, index], block.reward[t] / unit, state.step[0], clip, state.theta)
    return block.noise.size
