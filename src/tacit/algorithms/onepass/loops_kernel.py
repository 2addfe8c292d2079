"""One-pass IRLS: whole blocks of simulated rounds. The estimate in the state is a Watched, or a Posterior of blocks."""

import numpy as np
from numpy.random import Generator

from tacit.data import Array, Exact, Integers, Released
from tacit.kernels.block import Block
from tacit.kernels.blocks import combine_blocks, fit_blocks, thompson_blocks
from tacit.kernels.change import notice, plain
from tacit.kernels.compile import kernel
from tacit.kernels.continual import JointState, PrefixState, join, simulate_step
from tacit.kernels.formulas import add_context, add_glm, add_reward
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
from tacit.model.vectors import packed_size, pair_size

EXACT = 2.0**40  # the scale of a curvature that has no noise: what noise there were would be divided by it


@kernel
def beside(closed: Array, released: Released, p: int, whole: Released) -> None:
    """whole <- for each block of p coordinates (EXACT svec(A), b), A the public curvature and b the sum of public
    offsets and released moments."""
    size, packed = pair_size(p), packed_size(p)
    for a in range(whole.size // size):
        for i in range(packed):
            whole[a * size + i] = EXACT * closed[a * size + i]
        for i in range(p):
            whole[a * size + packed + i] = closed[a * size + packed + i] + released[a * p + i]


@kernel
def with_contexts(state: JointState[PrefixState], p: int) -> Released:
    """What an estimate is made from once a step was released: that, and beside it what public contexts sum to."""
    _, prefix, _, public = state
    if public.open.size == 0:
        return prefix.released
    join(public.open, public.closed, prefix.discount[0])
    beside(public.closed, prefix.released, p, public.whole)
    return public.whole


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
    longest: float,
    scale: float,
    unit: float,
    radius: float,
    tuning: Tuning,
    known: Known,
) -> None:
    """gains[k] = std of release k per unit of noise, the last one also that of all later ones. longest: of a
    contribution where contexts are public. The users of the first step get random arms, unless something is known.
    Changes state and the block's out arrays."""
    counts, prefix, watched, public = state
    posterior = plain(watched)
    low, high, target = rewards.low, rewards.high, np.empty(posterior.theta.size)
    for t in range(block.noise.size):
        if entries(counts, held) >= counts[BOUNDARY]:
            simulate_step(rng, prefix, law)
            step = prefix.noise.step[0]
            whole, std = with_contexts(state, target.size), law.scale * gains[min(step, gains.size - 1)]
            std = notice(whole, step, schedule, prefix.discount[0], scale, unit, std, watched)
            fit(watched.rest if watched.rest.size > 0 else whole, scale, unit, std, radius, tuning, posterior)
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
        if slot != NOBODY:
            theta, inverse = posterior.theta, posterior.inverse
            if public.open.size > 0:
                centre = add_context(x, theta, inverse, link, blend, low, high, longest, public.open)
                if not np.isnan(y):
                    add_reward(x, y, centre, low, high, longest, prefix.open)
            elif not np.isnan(y):
                add_glm(x, y, theta, inverse, link, blend, scale, low, high, prefix.open)
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
    longest: float,
    scale: float,
    unit: float,
    radius: float,
    tuning: Tuning,
    known: Known,
    live: Integers,
) -> None:
    """`glm_rounds` where arms are rows (z, a) and sums and estimates are of blocks."""
    counts, prefix, posterior, public = state
    p = posterior.theta.shape[1]
    low, high, target = rewards.low, rewards.high, np.empty(posterior.theta.shape)
    for t in range(block.noise.size):
        if entries(counts, held) >= counts[BOUNDARY]:
            simulate_step(rng, prefix, law)
            gain = gains[min(prefix.noise.step[0], gains.size - 1)]
            fit_blocks(with_contexts(state, p), scale, unit, law.scale * gain, radius, tuning, live, posterior)
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
        if slot != NOBODY:
            x, a = row[:p], int(row[p])
            theta, inverse = posterior.theta[a], posterior.inverse[a]
            part = slice(a * pair_size(p), (a + 1) * pair_size(p))
            if public.open.size > 0:
                centre = add_context(x, theta, inverse, link, blend, low, high, longest, public.open[part])
                if not np.isnan(y):
                    add_reward(x, y, centre, low, high, longest, Exact(prefix.open[a * p : (a + 1) * p]))
            elif not np.isnan(y):
                add_glm(x, y, theta, inverse, link, blend, scale, low, high, Exact(prefix.open[part]))
        if slot >= 0:
            forget(held, slot)
