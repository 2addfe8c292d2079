"""Our own: generalised linear bandits under shuffle privacy, one message per user and one shuffle round per batch."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reticent import checks
from reticent.algorithms import irls
from reticent.data import Coded
from reticent.kernels.block import Block
from reticent.kernels.scores import unlearnt
from reticent.mechanisms.leaves import nothing_released
from reticent.model.glm import GLMContribution, balanced_curvature
from reticent.model.scores import ScoreContribution
from reticent.privacy import gaussian
from reticent_devices.bandits.shuffle import scores
from reticent_devices.bandits.shuffle.batches_kernel import ShuffleState
from reticent_devices.bandits.shuffle.newton_kernel import (
    ELIMINATION,
    GREEDY,
    THOMPSON,
    UCB,
    NewtonSettings,
    newton_close,
    newton_rounds,
    optimist_share,
)
from reticent_devices.bandits.shuffle.scores_kernel import score_close, shuffled_score_rounds
from reticent_devices.bandits.shuffle.server import Shuffled
from reticent_devices.bandits.shuffle.sum_kernel import APART, DENSE, FADING
from reticent_devices.mechanisms.shuffle.calibration import ShufflePlan
from reticent_devices.mechanisms.shuffle.sums_kernel import OpenBatch

ESTIMATES = ("auto", "batches", "sum")
POLICIES = {"thompson": THOMPSON, "ucb": UCB, "greedy": GREEDY, "elimination": ELIMINATION}

# no record of how these were chosen; those in newton_kernel have one
WIDTHS = {"thompson": 4.0, "ucb": 0.9, "greedy": 0.0, "elimination": 0.9}
FEWEST, FIRST = 20, 32.0  # users of the first batch: so many, and so many more per unit of noise
GROWTH = 1.5  # of the batches
LARGEST = 10  # times the first batch: who comes while a batch is open is served by what was known before it
FIRST_APART, GROWTH_APART = 24.0, 1.3  # the same where arms lie in blocks: there is more to learn from choices
MANY = 50  # dimensions


@dataclass(kw_only=True, eq=False)
class ShuffleNewton(Shuffled):
    """Rewards with mean mu(<x, theta*>). Each user's datum is linearised at the public estimate, rounded, hidden by
    coins and shuffled with those of its batch. The server adds up what the batches tell, each with its own noise: an
    information matrix; in many dimensions and for disjoint arms, where that is mostly noise, the batches themselves
    (`add_up`). One message per user.

    Guarantee: (epsilon, delta)-shuffle privacy for replacing one user, whatever later users do: the server sees each
    user in one shuffled sum (Analyzer), and all it publishes is a function of those sums.
    Regret: measured, not proven (docs/shuffle.md). No horizon is needed: batches grow.
    Reference: none; the contribution is JointGLM's.
    Departure: none.

    first: users of the first batch, who get random arms; by default in proportion to the noise. growth: of the batches,
    by default 1.5, 1.3 with disjoint arms; 1.2 and 1.1 with scores.
    explore: "thompson" draws from the posterior, with little spread in directions that were sampled enough, and a few
    users of each batch, as many as are seen above its noise, try the arm that may be best (`width`). It suits one fixed
    arm set and diverse arms alike. "elimination" plays a G-optimal design on arms not shown to be worse; "ucb" and
    "greedy" are for diverse arms only. width: in standard deviations; 4 (thompson) or 0.9 (elimination, ucb).
    features: where arms are disjoint, devices send the same, and the server leaves out what can be noise alone.
    curvature: "released", or "none": reports are scores alone, as many numbers as features, which devices take at the
    estimate (shuffle.scores). "auto", the default, takes the second from 100 dimensions of an arm on, and where reports
    would be too long. The certificate says so.
    estimate: "batches" or "sum" (docs/shuffle.md). "auto", the default, takes the second for disjoint arms of two
    or more numbers, and from 50 dimensions on for others.
    dropout, malicious: shares of users who may send nothing, or no noise.
    largest: users of a batch at most. By default ten times those of the first, so that a change is noticed soon; a
    hundred times where the estimate is from the sum of all batches, or from scores."""

    first: int | None = None
    growth: float | None = None
    curvature: str = "auto"
    estimate: str = "auto"
    explore: str = "thompson"
    width: float | None = None
    largest: float | None = None
    _state: ShuffleState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(tuple(POLICIES), explore=self.explore)
        if self.width is None:
            self.width = WIDTHS[self.explore]
        checks.non_negative(width=self.width)
        checks.one_of(ESTIMATES, estimate=self.estimate)
        parts = self._blocks
        self._scores, self._why = scores.check(self, parts)
        summed = self._sums(parts)
        disjoint = summed and parts > 1
        first, growth = (FIRST_APART, GROWTH_APART) if disjoint else (FIRST, GROWTH)
        if self._scores:
            first, growth = scores.FIRST, scores.GROWTH_APART if parts > 1 else scores.GROWTH
        if self.growth is None:
            self.growth = growth
        low, high = self.rewards
        self._unit = 1.0 if self._link.bounded else max(abs(low), abs(high))
        scale = balanced_curvature(self._link, self.radius / self._unit)
        of: dict[str, Any] = {"dim": self.dim, "link": self._link, "low": low, "high": high}
        self.contribution = ScoreContribution(**of) if self._scores else GLMContribution(**of, scale=scale)
        size, sensitivity = self.contribution.size, self.contribution.sensitivity
        if self.first is None:
            sigma = 0.0 if self.budget.epsilon == math.inf else sensitivity / gaussian.mu(self.budget)
            self.first = FEWEST + math.ceil(first * sigma)
        if self.largest is None and not (summed or self._scores):
            self.largest = LARGEST * self.first
        self.analyzer = self._analyzer(
            size=size, sensitivity=sensitivity, norm=self.contribution.norm, first=self.first, growth=self.growth
        )
        bounds = float(low), float(high), scale, float(self._unit), float(self.radius), float(self.width)
        fading = self.growth**-FADING if summed else 0.0
        self._settings = NewtonSettings(
            *bounds, parts, fading, APART if disjoint else DENSE, float(self.analyzer.largest)
        )
        self._of_scores = scores.settings(self, self.growth, disjoint=parts > 1)
        self._state = self.init()

    def _sums(self, parts: int) -> bool:
        """Whether the estimate is that of the sum of all batches."""
        if self.estimate != "auto":
            return self.estimate == "sum"
        return self.dim // parts > 1 if parts > 1 else self.dim >= MANY

    def init(self) -> ShuffleState:
        zeros = nothing_released(self.contribution.size)
        before = unlearnt(np.zeros(self.dim)) if self._scores else irls.prior(self.dim, self.radius)
        return ShuffleState(np.zeros(2, np.int64), zeros, np.zeros(1), np.zeros(1), before)

    @property
    def _statistic(self) -> str:
        return scores.STATISTIC if self._scores else super()._statistic

    def _public(self) -> dict[str, Any]:
        posterior = self._state.posterior
        policy: dict[str, Any] = {"name": self.explore if self.version else "random", "width": self.width}
        if policy["name"] == "thompson":
            plan = self.analyzer.plan(self.version)
            policy["share"] = 0.0 if self._scores else float(optimist_share(plan, self.users, self._settings.fading))
        if self._scores:
            return scores.public(posterior, policy)
        return {
            "weights": "saturating",
            "curvature": self.contribution.scale,
            "moment": 1.0,
            "policy": policy,
            "theta": posterior.theta,
            "centre": posterior.centre,
            "inverse": posterior.inverse,
            "axes": posterior.axes,
            "spread": posterior.spread,
        }

    def _close(self, reports: int, sums: Coded, plan: ShufflePlan) -> None:
        if self._scores:
            score_close(reports, sums, plan, self._of_scores, self._state)
        else:
            newton_close(reports, sums, plan, self._settings, self._state)

    def _play(self, block: Block, transit: OpenBatch) -> None:
        policy, noise = self._generators()
        plans = self.analyzer.plans(int(transit.reports[0]) + len(block.noise), self.version)
        before, shared = self.version, (policy, noise, block, self._state, transit, plans)
        if self._scores:
            shuffled_score_rounds(*shared, self._of_scores, self._link.code)
        else:
            newton_rounds(*shared, self._settings, self._link.code, POLICIES[self.explore])
        for batch in range(before, self.version):
            self._charge(batch, self.analyzer.plan(batch).users)
