"""Linear UCB under continual release: whole blocks of rounds. The estimate in the state is that of kernels.linear."""

import numpy as np
from numpy.random import Generator

from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.continual import JointState, PrefixState, simulate_step
from reticent.kernels.formulas import add_linear
from reticent.kernels.linear import Width, optimistic, radius, ridge
from reticent.kernels.noise import NoiseLaw
from reticent.kernels.rounds import (
    BOUNDARY,
    NOBODY,
    Held,
    Range,
    Schedule,
    enters,
    entries,
    forget,
    next_boundary,
    outcome,
)


@kernel
def joint_rounds(
    rng: Generator,
    block: Block,
    held: Held,
    state: JointState[PrefixState],
    law: NoiseLaw,
    schedule: Schedule,
    rewards: Range,
    scale: float,
    shift: float,
    width: Width,
    drift: float,
) -> None:
    """Changes state and the block's out arrays."""
    counts, prefix, estimate = state
    collected = prefix.open
    w = radius(width, estimate.logdet[0])
    for t in range(block.noise.size):
        if entries(counts, held) >= counts[BOUNDARY]:
            simulate_step(rng, prefix, law)
            ridge(prefix.released, scale, shift, estimate)
            counts[BOUNDARY] = next_boundary(entries(counts, held), schedule.first, schedule.growth)
            w = radius(width, estimate.logdet[0])
        index = optimistic(block.arms[t], estimate, w, drift)
        if not outcome(block, t, index):
            continue
        x, y, slot = enters(counts, held, block, t, index)
        if slot != NOBODY and not np.isnan(y):
            add_linear(x, y, scale, rewards.low, rewards.high, collected)
        if slot >= 0:
            forget(held, slot)
