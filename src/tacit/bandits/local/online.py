"""What the bandits of the local online-to-confidence-set paper share: reports (x, y), and base bandits fed by them."""

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit import checks
from tacit.bandits import ridge
from tacit.bandits.local.maler_kernel import Learner, LearnerSettings
from tacit.bandits.local.online_kernel import (
    Base,
    BaseSettings,
    OnlineState,
    Rates,
    base_absorb,
    base_ready,
    base_restart,
    base_review,
    base_width,
    best_base,
    online_rounds,
)
from tacit.bandits.local.server import LocalServer
from tacit.bandits.server import numbers
from tacit.data import Array, Released
from tacit.kernels.block import Block
from tacit.mechanisms import local
from tacit.mechanisms.randomizers import Lattice, Open, Randomizer

LEARNERS = ("maler", "ogd")
LEAST_STRENGTH = 1e-6  # mu of the learner, at least: it divides by it
CALIBRATIONS = ("exact", "paper")


@dataclass(kw_only=True, eq=False)
class LocalPairs(LocalServer):
    """Each device sends (x, y) with Gaussian noise; sensitivity^2 = 4 + (high - low)^2, attained by opposite unit arms
    with the two extreme rewards.

    calibration="paper" keeps the paper's sigma, 2 sqrt(2 log(1.25 / delta)) / epsilon, which takes x and y for one
    number of sensitivity 2 and holds for epsilon < 1 at most: the certificate prints the epsilon it really gives."""

    link: str = "identity"
    learner: str = "maler"
    calibration: str = "exact"
    failure: float | None = None
    width_scale: float = 0.0
    _state: OnlineState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(LEARNERS, learner=self.learner)
        checks.one_of(CALIBRATIONS, calibration=self.calibration)
        checks.non_negative(width_scale=self.width_scale)
        if self.failure is None:
            self.failure = 1 / max(2, self.horizon or 1000)
        checks.probability(failure=self.failure)
        sensitivity = math.hypot(2.0, self.rewards[1] - self.rewards[0])
        made: Randomizer = Open()
        if self.budget.epsilon < math.inf:
            made = local.lattice(self.budget, sensitivity, self.dim + 1)
            if self.calibration == "paper":
                made = Lattice(2 * math.sqrt(2 * math.log(1.25 / self.budget.delta)) / self.budget.epsilon)
        exact = self.calibration == "exact"
        self._calibrate(made, size=self.dim + 1, sensitivity=sensitivity, enforce=exact)
        self._state = self.init()

    @abstractmethod
    def _bases(self) -> tuple[Base, ...]:
        """The learners that run side by side."""

    def _rates(self) -> Rates:
        return Rates(np.zeros(1), np.zeros(1), np.zeros(1))

    def init(self) -> OnlineState:
        return OnlineState(np.zeros(1, np.int64), self._bases(), self._rates())

    def _base(self, *, eigenvalue: float, threshold: float, power: float = 0.0) -> Base:
        """Algorithm 1 with those lambda_min and threshold; power > 0: Algorithm 9, whose threshold follows."""
        rounds = float(self.horizon or 10_000)
        grid = math.ceil(0.5 * math.log2(max(rounds, 2.0))) + 1 if self.learner == "maler" else 0
        shake = math.sqrt(threshold) if eigenvalue <= threshold else 0.0
        noise = self.std**2 + shake**2
        size = math.sqrt(1 + self.dim * noise)
        clip = 4 * size * math.sqrt(1 + self.std**2 + self.radius**2 * (1 + noise))  # gradients are rarely larger
        strength = max(2 * (eigenvalue + shake**2), LEAST_STRENGTH)
        d = self.dim
        learner = Learner(
            np.zeros(d),
            np.zeros(1, np.int64),
            np.zeros((1 + 2 * grid, d)),
            np.zeros(1 + 2 * grid),
            np.zeros((grid, d, d)),
            np.zeros(1 + grid),
            np.array([strength]),
            LearnerSettings(float(self.radius), clip, self.learner == "maler"),
        )
        assert self.failure is not None
        own = self.std, eigenvalue, power, self.width_scale, self.radius, rounds, self.failure
        settings, tally = BaseSettings(*map(float, own)), np.array([0.0, 0.0, 1.0])
        base = Base(
            np.zeros(3, np.int64), learner, np.zeros(d), ridge.empty(d, 1.0), np.array([shake]), tally, settings
        )
        base_restart(base)
        return base

    # the algorithm

    def _chosen(self) -> int:
        return int(best_base(self._state.bases, self._state.rates)) if len(self._state.bases) > 1 else 0

    @property
    def version(self) -> int:
        return self.users

    def _advance(self, transit: Any, users: int) -> bool:
        base_ready(self._state.bases[self._chosen()])
        return False

    def _document(self) -> dict[str, Any]:
        base = self._state.bases[self._chosen()]
        return {
            "theta": numbers(base.estimate.theta),
            "inverse": numbers(base.estimate.inverse),
            "report": {"name": "pair", "scale": 1.0, "middle": 0.0, "shake": float(base.shake[0])},
            "policy": {"name": "ucb", "width": float(base_width(base))},
        }

    @property
    def _shake(self) -> float:
        return max(float(base.shake[0]) for base in self._state.bases)

    def _absorb(self, vector: Released) -> None:
        index = self._chosen()
        base_ready(self._state.bases[index])
        base_absorb(self._state.bases[index], vector, 1.0)
        self._state.counts[0] += 1
        if len(self._state.bases) > 1:
            base_review(self._state.bases, self._state.rates, index)

    def _play(self, block: Block, transit: Any) -> None:
        online_rounds(self._generators()[1], block, self._state, self._law, 1.0)

    @property
    def theta(self) -> Array:
        """The centre of the confidence set that the next user chooses by."""
        out: Array = self._state.bases[self._chosen()].estimate.theta.copy()
        return out

    def _statistic(self) -> str:
        return f"x and y of each user, {self._size} numbers, once"

    def _caveats(self) -> tuple[str, ...]:
        if self.calibration == "paper" and self.epsilon > self.budget.epsilon:
            return (f"The paper's noise gives epsilon {self.epsilon:.3g}, not {self.budget.epsilon:g}.",)
        return ()
