"""Linear UCB under local privacy from reports (x, y), with a confidence set from an online learner's predictions: what
the bandits of that paper share, and the two that have one learner."""

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reticent import checks
from reticent.algorithms import ridge
from reticent.core.reward import Reward
from reticent.data import Array, Released
from reticent.kernels.block import Block
from reticent_devices.bandits.local.server import LocalServer
from reticent_devices.bandits.server import numbers
from reticent_devices.mechanisms import local
from reticent_devices.mechanisms.randomizers import Lattice, Open, Randomizer
from reticent_devices.mechanisms.shuffle.sums_kernel import OpenBatch
from reticent_papers.local.device import PublishedClient
from reticent_papers.local.maler_kernel import Learner, LearnerSettings
from reticent_papers.local.online_kernel import (
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

LEARNERS = ("maler", "ogd")
# G in units of |x| |prediction - y|, of which a gradient has 2: longer ones are cut. No record of its choice; regret
# does not tell 4 from 8 and 16 (Maler, `tail`, d = 3, T = 20 000, delta .1, 8 runs: 1784, 1703, 1958 +- 600 at epsilon
# 1, and 134, 112, 117 +- 36 at epsilon 10).
CLIP = 4
LEAST_STRENGTH = 1e-6  # mu of the learner, at least: it divides by it
CALIBRATIONS = ("exact", "paper")


@dataclass(kw_only=True, eq=False)
class LocalPairs(LocalServer):
    """Each device sends (x, y) with Gaussian noise; sensitivity^2 = 4 + (high - low)^2, attained by opposite unit arms
    with the two extreme rewards.

    calibration="paper" keeps the paper's sigma, 2 sqrt(2 log(1.25 / delta)) / epsilon, which takes x and y for one
    number of sensitivity 2 and holds for epsilon < 1 at most: the certificate prints the epsilon it really gives."""

    reward: Reward = field(default=Reward("identity"), kw_only=False)
    learner: str = "maler"
    calibration: str = "exact"
    failure: float | None = None
    width_scale: float = 0.0
    _client = PublishedClient
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
        return Rates(np.zeros(1), np.zeros(1), np.zeros(1), 1.0, True)

    def init(self) -> OnlineState:
        return OnlineState(np.zeros(1, np.int64), self._bases(), self._rates())

    def _base(self, *, eigenvalue: float, threshold: float, power: float = 0.0) -> Base:
        """Algorithm 1 with those lambda_min and threshold; power > 0: Algorithm 9, whose threshold follows."""
        rounds = float(self.horizon or 10_000)
        grid = math.ceil(0.5 * math.log2(max(rounds, 2.0))) + 1 if self.learner == "maler" else 0
        shake = math.sqrt(threshold) if eigenvalue <= threshold else 0.0
        noise = self.std**2 + shake**2
        size = math.sqrt(1 + self.dim * noise)
        clip = CLIP * size * math.sqrt(1 + self.std**2 + self.radius**2 * (1 + noise))  # gradients are rarely larger
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

    def _advance(self, transit: OpenBatch, users: int) -> bool:
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

    def _play(self, block: Block, transit: OpenBatch) -> None:
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


@dataclass(kw_only=True, eq=False)
class LocalOnlineUCB(LocalPairs):
    """Each device sends (x, y) with Gaussian noise; an online learner predicts theta_t on the loss
    (<x, theta> - y)^2 - sigma^2 |theta|^2, whose expectation theta* minimises; optimism over the ellipsoid of
    V = I + sum x x' around V^-1 sum <theta_t, x> x.

    Guarantee: each report is (epsilon, delta)-private by itself, for replacing one user (calibration="exact").
    Reference: "Improved rate for Locally Differentially Private Linear Bandits" (anonymous, under review), Algorithms 1
    and 5 to 8; Maler: Wang, Lu & Zhang 2020.
    Departure: the gradient is taken at theta in the loss (the paper writes theta_t there). Gradients are cut to length
    G, which the learner's steps depend on: about twice the root of their mean square at |theta| = radius. That is not
    for free: with much noise (epsilon 1, delta 0.1, d = 3, radius 1) one of twenty is cut at |theta| = 1, which moves
    their mean by 0.9 to 1.0, more than its own length; at theta = 0 it is one of eighty, which moves it by 0.02. The
    paper's Appendix B calls G the clipping constant, but Algorithms 1 and 5 to 8 cut nothing. Its G (Corollary C.1) has
    an unknown constant, holds with high probability, with no cut where it does not, and rests on |noise of x| <= sigma
    sqrt(2 log(2 T / alpha)) in all rounds, which lacks sqrt d:
    with d = 40 and T / alpha = 10^6 that fails in nine rounds of ten, and Lemma 3.5 with it. The confidence width has
    hidden constants in the paper, and V contains t sigma^2 I, so that the bonus is nearly the same for all arms of one
    norm: width_scale times the lemmas' expression with all constants 1, and 0 by default.

    eigenvalue: lambda_min of E[x x']; at or below threshold (default T^(-1/4), as in Corollary 3.6) devices add
    N(0, threshold) to x; threshold=0: never, if the eigenvalue is above 0.
    learner: "maler" or "ogd" (projected gradient descent with steps 1 / (mu t + G sqrt t / 2 D)).
    """

    eigenvalue: float = 0.1
    threshold: float | None = None

    def __post_init__(self) -> None:
        checks.non_negative(eigenvalue=self.eigenvalue)
        if self.threshold is None:
            self.threshold = (self.horizon or 10_000) ** -0.25
        checks.non_negative(threshold=self.threshold)
        super().__post_init__()

    def _bases(self) -> tuple[Base, ...]:
        assert self.threshold is not None
        return (self._base(eigenvalue=self.eigenvalue, threshold=self.threshold),)


@dataclass(kw_only=True, eq=False)
class LocalAnytimeUCB(LocalPairs):
    """LocalOnlineUCB started afresh in rounds 1, 2, 4, 8, ..., with the threshold 2^(-m power) from round 2^m on.

    Guarantee: that of LocalOnlineUCB: each report is private by itself.
    Reference: "Improved rate for Locally Differentially Private Linear Bandits" (anonymous, under review), Algorithm 9.
    Departure: as LocalOnlineUCB."""

    eigenvalue: float = 0.0
    power: float = 0.25

    def __post_init__(self) -> None:
        checks.non_negative(eigenvalue=self.eigenvalue)
        checks.positive(power=self.power)
        super().__post_init__()

    def _bases(self) -> tuple[Base, ...]:
        return (self._base(eigenvalue=self.eigenvalue, threshold=1.0, power=self.power),)
