"""Non-private linear UCB: its state and whole blocks of rounds."""

from typing import NamedTuple

from reticent.data import Array, Integers
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.linear import RidgeEstimate, Width, optimistic, radius, rank_one
from reticent.kernels.rounds import CHOICES, outcome


class LinearState(NamedTuple):
    """Non-private linear UCB."""

    counts: Integers  # (2,): choices, the choice count at which the open step closes
    moment: Array  # (d,): sum of y x. RAW
    estimate: RidgeEstimate  # RAW: there is no privacy here


@kernel
def linear_rounds(block: Block, state: LinearState, width: Width) -> None:
    """Non-private LinUCB. Changes state and the block's out arrays."""
    counts, moment, estimate = state
    for t in range(block.noise.size):
        w = radius(width, estimate.logdet[0])
        index = optimistic(block.arms[t], estimate, w, 0.0)
        if outcome(block, t, index):
            counts[CHOICES] += 1
            rank_one(block.arms[t, index], block.reward[t], moment, estimate)
