"""A bandit with a leak, which replay and audits have to find."""

import numpy as np

from reticent.core.bandit import Bandit
from reticent.core.memory import Sums
from reticent.data import Array, Released
from reticent.mechanisms.opening import opened


class ExactSums(Sums):
    """Releases as it should, but hands the exact sums of the step that closes to the estimate."""

    _exact: Array | None = None

    def advance(self) -> None:
        mechanism = self.algorithm.plan.mechanism
        self._exact = getattr(mechanism, "cell", 1.0) * opened(self.state.prefix).open.astype(np.float64)
        super().advance()

    @property
    def released(self) -> Released:
        return super().released if self._exact is None else Released(self._exact)  # the lie


class Leaking(Bandit):
    learns = ExactSums
