"""Optimism in the mean reward, mu(<x, theta>) + width |x|_{V^-1}, with V = sum of x x': GLM-UCB."""

import math
from typing import NamedTuple

import numpy as np

from reticent.data import Array, Exact, Integers
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.formulas import link_mean
from reticent.kernels.linalg import grow, square_norm
from reticent.kernels.linear import RidgeEstimate
from reticent.kernels.rounds import CHOICES, Range, outcome
from reticent.model.glm import unit_reward
from reticent.model.links import Code
from reticent_papers.kernels.mle import MLEState, record


class MeanState(NamedTuple):
    """MLEState, and a matrix more."""

    counts: Integers
    rows: Exact
    values: Exact
    estimate: RidgeEstimate
    design: Array  # (d, d): V^-1


@kernel
def mean_optimistic(arms: Array, theta: Array, inverse: Array, link: Code, width: float) -> int:
    """argmax over arms of mu(<x, theta>) + width |x|_inverse; the first one of equals."""
    best, index = -np.inf, 0
    for a in range(arms.shape[0]):
        z = 0.0
        for i in range(theta.size):
            z += arms[a, i] * theta[i]
        value = link_mean(link, z) + width * math.sqrt(max(square_norm(arms[a], inverse), 0.0))
        if value > best:
            best, index = value, a
    return index


@kernel
def mean_choose(arms: Array, state: MeanState, link: Code, width: float) -> int:
    """The choice after counts[CHOICES] = t - 1 others: the width grows as sqrt(log t)."""
    w = width * math.sqrt(math.log(state.counts[CHOICES] + 1.0))
    return mean_optimistic(arms, state.estimate.theta, state.design, link, w)


@kernel
def mean_rows(arms: Array, state: MeanState, link: Code, width: float, out: Integers) -> None:
    for i in range(arms.shape[0]):
        out[i] = mean_choose(arms[i], state, link, width)


@kernel
def mean_learn(x: Array, r: float, link: Code, ridge: float, state: MeanState) -> None:
    """Keep one observation, r in units of the link."""
    record(x, r, link, ridge, False, MLEState(state.counts, state.rows, state.values, state.estimate))
    grow(x, 1.0, state.design)


@kernel
def mean_rounds(block: Block, state: MeanState, rewards: Range, link: Code, ridge: float, width: float) -> None:
    """GLMUCB. Changes state and the block's out arrays."""
    for t in range(block.noise.size):
        index = mean_choose(block.arms[t], state, link, width)
        if outcome(block, t, index):
            state.counts[CHOICES] += 1
            r = unit_reward(block.reward[t], rewards.low, rewards.high, link)
            mean_learn(block.arms[t, index], r, link, ridge, state)
