"""Each step released by itself, with noise of its own: sums of few steps, or of steps that end when they must."""

import math
from dataclasses import dataclass

import numpy as np

from reticent.data import Array
from reticent.kernels.continual import HISTORY, ContinualState
from reticent.mechanisms.continual import Continual
from reticent.privacy.noise import Source


@dataclass(frozen=True, kw_only=True)
class Alone(Continual):
    """Prefix sums of steps that are each released once: the encoder is the identity.

    Guarantee: mu-GDP, mu = sensitivity / sigma, whatever the number of steps: a contribution is in one of them.
    Memory: one vector a step. The noise of a prefix grows with the root of its number of steps.
    Reference: the Gaussian mechanism; parallel composition.
    Departure: none.
    """

    @property
    def memory(self) -> int:
        return self.leaves

    def sum_norm_after(self, steps: int, weeks: int) -> float:
        """Columns of different steps are at right angles."""
        return math.sqrt(min(weeks, max(steps, 1)))

    def gain(self, steps: Array) -> Array:
        out: Array = np.sqrt(steps)
        return out

    def noise_state(self, source: Source) -> ContinualState:
        return self._state(HISTORY, weights=np.ones(self.leaves), table=np.zeros((self.leaves, self.size)))

    def encoder(self) -> Array:
        out: Array = np.zeros(self.leaves)
        out[0] = 1.0
        return out
