"""JointGLM where contexts are public: what they sum to, and whole blocks of rounds."""

import numpy as np
from numpy.random import Generator

from tacit.bandits.joint.glm_kernel import GLMState, Public
from tacit.data import Array, Integers, Raw, Released
from tacit.kernels.block import Block
from tacit.kernels.blocks import combine_blocks, fit_blocks, thompson_blocks
from tacit.kernels.compile import kernel
from tacit.kernels.continual import join, simulate_step
from tacit.kernels.formulas import add_context, add_reward
from tacit.kernels.glm import Known, Tuning, combine, fit, thompson
from tacit.kernels.noise import NoiseLaw
from tacit.kernels.rounds import BOUNDARY, CHOICES, Range, Schedule, next_boundary, outcome
from tacit.model.links import Code
from tacit.model.vectors import packed_size, pair_size

EXACT = 2.0**40  # the scale of a curvature that has no noise: what noise there were would be divided by it


@kernel
def beside(public: Public, released: Released, p: int) -> None:
    """public.whole <- for each block of p coordinates (EXACT svec(A), b), A the public curvature and b the sum of
    public offsets and released moments. Changes public."""
    size, packed = pair_size(p), packed_size(p)
    for a in range(public.whole.size // size):
        for i in range(packed):
            public.whole[a * size + i] = EXACT * public.closed[a * size + i]
        for i in range(p):
            public.whole[a * size + packed + i] = public.closed[a * size + packed + i] + released[a * p + i]


@kernel
def public_rounds(
    policy: Generator,
    rng: Generator,
    block: Block,
    state: GLMState,
    law: NoiseLaw,
    gains: Array,
    discount: float,
    schedule: Schedule,
    rewards: Range,
    link: Code,
    blend: float,
    longest: float,
    unit: float,
    radius: float,
    tuning: Tuning,
    known: Known,
) -> None:
    """`glm_rounds` with public contexts. Changes state and the block's out arrays."""
    counts, prefix, posterior, public = state
    d = posterior.theta.size
    target = np.empty(d)
    for t in range(block.noise.size):
        if counts[CHOICES] >= counts[BOUNDARY]:
            simulate_step(rng, prefix, law)
            join(public.open, public.closed, discount)
            beside(public, prefix.released, d)
            gain = gains[min(prefix.noise.step[0], gains.size - 1)]
            fit(public.whole, EXACT, unit, law.scale * gain, radius, tuning, posterior)
            if known.theta.size > 0:
                combine(known, radius, posterior)
            counts[BOUNDARY] = next_boundary(counts[CHOICES], schedule.first, schedule.growth, schedule.longest)
        if prefix.noise.step[0] == 0 and known.theta.size == 0:
            index = int(policy.random() * block.arms.shape[1])
        else:
            index = thompson(policy, block.arms[t], posterior, target)
        if outcome(block, t, index):
            counts[CHOICES] += 1
            x, y, low, high = block.arms[t, index], block.reward[t], rewards.low, rewards.high
            theta, inverse = posterior.theta, posterior.inverse
            centre = add_context(x, theta, inverse, link, blend, low, high, longest, public.open)
            add_reward(x, y, centre, low, high, longest, prefix.open)


@kernel
def public_block_rounds(
    policy: Generator,
    rng: Generator,
    block: Block,
    state: GLMState,
    law: NoiseLaw,
    gains: Array,
    discount: float,
    schedule: Schedule,
    rewards: Range,
    link: Code,
    blend: float,
    longest: float,
    unit: float,
    radius: float,
    tuning: Tuning,
    known: Known,
    live: Integers,
) -> None:
    """`public_rounds` where arms are rows (z, a) and sums and estimates are of blocks."""
    counts, prefix, posterior, public = state
    p = posterior.theta.shape[1]
    size = pair_size(p)
    target = np.empty(posterior.theta.shape)
    for t in range(block.noise.size):
        if counts[CHOICES] >= counts[BOUNDARY]:
            simulate_step(rng, prefix, law)
            join(public.open, public.closed, discount)
            beside(public, prefix.released, p)
            gain = gains[min(prefix.noise.step[0], gains.size - 1)]
            fit_blocks(public.whole, EXACT, unit, law.scale * gain, radius, tuning, live, posterior)
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
            own, low, high = public.open[a * size : (a + 1) * size], rewards.low, rewards.high
            theta, inverse = posterior.theta[a], posterior.inverse[a]
            centre = add_context(x, theta, inverse, link, blend, low, high, longest, own)
            add_reward(x, y, centre, low, high, longest, Raw(prefix.open[a * p : (a + 1) * p]))
