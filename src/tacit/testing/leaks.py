"""A bandit with a leak, which replay and audits have to find."""

from dataclasses import dataclass

import numpy as np

from tacit.bandits import JointGLM
from tacit.data import Released
from tacit.mechanisms.opening import opened


@dataclass(kw_only=True, eq=False)
class ExactSums(JointGLM):
    """Releases as it should, but hands the exact sums of the step that closes to the estimate."""

    def _advance(self) -> None:
        self._exact = getattr(self.mechanism, "cell", 1.0) * opened(self._state.prefix).open.astype(np.float64)
        super()._advance()

    def _update(self, released: Released) -> None:
        super()._update(Released(self._exact))  # the lie
