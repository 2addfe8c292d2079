"""Vectors around a usual reward: the simulated rounds of one step."""

import numpy as np
from numpy.random import Generator

from tacit.kernels.block import Block
from tacit.kernels.compile import kernel
from tacit.kernels.continual import JointState, PrefixState
from tacit.kernels.formulas import add_centred
from tacit.kernels.glm import thompson
from tacit.kernels.rounds import NOBODY, Held, enters, forget, outcome
from tacit.kernels.summing import Around


@kernel
def centred_rounds(
    policy: Generator, block: Block, held: Held, state: JointState[PrefixState], at: Around, random: bool
) -> None:
    """Rounds that end no step; random: with random arms. Changes state and the block's out arrays."""
    counts, prefix, posterior = state
    target = np.empty(posterior.theta.size)
    for t in range(block.noise.size):
        if random:
            index = int(policy.random() * block.arms.shape[1])
        else:
            index = thompson(policy, block.arms[t], posterior, target)
        if not outcome(block, t, index):
            continue
        x, y, slot = enters(counts, held, block, t, index)
        if slot != NOBODY and not np.isnan(y):
            add_centred(x, y, at.skip, at.longest, at.centre, at.scale, at.low, at.high, prefix.open)
        if slot >= 0:
            forget(held, slot)
