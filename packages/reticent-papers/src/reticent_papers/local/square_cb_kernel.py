"""LocalSquareCB: sums of reports, and whole blocks of rounds in one loop."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Exact, Integers, Released
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.rounds import BOUNDARY, CHOICES, draw_arm, outcome
from reticent_devices.mechanisms.randomize_kernel import empty_report, randomize
from reticent_devices.mechanisms.randomizers import Law
from reticent_papers.kernels.squarecb import gap_weights


class LocalSquareState(NamedTuple):
    """All of it is public: sums of reports, and what follows from them. Rewards are in units of the largest one."""

    counts: Integers  # (5,): users, the user count at which the batch closes, batches closed, epochs closed, version
    played: Released  # (d,): the estimate that arms are chosen by
    theta: Array  # (d,): the iterate of the open epoch
    open: Released  # (d,): the sum of the open batch's reports
    greed: Array  # (1,): gamma of the weights over sqrt K
    step: Array  # (1,): of a batch


@kernel
def square_absorb(report: Released, bound: float, state: LocalSquareState) -> None:
    """One more report, of a gradient divided by its bound. Changes state."""
    for i in range(report.size):
        state.open[i] += bound * report[i]
    state.counts[CHOICES] += 1


@kernel
def local_square_rounds(
    policy: Generator,
    rng: Generator,
    block: Block,
    state: LocalSquareState,
    law: Law,
    unit: float,
    clip: float,
    bound: float,
    start: int,
) -> int:
    """LocalSquareCB, from round `start` up to the end of the block or of the batch. Returns the next round. Changes
    state and the block's out arrays."""
    d = state.theta.size
    weights, vector, report = np.empty(block.arms.shape[1]), Exact(np.empty(d)), empty_report(d)
    for t in range(start, block.noise.size):
        if state.counts[CHOICES] >= state.counts[BOUNDARY]:
            return t
        gap_weights(block.arms[t], state.played, state.greed[0], weights)
        index = draw_arm(policy.random(), weights)
        if outcome(block, t, index):
            z = 0.0
            for i in range(d):
                z += block.arms[t, index, i] * state.theta[i]
            share = (min(max(z, -clip), clip) - block.reward[t] / unit) / bound
            for i in range(d):
                vector[i] = share * block.arms[t, index, i]
            randomize(rng, law, vector, report)
            square_absorb(report, bound, state)
    return block.noise.size
