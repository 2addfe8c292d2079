"""Generalised linear bandits under local privacy by stochastic gradient descent."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reticent import checks
from reticent.data import Array, Released
from reticent.kernels.block import Block
from reticent_devices.bandits.local.server import LocalServer
from reticent_devices.bandits.server import numbers
from reticent_devices.mechanisms import local
from reticent_devices.mechanisms.shuffle.sums_kernel import OpenBatch
from reticent_papers.local.device import PublishedClient
from reticent_papers.local.linear_kernel import (
    GradientSettings,
    LocalGradientState,
    gradient_step,
    local_gradient_rounds,
)

CURVATURE = 0.02  # mu of the steps: no record of its choice
RANDOMIZERS = ("hemisphere", "best", "cap", "gaussian")


@dataclass(kw_only=True, eq=False)
class LocalGLM(LocalServer):
    """Each device sends the randomised gradient (mu(<x, theta_t>) - r) x; the server takes one step for each; play is
    greedy, which needs contexts that are diverse.

    Guarantee: each report is epsilon-private by itself (pure, but for randomizer="gaussian"), for replacing one user.
    Reference: Han, Liang, Wang & Zhang 2021, arXiv:2106.03365; the randomiser of vectors in a ball is that of Duchi,
    Jordan & Wainwright 2018 (randomizer="hemisphere").
    Departure: a gradient shorter than its bound is lifted to the sphere, where the published code divides by its norm
    (and fails at 0); steps 1 / (mu t + noise sqrt(t) / radius), which need no eigenvalue of the contexts."""

    randomizer: str = "hemisphere"
    curvature: float = CURVATURE
    _client = PublishedClient
    _state: LocalGradientState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(RANDOMIZERS, randomizer=self.randomizer)
        checks.positive(curvature=self.curvature)
        bound = 1.0 if self._link.bounded else self.radius + max(map(abs, self.rewards))
        made = local.best(self.budget, sensitivity=2.0, radius=1.0, size=self.dim, kind=self.randomizer)
        self._calibrate(made, size=self.dim, sensitivity=2.0)
        noise = bound * (1 + self.std * self.dim**0.5)
        self._settings = GradientSettings(*map(float, (*self.rewards, self.radius, self.curvature, bound, noise)))
        self._state = self.init()

    def init(self) -> LocalGradientState:
        return LocalGradientState(np.zeros(1, np.int64), np.zeros(self.dim))

    @property
    def version(self) -> int:
        return self.users

    def _advance(self, transit: OpenBatch, users: int) -> bool:
        return False

    def _document(self) -> dict[str, Any]:
        return {
            "theta": numbers(self._state.theta),
            "inverse": [],
            "report": {"name": "gradient", "bound": self._settings.bound},
            "policy": {"name": "greedy"},
        }

    def _absorb(self, vector: Released) -> None:
        gradient_step(vector, self._state, self._settings)

    def _play(self, block: Block, transit: OpenBatch) -> None:
        noise = self._generators()[1]
        local_gradient_rounds(noise, block, self._state, self._law, self._settings, self._link.code)

    @property
    def theta(self) -> Array:
        out: Array = self._state.theta.copy()
        return out

    def _statistic(self) -> str:
        return f"the gradient of each user, {self._size} numbers, once"
