"""The binary tree mechanism with Wishart noise, which keeps Gram matrices positive: simulation only, floats."""

import math
from dataclasses import dataclass

import numpy as np

from reticent import checks
from reticent.data import Array, Released
from reticent.kernels.continual import NOTHING, PADDED, Closing, ContinualState, PrefixState
from reticent.kernels.noise import NoiseLaw
from reticent.mechanisms.continual import Continual
from reticent.privacy.noise import Simulated, Source
from reticent_papers.joint.wishart_kernel import wishart_rows


class Wisharts:
    """Vectors of Wishart noise from a simulated source; any other source is asked for what it has, which is nothing
    where people's data are protected."""

    def __init__(self, source: Source, scale: float, dof: int) -> None:
        self.private, self.description = source.private, source.description
        self.source, self.scale, self.dof = source, float(scale), float(dof)

    def rows(self, count: int, size: int, law: NoiseLaw) -> Array:
        if not isinstance(self.source, Simulated):
            return self.source.rows(count, size, law)
        out = np.empty((count, size))
        wishart_rows(self.source.generator, self.scale, self.dof, out)
        return out


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
    sigma: float = 1.0  # noise has the scale

    def __post_init__(self) -> None:
        checks.positive_int(leaves=self.leaves, size=self.size, dof=self.dof)
        checks.positive(scale=self.scale)

    @property
    def levels(self) -> int:
        return self.leaves.bit_length()

    @property
    def memory(self) -> int:
        return 2 * self.levels

    def sum_norm_after(self, steps: int, weeks: int) -> float:
        return weeks * math.sqrt(steps.bit_length())

    def gain(self, steps: Array) -> Array:
        """Standard deviation of an off-diagonal entry in svec coordinates: sqrt(2 levels dof) scale^2."""
        return np.full(steps.shape, math.sqrt(2 * self.levels * self.dof) * self.scale**2)

    def noise_state(self, source: Source) -> ContinualState:
        pads = self._drawn(source).rows(self.levels, self.size, self.law)
        return self._state(PADDED, levels=self.levels, pads=pads)

    def release(self, state: PrefixState, source: Source, closing: Closing = NOTHING) -> Released:
        return super().release(state, self._drawn(source), closing)

    def _drawn(self, source: Source) -> Wisharts:
        return Wisharts(source, self.scale, self.dof)
