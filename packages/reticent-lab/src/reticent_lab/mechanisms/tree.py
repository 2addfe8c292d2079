"""The binary tree mechanism: each node of a binary tree over the leaves is noised once. In floats, and on integers."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from reticent.data import Array, Exact, Integers
from reticent.kernels.continual import CONSISTENT, TREE, ContinualState, PrefixState
from reticent.mechanisms.continual import Continual
from reticent.mechanisms.grid import Grid
from reticent.privacy.noise import Source


@dataclass(frozen=True, kw_only=True)
class TreeGrid(Grid):
    """`real`, a Tree, on integers (mechanisms.grid): C has ones and zeros, so that noise is in whole cells, and a node
    is the exact sum of its leaves. One vector for each level is kept, for any number of leaves.

    Guarantee, Reference, Departure: as Grid and Tree.
    """

    real: "Tree"

    def __post_init__(self) -> None:
        Continual.__post_init__(self)

    @property
    def step(self) -> float:
        return self.cell

    @property
    def kept(self) -> int:
        return self.real.levels

    def sum_norm_after(self, steps: int, weeks: int) -> float:
        return self.real.sum_norm_after(steps, weeks)

    def gain(self, steps: Array) -> Array:
        return self.real.gain(steps)

    def noise_state(self, source: Source) -> ContinualState:
        return self.real.noise_state(source)

    def init(self, source: Any) -> PrefixState:
        if self.real.consistent:
            source.expect(self.kept * self.size, self.cells)
        return super().init(source)

    def _draws(self, step: int) -> int:
        """One, or one for each node that the next step completes."""
        return (step + 1 & -(step + 1)).bit_length() if self.real.consistent else 1

    def _closing(self, state: PrefixState, noise: Integers) -> tuple[Exact, Array]:
        """The nodes that this leaf completes, with their noise: all of them, or the one that prefixes use."""
        t, level = int(state.noise.step[0]) + 1, 0
        node = state.open.copy()
        completed = [node]
        while t >> level & 1 == 0:
            node = node + state.closed[level]
            completed.append(node)
            level += 1
        state.closed[level] = node
        values = np.stack(completed if self.real.consistent else [node]) + noise
        return Exact(state.closed[:0]), values.astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class Tree(Continual):
    """Prefix sums by the binary tree.

    Guarantee: mu-GDP for replacing one contribution, mu = sqrt(levels) sensitivity / sigma: a leaf lies in one node
    of each level. Memory: one vector per level.
    With `consistent`, a node's value is averaged with the sum of its children's by inverse variance, which is the best
    linear unbiased estimate of every prefix from all the nodes so far (a prefix is a disjoint union of complete
    subtrees, and no node outside them is complete): post-processing, so the same guarantee.
    Reference: Chan, Shi & Song 2011; Dwork et al. 2010; the consistent estimate: Honaker 2015; Kairouz et al. 2021.
    Departure: without `consistent` only nodes that some prefix uses are noised; the others are never released.
    """

    consistent: bool = False

    @property
    def kind(self) -> type[TreeGrid]:
        return TreeGrid

    @property
    def levels(self) -> int:
        return self.leaves.bit_length()

    @property
    def memory(self) -> int:
        return self.levels

    def sum_norm_after(self, steps: int, weeks: int) -> float:
        return weeks * math.sqrt(steps.bit_length())

    def gain(self, steps: Array) -> Array:
        variance = self._variances() if self.consistent else np.ones(self.levels)
        bits = (steps.astype(np.int64)[:, None] >> np.arange(self.levels)) & 1
        out: Array = np.sqrt(bits @ variance)
        return out

    def noise_state(self, source: Source) -> ContinualState:
        if not self.consistent:
            return self._state(TREE, levels=self.levels)
        # own weight = own precision / all precision = variance of the estimate when sigma = 1
        return self._state(CONSISTENT, levels=self.levels, weights=self._variances())

    def _variances(self) -> Array:
        """Variance of a complete subtree's estimate by height: 1 / v_h = 1 + 1 / (2 v_{h-1}), v_0 = 1."""
        variances = [1.0]
        while len(variances) < self.levels:
            variances.append(1 / (1 + 1 / (2 * variances[-1])))
        return np.array(variances)
