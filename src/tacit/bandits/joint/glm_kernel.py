"""JointGLM: its state and whole blocks of rounds."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from tacit.data import Array, Integers, Raw, Released
from tacit.kernels.block import Block
from tacit.kernels.blocks import combine_blocks, fit_blocks, thompson_blocks
from tacit.kernels.compile import kernel
from tacit.kernels.continual import PrefixState, simulate_step
from tacit.kernels.formulas import add_glm
from tacit.kernels.glm import Known, Posterior, Tuning, combine, fit, thompson
from tacit.kernels.noise import NoiseLaw
from tacit.kernels.rounds import BOUNDARY, CHOICES, Range, Schedule, next_boundary, outcome
from tacit.model.links import Code
from tacit.model.vectors import pair_size


class Public(NamedTuple):
    """Where contexts are public (joint.public), what they sum to: pairs (svec of the curvature, offsets). Of size 0
    elsewhere. Arrays, changed in place."""

    open: Array  # of the open step
    closed: Array  # of the closed ones, discounted
    whole: Released  # the latter, beside what was released: what an estimate is made from


class GLMState(NamedTuple):
    """One-pass IRLS under continual release."""

    counts: Integers  # (2,): choices, the choice count at which the open step closes
    prefix: PrefixState
    posterior: Posterior
    public: Public


@kernel
def glm_rounds(
    policy: Generator,
    rng: Generator,
    block: Block,
    state: GLMState,
    law: NoiseLaw,
    gains: Array,
    schedule: Schedule,
    rewards: Range,
    link: Code,
    blend: float,
    scale: float,
    unit: float,
    radius: float,
    tuning: Tuning,
    known: Known,
) -> None:
    """gains[k] = std of release k per unit of noise, the last one also that of all later ones. The users of the first
    step get random arms, unless something is known. Changes state and the block's out arrays."""
    counts, prefix, posterior, _ = state
    collected = prefix.open
    target = np.empty(posterior.theta.size)
    for t in range(block.noise.size):
        if counts[CHOICES] >= counts[BOUNDARY]:
            simulate_step(rng, prefix, law)
            gain = gains[min(prefix.noise.step[0], gains.size - 1)]
            fit(prefix.released, scale, unit, law.scale * gain, radius, tuning, posterior)
            if known.theta.size > 0:
                combine(known, radius, posterior)
            counts[BOUNDARY] = next_boundary(counts[CHOICES], schedule.first, schedule.growth, schedule.longest)
        if prefix.noise.step[0] == 0 and known.theta.size == 0:
            index = int(policy.random() * block.arms.shape[1])
        else:
            index = thompson(policy, block.arms[t], posterior, target)
        if outcome(block, t, index):
            counts[CHOICES] += 1
            x, y = block.arms[t, index], block.reward[t]
            add_glm(x, y, posterior.theta, posterior.inverse, link, blend, scale, rewards.low, rewards.high, collected)


@kernel
def glm_block_rounds(
    policy: Generator,
    rng: Generator,
    block: Block,
    state: GLMState,
    law: NoiseLaw,
    gains: Array,
    schedule: Schedule,
    rewards: Range,
    link: Code,
    blend: float,
    scale: float,
    unit: float,
    radius: float,
    tuning: Tuning,
    known: Known,
    live: Integers,
) -> None:
    """`glm_rounds` where arms are rows (z, a) and sums and estimates are of blocks."""
    counts, prefix, posterior, _ = state
    p = posterior.theta.shape[1]
    target = np.empty(posterior.theta.shape)
    for t in range(block.noise.size):
        if counts[CHOICES] >= counts[BOUNDARY]:
            simulate_step(rng, prefix, law)
            gain = gains[min(prefix.noise.step[0], gains.size - 1)]
            fit_blocks(prefix.released, scale, unit, law.scale * gain, radius, tuning, live, posterior)
            if known.theta.size > 0:
                combine_blocks(known, radius, live, posterior)
            counts[BOUNDARY] = next_boundary(counts[CHOICES], schedule.first, schedule.growth, schedule.longest)
        if prefix.noise.step[0] == 0 and known.theta.size == 0:
            index = int(policy.random() * block.arms.shape[1])
        else:
            index = thompson_blocks(policy, block.arms[t], posterior, target)
        if outcome(block, t, index):
            counts[CHOICES] += 1
            x, y, a = block.arms[t, index, :p], block.reward[t], int(block.arms[t, index, p])
            own = Raw(prefix.open[a * pair_size(p) : (a + 1) * pair_size(p)])
            add_glm(x, y, posterior.theta[a], posterior.inverse[a], link, blend, scale, rewards.low, rewards.high, own)
