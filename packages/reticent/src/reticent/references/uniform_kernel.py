"""Uniformly random arms."""

from typing import NamedTuple

from numpy.random import Generator

from reticent.data import Array, Integers
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.rounds import CHOICES, outcome


class UniformState(NamedTuple):
    counts: Integers  # (1,): choices


@kernel
def uniform_rows(rng: Generator, arms: Array, out: Integers) -> None:
    """out[i] = a uniformly random arm for user i."""
    for i in range(arms.shape[0]):
        out[i] = int(rng.random() * arms.shape[1])


@kernel
def uniform_rounds(rng: Generator, block: Block, state: UniformState) -> None:
    """Uniform. Changes state and the block's out arrays."""
    for t in range(block.noise.size):
        index = int(rng.random() * block.arms.shape[1])
        if outcome(block, t, index):
            state.counts[CHOICES] += 1
