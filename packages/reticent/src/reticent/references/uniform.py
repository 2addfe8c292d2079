"""Uniformly random arms: what learning nothing costs."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator, default_rng

from reticent import checks
from reticent.core.choices import Index
from reticent.core.live import Live
from reticent.data import Array
from reticent.kernels.block import Block
from reticent.privacy.certificate import Certificate, plain_certificate
from reticent.references.uniform_kernel import UniformState, uniform_rounds, uniform_rows


@dataclass(kw_only=True, eq=False)
class Uniform(Live):
    """A uniformly random arm for everyone.

    Guarantee: nothing is learnt, so regret is linear. What is shown depends on nobody's data.
    Reference: none.
    Departure: none.
    """

    policy: Generator = field(default_factory=default_rng, repr=False)
    _state: UniformState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.horizon is not None:
            checks.positive_int(horizon=self.horizon)
        super().__post_init__()

    def init(self) -> UniformState:
        return UniformState(np.zeros(1, np.int64))

    def _pick(self, features: Array) -> Index:
        out = np.empty(len(features), np.int64)
        uniform_rows(self.policy, features, out)
        return out

    def _propensity(self, features: Array, index: int) -> Callable[[], float]:
        return lambda: 1 / len(features)

    def _learn(self, x: Array, reward: float) -> None:
        """Nothing is learnt."""

    def _play(self, block: Block) -> bool:
        uniform_rounds(self.policy, block, self._state)
        return True

    @property
    def privacy(self) -> Certificate:
        return plain_certificate("Uniform", "This bandit is a non-private reference.")
