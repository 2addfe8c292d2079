"""Bandits with one leak each, which replay and audits have to find."""

from dataclasses import dataclass

import numpy as np

from tacit.bandits import JointGLM
from tacit.data import Array, Raw, Released
from tacit.mechanisms.entering import NOBODY
from tacit.mechanisms.opening import opened


@dataclass(kw_only=True, eq=False)
class ExactSums(JointGLM):
    """Releases as it should, but hands the exact sums of the step that closes to the estimate."""

    def _advance(self) -> None:
        self._exact = getattr(self.mechanism, "cell", 1.0) * opened(self._state.prefix).open.astype(np.float64)
        super()._advance()

    def _update(self, released: Released) -> None:
        super()._update(Released(self._exact))  # the lie


@dataclass(kw_only=True, eq=False)
class CountedWhenAnswered(JointGLM):
    """With public contexts: their curvature is summed when the reward comes, so that it tells whether one came."""

    def _ticket(self, row: Raw[Array], mark: bytes = NOBODY) -> int:
        before = self._state.public.open.copy()
        ticket = super()._ticket(row, mark)
        self._taken = self._state.public.open - before
        self._state.public.open[:] = before
        return ticket

    def _join(self, row: Raw[Array], reward: Raw[float]) -> None:
        self._state.public.open[:] += self._taken  # of the last choice: enough for an attack
        super()._join(row, reward)
