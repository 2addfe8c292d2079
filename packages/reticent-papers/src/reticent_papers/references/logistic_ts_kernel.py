"""LogisticTS: choices by draws from the Laplace approximation of the posterior."""

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Integers
from reticent.kernels.block import Block
from reticent.kernels.compile import inlined, kernel
from reticent.kernels.glm import best_arm
from reticent.kernels.linalg import cholesky
from reticent.kernels.linear import RidgeEstimate
from reticent.kernels.rounds import CHOICES, Range, outcome
from reticent.model.glm import unit_reward
from reticent.model.links import Code
from reticent_papers.kernels.mle import MLEState, record


@inlined
def laplace(rng: Generator, arms: Array, estimate: RidgeEstimate, scale: float, lower: Array, target: Array) -> int:
    """argmax over arms of <x, theta + scale L g>, L L' = inverse, g normal; lower and target are overwritten."""
    d = target.size
    cholesky(estimate.inverse, lower)
    for i in range(d):
        target[i] = estimate.theta[i]
    for j in range(d):
        draw = scale * rng.standard_normal()
        for i in range(j, d):
            target[i] += draw * lower[i, j]
    return best_arm(arms, target)


@kernel
def laplace_rows(rng: Generator, arms: Array, estimate: RidgeEstimate, scale: float, out: Integers) -> None:
    """out[i] = a choice for user i, from a draw of its own."""
    d = estimate.theta.size
    lower, target = np.zeros((d, d)), np.empty(d)
    for i in range(arms.shape[0]):
        out[i] = laplace(rng, arms[i], estimate, scale, lower, target)


@kernel
def laplace_rounds(
    rng: Generator, block: Block, state: MLEState, rewards: Range, link: Code, ridge: float, scale: float
) -> None:
    """LogisticTS. Changes state and the block's out arrays."""
    d = state.estimate.theta.size
    lower, target = np.zeros((d, d)), np.empty(d)
    for t in range(block.noise.size):
        index = laplace(rng, block.arms[t], state.estimate, scale, lower, target)
        if outcome(block, t, index):
            state.counts[CHOICES] += 1
            r = unit_reward(block.reward[t], rewards.low, rewards.high, link)
            record(block.arms[t, index], r, link, ridge, True, state)
