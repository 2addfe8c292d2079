"""The binary tree mechanism: each node of a binary tree over the leaves is noised once."""

import math
from dataclasses import dataclass

import numpy as np

from tacit import checks
from tacit.data import Array
from tacit.kernels.continual import CONSISTENT, PADDED, TREE, ContinualState
from tacit.kernels.noise import WISHART, NoiseLaw
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


@dataclass(frozen=True, kw_only=True)
class WishartTree(Continual):
    """The tree over Gram matrices of rows of norm at most `scale`, each node with Wishart(scale^2 I, dof) noise.

    The statistic is (svec(gram of x), moment), of length d (d + 1) / 2 + d: all but the last entry of the Gram matrix
    of [x, y], whose noise is drawn whole.
    Guarantee: a node is (epsilon0, delta0)-private for replacing a row if dof >= d + 1 + 28 ln(4 / delta0) /
    epsilon0^2; a row is in `levels` nodes.
    Reference: Sheffet 2015, arXiv:1507.00056, Theorem 4.1; Shariff & Sheffet 2018, Theorem 8.
    Departure: the sum always holds `levels` noises (a level that covers nothing has a pad, drawn once), without which
    the paper's law of the noise, Wishart(scale^2 I, levels dof), holds only where t + 1 is a power of two.
    """

    scale: float
    dof: int
    sigma: float = 1.0  # `law` carries the scale

    def __post_init__(self) -> None:
        checks.positive_int(leaves=self.leaves, size=self.size, dof=self.dof)
        checks.positive(scale=self.scale)

    @property
    def levels(self) -> int:
        return self.leaves.bit_length()

    @property
    def law(self) -> NoiseLaw:
        return NoiseLaw(WISHART, float(self.scale), float(self.dof))

    @property
    def memory(self) -> int:
        return 2 * self.levels

    def sum_norm_after(self, steps: int, weeks: int) -> float:
        return weeks * math.sqrt(steps.bit_length())

    def gain(self, steps: Array) -> Array:
        """Standard deviation of an off-diagonal entry in svec coordinates: sqrt(2 levels dof) scale^2."""
        return np.full(steps.shape, math.sqrt(2 * self.levels * self.dof) * self.scale**2)

    def noise_state(self, source: Source) -> ContinualState:
        return self._state(PADDED, levels=self.levels, pads=source.rows(self.levels, self.size, self.law))
