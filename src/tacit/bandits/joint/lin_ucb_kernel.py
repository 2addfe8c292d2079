"""JointLinUCB: its state and whole blocks of rounds."""

from typing import NamedTuple

from numpy.random import Generator

from tacit.data import Integers
from tacit.kernels.block import Block
from tacit.kernels.compile import kernel
from tacit.kernels.continual import PrefixState, simulate_step
from tacit.kernels.formulas import add_linear
from tacit.kernels.linear import Estimate, Width, optimistic, radius, ridge
from tacit.kernels.noise import NoiseLaw
from tacit.kernels.rounds import BOUNDARY, CHOICES, Range, Schedule, next_boundary, outcome


class JointState(NamedTuple):
    """Linear UCB under continual release."""

    counts: Integers  # (2,): choices, the choice count at which the open step closes
    prefix: PrefixState
    estimate: Estimate


@kernel
def joint_rounds(
    rng: Generator,
    block: Block,
    state: JointState,
    law: NoiseLaw,
    schedule: Schedule,
    rewards: Range,
    scale: float,
    shift: float,
    width: Width,
    drift: float,
) -> None:
    """JointLinUCB. Changes state and the block's out arrays."""
    counts, prefix, estimate = state
    collected = prefix.open
    w = radius(width, estimate.logdet[0])
    for t in range(block.noise.size):
        if counts[CHOICES] >= counts[BOUNDARY]:
            simulate_step(rng, prefix, law)
            ridge(prefix.released, scale, shift, estimate)
            counts[BOUNDARY] = next_boundary(counts[CHOICES], schedule.first, schedule.growth)
            w = radius(width, estimate.logdet[0])
        index = optimistic(block.arms[t], estimate, w, drift)
        if outcome(block, t, index):
            counts[CHOICES] += 1
            add_linear(block.arms[t, index], block.reward[t], scale, rewards.low, rewards.high, collected)
