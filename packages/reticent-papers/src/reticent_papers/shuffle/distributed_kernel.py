"""DistributedElimination: the users of one arm, in one loop."""

import math

from numpy.random import Generator

from reticent.data import Coded
from reticent.kernels.block import Block
from reticent.kernels.compile import inlined, kernel
from reticent.kernels.rounds import outcome
from reticent_devices.mechanisms.shuffle.sums_kernel import OpenBatch


@inlined
def add_rounded(rng: Generator, value: float, cells: int, sums: Coded) -> None:
    """sums += floor(cells value + U), as `laplace.rounded`: a report whose share of noise comes with the others'."""
    sums[0] += min(max(math.floor(value * cells + rng.random()), 0), cells)


@kernel
def arm_rounds(
    rng: Generator, block: Block, start: int, arm: int, users: int, low: float, high: float, cells: int, open: OpenBatch
) -> int:
    """Rounds of `block` from `start` on, until the sum has so many users. Returns the next round. Changes the open sum
    and the block's out arrays."""
    t = start
    while t < block.noise.size and open.reports[0] < users:
        index = 0
        for a in range(block.arms.shape[1]):
            if block.arms[t, a, arm] > block.arms[t, index, arm]:
                index = a
        if outcome(block, t, index):
            value = (min(max(block.reward[t], low), high) - low) / (high - low)
            if block.arms[t, index, arm] <= 0.0:
                value = 0.5
            add_rounded(rng, value, cells, open.sums)
            open.reports[0] += 1
        t += 1
    return t
