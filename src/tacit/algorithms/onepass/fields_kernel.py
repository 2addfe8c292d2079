"""Sums by fields: the simulated rounds of one step."""

import numpy as np
from numpy.random import Generator

from tacit.data import Exact, Integers
from tacit.kernels.block import Block
from tacit.kernels.blocks import thompson_blocks
from tacit.kernels.compile import kernel
from tacit.kernels.continual import JointState, PrefixState
from tacit.kernels.formulas import add_fields
from tacit.kernels.rounds import NOBODY, Held, enters, forget, outcome
from tacit.kernels.summing import Counted


@kernel
def field_rounds(
    policy: Generator,
    block: Block,
    held: Held,
    state: JointState[PrefixState],
    at: Counted,
    places: Integers,
    random: bool,
) -> None:
    """Rounds that end no step; random: with random arms. Changes state and the block's out arrays."""
    counts, prefix, posterior = state
    p, target, own = at.signed.size, np.empty(posterior.theta.shape), Exact(np.zeros(places.shape[1]))
    for t in range(block.noise.size):
        if random:
            index = int(policy.random() * block.arms.shape[1])
        else:
            index = thompson_blocks(policy, block.arms[t], posterior, target)
        if not outcome(block, t, index):
            continue
        row, y, slot = enters(counts, held, block, t, index)
        if slot != NOBODY and not np.isnan(y):
            x, numbers = row[:p], (at.centre, at.alpha, at.scale, at.low, at.high)
            add_fields(x, y, at.signed, at.constant, at.swing, *numbers, own)
            here = places[int(row[p])]
            for j in range(own.size):
                prefix.open[here[j]] += own[j]
                own[j] = 0.0
        if slot >= 0:
            forget(held, slot)
