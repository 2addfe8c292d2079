"""One-pass IRLS: whole blocks of simulated rounds. The estimate in the state is a Watched, or a Posterior of blocks."""

import numpy as np
from numpy.random import Generator

from tacit.data import Array, Exact, Integers
from tacit.kernels.block import Block
from tacit.kernels.blocks import combine_blocks, fit_blocks, thompson_blocks
from tacit.kernels.change import notice, plain
from tacit.kernels.compile import kernel
from tacit.kernels.continual import JointState, PrefixState, simulate_step
from tacit.kernels.formulas import add_glm
from tacit.kernels.glm import Known, Tuning, combine, fit, thompson
from tacit.kernels.noise import NoiseLaw
from tacit.kernels.rounds import (
    BOUNDARY,
    NOBODY,
    Held,
    Range,
    Schedule,
    boundary_by,
    enters,
    entries,
    forget,
    outcome,
)
from tacit.model.links import Code
from tacit.model.vectors import pair_size


@kernel
def glm_rounds(
    policy: Generator,
    rng: Generator,
    block: Block,
    held: Held,
    state: JointState[PrefixState],
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
    counts, prefix, watched = state
    posterior = plain(watched)
    low, high, target = rewards.low, rewards.high, np.empty(posterior.theta.size)
    for t in range(block.noise.size):
        if entries(counts, held) >= counts[BOUNDARY]:
            simulate_step(rng, prefix, law)
            step = prefix.noise.step[0]
            std = law.scale * gains[min(step, gains.size - 1)]
            std = notice(prefix.released, step, schedule, prefix.discount[0], scale, unit, std, watched)
            released = watched.rest if watched.rest.size > 0 else prefix.released
            fit(released, scale, unit, std, radius, tuning, posterior)
            if known.theta.size > 0:
                combine(known, radius, posterior)
            counts[BOUNDARY] = boundary_by(schedule, entries(counts, held))
        if prefix.noise.step[0] == 0 and known.theta.size == 0:
            index = int(policy.random() * block.arms.shape[1])
        else:
            index = thompson(policy, block.arms[t], posterior, target)
        if not outcome(block, t, index):
            continue
        x, y, slot = enters(counts, held, block, t, index)
        if slot != NOBODY and not np.isnan(y):
            add_glm(x, y, posterior.theta, posterior.inverse, link, blend, scale, low, high, prefix.open)
        if slot >= 0:
            forget(held, slot)


@kernel
def glm_block_rounds(
    policy: Generator,
    rng: Generator,
    block: Block,
    held: Held,
    state: JointState[PrefixState],
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
    counts, prefix, posterior = state
    p = posterior.theta.shape[1]
    low, high, target = rewards.low, rewards.high, np.empty(posterior.theta.shape)
    for t in range(block.noise.size):
        if entries(counts, held) >= counts[BOUNDARY]:
            simulate_step(rng, prefix, law)
            gain = gains[min(prefix.noise.step[0], gains.size - 1)]
            fit_blocks(prefix.released, scale, unit, law.scale * gain, radius, tuning, live, posterior)
            if known.theta.size > 0:
                combine_blocks(known, radius, live, posterior)
            counts[BOUNDARY] = boundary_by(schedule, entries(counts, held))
        if prefix.noise.step[0] == 0 and known.theta.size == 0:
            index = int(policy.random() * block.arms.shape[1])
        else:
            index = thompson_blocks(policy, block.arms[t], posterior, target)
        if not outcome(block, t, index):
            continue
        row, y, slot = enters(counts, held, block, t, index)
        if slot != NOBODY and not np.isnan(y):
            x, a = row[:p], int(row[p])
            own = Exact(prefix.open[a * pair_size(p) : (a + 1) * pair_size(p)])
            add_glm(x, y, posterior.theta[a], posterior.inverse[a], link, blend, scale, low, high, own)
        if slot >= 0:
            forget(held, slot)
