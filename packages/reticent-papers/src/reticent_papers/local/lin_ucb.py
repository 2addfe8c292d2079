"""LinUCB under local privacy: noise on every user's x x' and y x."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reticent import checks
from reticent.algorithms import ridge
from reticent.core.reward import Reward
from reticent.data import Array, Released
from reticent.kernels.block import Block
from reticent.kernels.rounds import CHOICES
from reticent.mechanisms.leaves import nothing_released
from reticent.model.linear import LinearContribution
from reticent_devices.bandits.local.server import LocalServer
from reticent_devices.bandits.server import numbers
from reticent_devices.mechanisms import local
from reticent_devices.mechanisms.randomizers import Lattice, Open, Randomizer
from reticent_devices.mechanisms.shuffle.sums_kernel import OpenBatch
from reticent_papers.confidence import balanced_scale
from reticent_papers.local.device import PublishedClient
from reticent_papers.local.linear_kernel import (
    BOUNDARY,
    VERSION,
    LinearSettings,
    LocalLinearState,
    linear_absorb,
    linear_publish,
    local_linear_rounds,
)
from reticent_papers.local.online import CALIBRATIONS

GROWTH = 1.02  # of the number of reports from one estimate to the next: no record of its choice


@dataclass(kw_only=True, eq=False)
class LocalLinUCB(LocalServer):
    """Each device sends (svec(x x'), scale y x) with Gaussian noise; the server adds up and is optimistic.

    Guarantee: each report is (epsilon, delta)-private by itself, for replacing one user (calibration="exact").
    Reference: Zheng, Cai, Huang, Li & Wang 2020, arXiv:2006.00701.
    Departure: the stacked sensitivity and the exact Gaussian curve. calibration="paper": half of the budget for each of
    x x' and y x, each by 2 sqrt(2 log(1.25 / delta)) / epsilon, our reading of the published noise; its certificate
    prints the epsilon it really gives. The estimate is published when reports have grown by the factor `growth`."""

    reward: Reward = field(default=Reward("identity"), kw_only=False)
    subgaussian: float | None = None
    failure: float | None = None
    width_scale: float = 1.0
    calibration: str = "exact"
    growth: float = GROWTH
    _client = PublishedClient
    _state: LocalLinearState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(CALIBRATIONS, calibration=self.calibration)
        checks.non_negative(width_scale=self.width_scale)
        low, high = self.rewards
        if self.subgaussian is None:
            self.subgaussian = (high - low) / 2
        if self.failure is None:
            self.failure = 1 / max(2, self.horizon or 1000)
        checks.probability(failure=self.failure)
        exact = self.calibration == "exact"
        largest = max(abs(low), abs(high))
        scale = balanced_scale(self.dim, self.radius, largest) if exact else 1.0
        self.contribution = LinearContribution(dim=self.dim, scale=scale, low=low, high=high)
        size, sensitivity = self.contribution.size, self.contribution.sensitivity
        made: Randomizer = Open()
        if self.budget.epsilon < math.inf:
            made = local.lattice(self.budget, sensitivity, size)
            if not exact:
                made = Lattice(4 * math.sqrt(2 * math.log(2.5 / self.budget.delta)) / self.budget.epsilon)
        self._calibrate(made, size=size, sensitivity=sensitivity, enforce=exact)
        rounds = self.horizon or 10_000
        logs = [2 * math.log(2 * rounds / self.failure), 2 * math.log(1 / self.failure)]
        own = scale, self.radius, self.subgaussian, *logs, self.width_scale, self.growth
        self._settings = LinearSettings(*map(float, (low, high, *own)))
        self._state = self.init()

    def init(self) -> LocalLinearState:
        counts = np.zeros(3, np.int64)
        counts[BOUNDARY] = 1
        width = self.width_scale * self.radius
        return LocalLinearState(counts, nothing_released(self._size), ridge.empty(self.dim, 1.0), np.array([width]))

    @property
    def version(self) -> int:
        return int(self._state.counts[VERSION])

    def _advance(self, transit: OpenBatch, users: int) -> bool:
        if self._state.counts[CHOICES] >= self._state.counts[BOUNDARY]:
            linear_publish(self._state, self.std, self._settings)
        return False

    def _document(self) -> dict[str, Any]:
        return {
            "theta": numbers(self._state.estimate.theta),
            "inverse": numbers(self._state.estimate.inverse),
            "report": {"name": "linear", "scale": self.contribution.scale},
            "policy": {"name": "ucb", "width": float(self._state.width[0])},
        }

    def _absorb(self, vector: Released) -> None:
        linear_absorb(vector, self._state)

    def _play(self, block: Block, transit: OpenBatch) -> None:
        local_linear_rounds(self._generators()[1], block, self._state, self._law, self._settings)

    @property
    def theta(self) -> Array:
        out: Array = self._state.estimate.theta.copy()
        return out

    def _statistic(self) -> str:
        return f"x x' and y x of each user, {self._size} numbers, once"

    def _caveats(self) -> tuple[str, ...]:
        if self.calibration == "paper" and abs(self.epsilon / self.budget.epsilon - 1) > 1e-6:
            return (f"The paper's noise gives epsilon {self.epsilon:.3g}, not {self.budget.epsilon:g}.",)
        return ()
