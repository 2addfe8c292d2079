"""LinUCB under shuffle privacy: batches of equal length, shuffled sums of x x' and y x."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reticent import checks
from reticent.algorithms import irls
from reticent.core.reward import Reward
from reticent.data import Coded
from reticent.errors import NoHorizon, NotSecure
from reticent.kernels.block import Block
from reticent.mechanisms.leaves import nothing_released
from reticent.model.linear import LinearContribution
from reticent_devices.bandits.shuffle.batches_kernel import ShuffleState
from reticent_devices.bandits.shuffle.server import Shuffled
from reticent_devices.mechanisms.shuffle.calibration import ShufflePlan
from reticent_devices.mechanisms.shuffle.encoding import reach
from reticent_devices.mechanisms.shuffle.sums_kernel import OpenBatch
from reticent_papers.confidence import balanced_scale
from reticent_papers.shuffle.amplification import amplified, local_epsilon
from reticent_papers.shuffle.lin_ucb_kernel import Settings, linear_close, shuffle_linear_rounds

VARIANTS = ("sum", "amplification")
RIDGE = 1.0  # lambda of the paper
LAPLACE_GRID = 64.0  # cells per unit in the amplification variant: rounding adds a cell to sensitivities of hundreds


@dataclass(kw_only=True, eq=False)
class ShuffleLinUCB(Shuffled):
    """Optimism with ridge regression on the shuffled sums of batches of `first` users each.

    Guarantee: (epsilon, delta)-shuffle privacy for replacing one user, whatever later users do: each user is in one
    batch.
    variant="sum": the shuffled sum with computed noise (Analyzer). variant="amplification": each report is locally
    private by itself (Laplace noise), and the bound of Feldman et al. 2021 gives what shuffling `first` of them makes
    of it; batches too small for the bound are refused. It is simulated only.
    Reference: Chowdhury & Zhou 2022, arXiv:2202.05567, Algorithm 1, with its vector summation and its amplification
    variant.
    Departure: exact calibration instead of theirs; Laplace noise instead of Gaussian in the amplification variant, so
    that the local guarantee is pure, as the bound needs. The width is their form, sub sqrt(2 ln(2 / failure) + d ln(1
    + T / (d ridge))) + sqrt(ridge) S, times width_scale; the ridge adds what bounds the noise matrix, recomputed from
    the noise so far.

    first: users of a batch, by default T^(3/5), their choice."""

    reward: Reward = field(default=Reward("identity", range=(-1.0, 1.0)), kw_only=False)
    first: int | None = None
    growth: float = 1.0
    variant: str = "sum"
    subgaussian: float | None = None
    failure: float | None = None
    width_scale: float = 1.0
    _state: ShuffleState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(VARIANTS, variant=self.variant)
        checks.non_negative(width_scale=self.width_scale)
        if self.horizon is None:
            raise NoHorizon("Expected a horizon for ShuffleLinUCB, whose width and batches depend on it, got None.")
        low, high = self.rewards
        largest = max(abs(low), abs(high))
        scale = balanced_scale(self.dim, self.radius, largest)
        self.contribution = LinearContribution(dim=self.dim, scale=scale, low=low, high=high)
        if self.first is None:
            self.first = math.ceil(self.horizon**0.6)
        norm = math.sqrt(1 + (scale * largest) ** 2)
        sensitivity = self.contribution.sensitivity
        if self.variant == "amplification":
            if self.source is None:
                raise NotSecure(
                    "Expected a simulated source for the amplification variant, got none: use variant='sum'."
                )
            if self.growth != 1 or self.dropout or self.malicious:
                raise ValueError("Expected equal batches and no dropout for the amplification variant, got others.")
        self.analyzer = self._analyzer(
            size=self.contribution.size, sensitivity=sensitivity, norm=norm, first=self.first, growth=self.growth
        )
        if self.variant == "amplification" and self.budget.epsilon != math.inf:
            self._laplace(scale * largest)
        failure = 1 / max(2, self.horizon) if self.failure is None else self.failure
        checks.probability(failure=failure)
        sub = (high - low) / 2 if self.subgaussian is None else self.subgaussian
        width = (
            sub * math.sqrt(2 * math.log(2 / failure) + self.dim * math.log(1 + self.horizon / self.dim)) + self.radius
        )
        # noise matrix: operator norm at most std (sqrt(2 d) + sqrt(2 ln(2 / failure))), the smallest eigenvalue stays
        # above 0
        spread = math.sqrt(2 * self.dim) + math.sqrt(2 * math.log(2 / failure))
        widths = self.width_scale * spread, self.width_scale * width
        self._settings = Settings(*map(float, (low, high, scale, RIDGE, *widths)))
        self._state = self.init()

    def _laplace(self, moment: float) -> None:
        """A pure local guarantee from noise on integers: |v - v'|_1 <= 2 max |v|_1, and |svec(x x')|_1 =
        sum x_i^2 + sqrt 2 sum_{i < j} |x_i x_j| <= 1 + (d - 1) / sqrt 2, |x|_1 <= sqrt d; rounding adds one cell a
        number."""
        assert self.first is not None
        local = local_epsilon(self.budget, self.first)
        size, grid = self.contribution.size, LAPLACE_GRID
        cells = 2 * grid * (1 + (self.dim - 1) / math.sqrt(2) + moment * math.sqrt(self.dim)) + size
        spread = cells / local
        largest = reach(grid, self.analyzer.norm, spread)
        self.analyzer.fix(ShufflePlan(self.first, size, grid, largest, 0, self.contribution.sensitivity, spread))
        self.local = local

    def _cost(self, plan: ShufflePlan, reports: int) -> float:
        if self.variant == "sum" or self.budget.epsilon == math.inf:
            return super()._cost(plan, reports)
        return amplified(self.local, reports, self.budget.delta)

    def init(self) -> ShuffleState:
        zeros = nothing_released(self.contribution.size)
        return ShuffleState(np.zeros(2, np.int64), zeros, np.zeros(1), np.zeros(1), irls.prior(self.dim, self.radius))

    def _public(self) -> dict[str, Any]:
        posterior = self._state.posterior
        return {
            "weights": "plain",
            "curvature": 1.0,
            "moment": self.contribution.scale,
            "policy": {"name": "ucb", "width": self._settings.width},
            "theta": posterior.theta,
            "centre": posterior.theta,
            "inverse": posterior.inverse,
            "axes": posterior.axes,
            "spread": np.zeros(self.dim),
        }

    def _close(self, reports: int, sums: Coded, plan: ShufflePlan) -> None:
        linear_close(reports, sums, plan, self._settings, self._state)

    def _play(self, block: Block, transit: OpenBatch) -> None:
        _, noise = self._generators()
        plans = self.analyzer.plans(int(transit.reports[0]) + len(block.noise), self.version)
        before = self.version
        shuffle_linear_rounds(noise, block, self._state, transit, plans, self._settings)
        for batch in range(before, self.version):
            self._charge(batch, self.analyzer.plan(batch).users)
