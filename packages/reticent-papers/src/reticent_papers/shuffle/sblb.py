"""SBLB: LinUCB under shuffle privacy from bits, some of which devices replace by fair coins."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reticent import checks
from reticent.algorithms import irls
from reticent.core.reward import Reward
from reticent.data import Coded
from reticent.errors import BudgetExceeded, NoHorizon
from reticent.kernels.block import Block
from reticent.mechanisms.leaves import nothing_released
from reticent.model.linear import linear_sensitivity
from reticent.model.vectors import pair_size
from reticent_devices.bandits.server import numbers
from reticent_devices.bandits.shuffle.server import Shuffled
from reticent_devices.mechanisms.shuffle.calibration import ShufflePlan
from reticent_devices.mechanisms.shuffle.sums_kernel import OpenBatch
from reticent_devices.roles import wire
from reticent_devices.roles.analyzer import honest
from reticent_papers.mechanisms.flips import SHARE, calibrate_flips, epsilon_of
from reticent_papers.shuffle import bit_boards
from reticent_papers.shuffle.sblb_device import SBLBClient
from reticent_papers.shuffle.sblb_kernel import WIDTH, SBLBSettings, SBLBState, sblb_close, sblb_rounds, width_at


@dataclass(kw_only=True, eq=False)
class ShuffleSBLB(Shuffled):
    """Optimism with ridge regression on shuffled sums of bits: a device writes each number of x x' and r x as `bits`
    bits and replaces each bit by a fair coin with probability p. Batches have `first` users each; the estimate is
    renewed only after a batch with which the determinant of the noisy matrix is 1 + `threshold` times what it was.

    Guarantee: (epsilon, delta)-shuffle privacy for replacing one user, whatever later users do: each user is in one
    batch, of which the analyzer sees for each number the count of ones. p is calibrated, and epsilon recomputed, by
    the privacy loss of all bits together (mechanisms.flips: numerical, with a proof), for any epsilon.
    Reference: Garcelon, Chaudhuri, Perchet & Pirotta 2022, arXiv:2112.06008: Algorithm 1 (p. 5), the randomizer of
    Algorithms 2 and 3 (p. 17), widths (7) and ridges (8) of Lemma 10 (p. 11-12); m = 1, eta = 1/2 and lambda = sqrt T
    of Corollary 9 (p. 10).
    Departure: p is not that of Theorem 5 (p. 9), which is false as printed (docs/papers/shuffle.md) and composes all
    batches, though a user is in one of them; Corollary 9 needs epsilon <= 1 / (27 T^(1/4)). The ridge in V is that of
    the time at which V is tested, 2 lambda_t - lambda, to which the increments of Algorithm 1 add up; (11) on p. 18 has
    2 lambda_t. (7) is as printed: in its last term, for the noise of B, the factor 1 / (m (1 - p)) that debiasing
    brings is missing, so it is no confidence bound where p is large. Where noise leaves V indefinite the estimate
    stays. Before the first batch, t = 1 in (7). Rewards are divided by the largest in size, so that r is in [-1, 1]; L
    = 1.

    first: users of a batch, by default T^(2/3), the order of the regret bound: the paper's length is longer than any
    horizon in use (docs/papers/shuffle.md). bits: m. ridge: lambda. width_scale: of beta, and of the noise in lambda_j;
    1 is as published. dropout, malicious: shares of users who may send nothing, or no noise."""

    reward: Reward = field(default=Reward("identity"), kw_only=False)
    first: int | None = None
    bits: int = 1
    threshold: float = 0.5
    ridge: float | None = None
    subgaussian: float | None = None
    failure: float | None = None
    width_scale: float = 1.0
    _state: SBLBState = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive_int(bits=self.bits)
        checks.positive(threshold=self.threshold)
        checks.non_negative(width_scale=self.width_scale)
        checks.one_of(("exact",), calibration=self.calibration)
        if self.horizon is None:
            raise NoHorizon("Expected a horizon for ShuffleSBLB, whose width and batches depend on it, got None.")
        if self.first is None:
            self.first = math.ceil(self.horizon ** (2 / 3))
        if self.ridge is None:
            self.ridge = math.sqrt(self.horizon)
        checks.positive(ridge=self.ridge)
        failure = 1 / max(2, self.horizon) if self.failure is None else self.failure
        checks.probability(failure=failure)
        low, high = self.rewards
        largest = max(abs(low), abs(high))
        sub = (high - low) / 2 if self.subgaussian is None else self.subgaussian
        scaled = largest, self.radius, sub / largest, self.ridge, failure, math.log1p(self.threshold), self.width_scale
        self._settings = SBLBSettings(*map(float, scaled))
        size, sensitivity = pair_size(self.dim), linear_sensitivity(1.0) / 2
        self.analyzer = self._analyzer(
            size=size, sensitivity=sensitivity, norm=math.sqrt(0.5), first=self.first, growth=1.0
        )
        chance = self._calibrated(self.first, size * self.bits)
        kept = self.bits * (1 - chance / SHARE)  # unshuffle then is Algorithm 1's Z / (m (1 - p)) - l / (2 (1 - p))
        plan = ShufflePlan(self.first, size, kept, 0, self.bits, sensitivity)
        self.analyzer.fix(plan)
        found = self._cost(plan, self.analyzer.minimum(plan))
        if found > self.budget.epsilon * (1 + 1e-6):
            raise BudgetExceeded(f"Expected epsilon at most {self.budget.epsilon:g}, got {found:.6g} from the coins.")
        self._state = self.init()

    def _calibrated(self, users: int, bits: int) -> int:
        if self.budget.epsilon == math.inf:
            return 0
        return calibrate_flips(self.budget, honest=honest(users, self.dropout, self.malicious), bits=bits)

    def _cost(self, plan: ShufflePlan, reports: int) -> float:
        if self.budget.epsilon == math.inf:
            return math.inf
        there = min(reports, plan.users) - self.analyzer.liars(plan)
        return epsilon_of(_chance(plan), there, plan.size * plan.trials, self.budget.delta)

    def _coin(self, plan: ShufflePlan) -> float:
        return _chance(plan) / SHARE

    def _std(self, plan: ShufflePlan) -> float:
        """Of a number of the sum, the rounding to bits included: at most 1/4 for each bit."""
        return math.sqrt(plan.users * plan.trials) / 2 / plan.scale

    def init(self) -> SBLBState:
        """V_0 = lambda I, theta_0 = 0: the longest arm is chosen until the estimate is renewed."""
        plan, d, ridge = self.analyzer.plan(0), self.dim, self._settings.ridge
        posterior = irls.prior(d, self.radius)
        posterior.inverse[:] = np.eye(d) / ridge
        held = np.array([d * math.log(ridge), self._settings.largest * width_at(1.0, d, plan, self._settings)])
        return SBLBState(np.zeros(2, np.int64), nothing_released(plan.size), np.zeros(1), held, posterior)

    @property
    def _statistic(self) -> str:
        plan = self.analyzer.plan(self.version)
        return f"bits of x x' and r x, each replaced by a fair coin with probability {_chance(plan) / SHARE:.6g},"

    def _board(self) -> dict[str, Any]:
        plan, public = self.analyzer.plan(self.version), self._public()
        return {
            "format": bit_boards.FORMAT,
            "version": wire.VERSION,
            "model": "shuffle",
            "bandit": type(self).__name__,
            "batch": self.version,
            "dim": self.dim,
            "features": self._schema,
            "link": self.link,
            "rewards": list(self.rewards),
            "plan": {
                "users": plan.users,
                "minimum": self.analyzer.minimum(plan),
                "malicious": self.analyzer.liars(plan),
                "bits": plan.trials,
                "chance": _chance(plan),
                "epsilon": None if math.isinf(self.budget.epsilon) else self.budget.epsilon,
                "delta": self.budget.delta,
            },
            **{key: numbers(value) for key, value in public.items()},
        }

    def _public(self) -> dict[str, Any]:
        posterior = self._state.posterior
        return {"width": self._state.held[WIDTH], "theta": posterior.theta, "inverse": posterior.inverse}

    def device(self) -> SBLBClient:
        return SBLBClient(self.billboard(), features=self.schema, noise=self._noise(), draws=self._draws())

    def _close(self, reports: int, sums: Coded, plan: ShufflePlan) -> None:
        sblb_close(reports, sums, plan, self._settings, self._state)

    def _play(self, block: Block, transit: OpenBatch) -> None:
        _, noise = self._generators()
        plans = self.analyzer.plans(int(transit.reports[0]) + len(block.noise), self.version)
        before = self.version
        sblb_rounds(noise, block, self._state, transit, plans, self._settings)
        for batch in range(before, self.version):
            self._charge(batch, self.analyzer.plan(batch).users)


def _chance(plan: ShufflePlan) -> int:
    """p in parts of SHARE: scale / trials is 1 - p, within a rounding far smaller than half a part."""
    return round((1 - plan.scale / plan.trials) * SHARE)
