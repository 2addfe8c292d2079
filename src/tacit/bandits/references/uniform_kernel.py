"""Uniformly random arms."""

from typing import Any, NamedTuple

from tacit.kernels.compile import kernel
from tacit.kernels.rounds import CHOICES, outcome


class UniformState(NamedTuple):
    counts: Any  # int64[1]: choices


@kernel
def uniform_rows(rng, arms, out):
    """out[i] = a uniformly random arm for user i."""
    for i in range(arms.shape[0]):
        out[i] = int(rng.random() * arms.shape[1])


@kernel
def uniform_rounds(rng, block, state):
    """Uniform. Changes state and the block's out arrays."""
    for t in range(block.noise.size):
        index = int(rng.random() * block.arms.shape[1])
        if outcome(block, t, index):
            state.counts[CHOICES] += 1
