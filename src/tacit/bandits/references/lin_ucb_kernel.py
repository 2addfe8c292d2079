"""Non-private linear UCB: its state and whole blocks of rounds."""

from typing import Any, NamedTuple

from tacit.kernels.compile import kernel
from tacit.kernels.linear import Estimate, optimistic, radius, rank_one
from tacit.kernels.rounds import CHOICES, outcome


class LinearState(NamedTuple):
    """Non-private linear UCB."""

    counts: Any  # int64[2]: choices, the choice count at which the open step closes
    moment: Any  # (d,): sum of y x. RAW
    estimate: Estimate  # RAW: there is no privacy here


@kernel
def linear_rounds(block, state, width):
    """Non-private LinUCB. Changes state and the block's out arrays."""
    counts, moment, estimate = state
    for t in range(block.noise.size):
        w = radius(width, estimate.logdet[0])
        index = optimistic(block.arms[t], estimate, w, 0.0)
        if outcome(block, t, index):
            counts[CHOICES] += 1
            rank_one(block.arms[t, index], block.reward[t], moment, estimate)
