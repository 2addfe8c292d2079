"""ShuffleNewton in many dimensions, and where arms lie in blocks: JointGLM's estimate, from the sum of all batches."""

import math

import numpy as np

from reticent.data import Released
from reticent.kernels.blocks import BLOCKS, block_of, fit_blocks
from reticent.kernels.compile import kernel
from reticent.kernels.glm import Posterior, Tuning, fit
from reticent.kernels.linalg import copy
from reticent_devices.bandits.shuffle.batches_kernel import ShuffleState
from reticent_devices.mechanisms.shuffle.sums_kernel import within_blocks

# Chosen by regret on tuning seeds (docs/measurements/shuffle.md); none of them touches privacy.
DENSE, APART = Tuning(explore=0.35), BLOCKS._replace(ridge=0.8, caution=0.25, scaling=0.8)
FADING = 0.5  # earlier batches count (size of an earlier one / size of the latest)^FADING


@kernel
def fading_of(users: int, fading: float, largest: float) -> float:
    """By how much the sum of earlier batches fades beside a batch of so many users: not at all once batches are as
    large as they get."""
    return 1.0 if users >= largest else fading


@kernel
def fade(batch: Released, variance: float, fading: float, state: ShuffleState) -> float:
    """sums <- batch + fading sums,   variance of the sums <- variance + fading^2 that.
    Every batch has the same noise, however many users: so small, early ones count less. Returns the std."""
    for i in range(batch.size):
        state.sums[i] = batch[i] + fading * state.sums[i]
    state.variance[0] = variance + fading * fading * state.variance[0]
    return math.sqrt(state.variance[0])


@kernel
def add_up(
    batch: Released,
    variance: float,
    scale: float,
    unit: float,
    radius: float,
    blocks: int,
    fading: float,
    tuning: Tuning,
    state: ShuffleState,
) -> None:
    """Take a batch = (scale svec(A), b) whose numbers have noise of that variance: the posterior is `fit` of the faded
    sum, or `fit_blocks` of what it has within blocks. Draws are about theta. Changes state."""
    sums, posterior = state.sums, state.posterior
    std = fade(batch, variance, fading, state)
    if blocks == 1:
        fit(sums, scale, unit, std, radius, tuning, posterior)
    else:
        pairs = within_blocks(sums, posterior.theta.size, blocks)
        by_block(pairs, scale, unit, std, radius, tuning, blocks, posterior)
    copy(posterior.theta, posterior.centre)


@kernel
def by_block(
    pairs: Released,
    scale: float,
    unit: float,
    std: float,
    radius: float,
    tuning: Tuning,
    blocks: int,
    posterior: Posterior,
) -> None:
    """`fit_blocks`, written out with its zeros."""
    p = posterior.theta.size // blocks
    square, row = (blocks, p, p), (blocks, p)
    parts = Posterior(np.zeros(row), np.zeros(row), np.zeros(square), np.zeros(row), np.zeros(row), np.zeros(square))
    fit_blocks(pairs, scale, unit, std, radius, tuning, np.arange(blocks), parts)
    posterior.axes[:] = 0.0
    posterior.inverse[:] = 0.0
    for a in range(blocks):
        own, part = slice(a * p, (a + 1) * p), block_of(parts, a)
        copy(part.theta, posterior.theta[own])
        copy(part.centre, posterior.centre[own])
        copy(part.precision, posterior.precision[own])
        copy(part.spread, posterior.spread[own])
        copy(part.axes, posterior.axes[own, own])
        copy(part.inverse, posterior.inverse[own, own])
