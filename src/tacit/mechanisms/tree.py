"""The binary tree mechanism: each node of a binary tree over the leaves is noised once."""

import math
from dataclasses import dataclass

import numpy as np

from tacit.data import Array
from tacit.kernels.continual import CONSISTENT, TREE, ContinualState
from tacit.mechanisms.continual import Continual
from tacit.privacy.noise import Source


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
