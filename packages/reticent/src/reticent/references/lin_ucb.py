"""LinUCB without privacy: the reference for linear rewards."""

import math
from dataclasses import dataclass, field

import numpy as np

from reticent import checks
from reticent.algorithms import ridge
from reticent.core.choices import Index
from reticent.core.live import Live, certain
from reticent.data import Array
from reticent.kernels.block import Block
from reticent.kernels.linear import Width, rank_one
from reticent.privacy.certificate import Certificate, plain_certificate
from reticent.references.lin_ucb_kernel import LinearState, linear_rounds


@dataclass(kw_only=True, eq=False)
class LinUCB(Live):
    """Optimism with ridge regression, updated after every reward.

    Guarantee: none of privacy. The confidence set holds in all rounds with probability 1 - failure for
    `subgaussian` rewards and |theta*| <= radius.
    Reference: Abbasi-Yadkori, Pal & Szepesvari 2011, Theorem 2 and section 4.
    Departure: none. The inverse is kept by rank-one updates. failure is 1 / horizon, or 1 / 1000 without a horizon.
    """

    radius: float = 1.0
    ridge: float = 1.0
    subgaussian: float = 1.0
    failure: float | None = None
    width_scale: float = 1.0
    _state: LinearState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        checks.positive_int(dim=self.dim)
        self.dim = int(self.dim)
        checks.positive(radius=self.radius, ridge=self.ridge, subgaussian=self.subgaussian)
        checks.non_negative(width_scale=self.width_scale)
        if self.horizon is not None:
            checks.positive_int(horizon=self.horizon)
        if self.failure is None:
            self.failure = 1 / max(2, self.horizon or 1000)
        checks.probability(failure=self.failure)
        width = Width(
            noise=float(self.subgaussian),
            log_failure=2 * math.log(1 / self.failure),
            log_floor=self.dim * math.log(self.ridge),
            offset=self.radius * math.sqrt(self.ridge),
        )
        self.confidence = ridge.Confidence(width=width, drift=0.0).scaled(self.width_scale)
        super().__post_init__()

    def init(self) -> LinearState:
        return LinearState(np.zeros(2, np.int64), np.zeros(self.dim), ridge.empty(self.dim, self.ridge))

    def _pick(self, features: Array) -> Index:
        return ridge.choose_many(features, self._state.estimate, self.confidence)

    _propensity = certain

    def _learn(self, x: Array, reward: float) -> None:
        rank_one(x, reward, self._state.moment, self._state.estimate)

    def _play(self, block: Block) -> bool:
        linear_rounds(block, self._state, self.confidence.width)
        return True

    @property
    def privacy(self) -> Certificate:
        return plain_certificate("LinUCB", "This bandit is a non-private reference.")
