"""Our own: generalised linear bandits under shuffle privacy, one message per user and one shuffle round per batch."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit import checks
from tacit.bandits.shuffled import Shuffled
from tacit.contribution import GLMContribution, balanced_curvature
from tacit.estimators import irls
from tacit.kernels.block import Block
from tacit.kernels.shuffle import ELIMINATION, GREEDY, THOMPSON, UCB, OpenBatch, ShuffleState, newton_rounds
from tacit.privacy import gaussian

POLICIES = {"thompson": THOMPSON, "ucb": UCB, "greedy": GREEDY, "elimination": ELIMINATION}
FIRST = 32.0  # users of the first batch per unit of noise


@dataclass(kw_only=True, eq=False)
class ShuffleNewton(Shuffled):
    """Rewards with mean mu(<x, theta*>). Each user's datum is linearised at the public estimate, rounded, hidden by
    coins and shuffled with those of its batch; the server adds up the shuffled sums of all batches. One message per
    user.

    Guarantee: (epsilon, delta)-shuffle privacy for replacing one user, whatever later users do: the server sees each
    user in one shuffled sum (Analyzer), and all it publishes is a function of those sums.
    Regret: measured, not proven (docs/shuffle.md). No horizon is needed: batches grow.
    Reference: none; the contribution and the estimate are JointGLM's.
    Departure: none.

    first: users of the first batch, who get random arms; by default in proportion to the noise. growth: of the batches.
    explore: thompson (draws in directions sampled too little), elimination (G-optimal design on arms not shown to be
    worse), ucb, greedy; width: of elimination and ucb. fading: of earlier batches, whose noise outweighs their data.
    dropout, malicious: shares of users who may send nothing, or no noise."""

    first: int | None = None
    explore: str = "elimination"
    width: float = 0.9
    fading: float = 1.0
    tuning: irls.Tuning = field(default_factory=irls.Tuning)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(tuple(POLICIES), explore=self.explore)
        checks.non_negative(width=self.width)
        if not 0 < self.fading <= 1:
            raise ValueError(f"Expected fading in (0, 1], got {self.fading!r}.")
        low, high = self.rewards
        self._unit = 1.0 if self._link.bounded else max(abs(low), abs(high))
        scale = balanced_curvature(self._link, self.radius / self._unit)
        self.contribution = GLMContribution(dim=self.dim, link=self._link, scale=scale, low=low, high=high)
        size, sensitivity = self.contribution.size, self.contribution.sensitivity
        if self.first is None:
            sigma = 0.0 if self.budget.epsilon == math.inf else sensitivity / gaussian.mu(self.budget)
            self.first = 20 + math.ceil(FIRST * sigma)
        self.analyzer = self._analyzer(
            size=size, sensitivity=sensitivity, norm=self.contribution.norm, first=self.first
        )
        self._settings = (low, high, scale, self._unit, self.radius, self.fading, self.width)
        self._state = self.init()

    def init(self) -> ShuffleState:
        zeros = np.zeros(self.contribution.size)
        return ShuffleState(np.zeros(2, np.int64), zeros, np.zeros(1), np.zeros(1), irls.prior(self.dim, self.radius))

    @property
    def _fading(self) -> float:
        return self.fading

    def _public(self) -> dict[str, Any]:
        posterior = self._state.posterior
        return {
            "weights": "saturating",
            "curvature": self.contribution.scale,
            "moment": 1.0,
            "policy": {"name": self.explore if self.version else "random", "width": self.width},
            "theta": posterior.theta,
            "inverse": posterior.inverse,
            "axes": posterior.axes,
            "spread": posterior.spread,
        }

    def _estimate(self) -> None:
        irls.update(
            self._state.sums,
            scale=self.contribution.scale,
            unit=self._unit,
            std=math.sqrt(self._state.variance[0]),
            radius=self.radius,
            tuning=np.array(self.tuning),
            posterior=self._state.posterior,
        )

    def _play(self, block: Block, transit: OpenBatch) -> None:
        policy, noise = self._generators()
        plans = self.analyzer.rows(int(transit.reports[0]) + len(block.noise), self.version)
        tuning, kind = np.array(self.tuning), POLICIES[self.explore]
        before = self.version
        newton_rounds(policy, noise, block, self._state, transit, plans, self._settings, tuning, self._link.code, kind)
        for batch in range(before, self.version):
            self._charge(batch, self.analyzer.plan(batch).users)
