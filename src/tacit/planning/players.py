"""The default bandit of each trust model, for a setting, and what noise it has."""

import functools
import math
from typing import Any, NamedTuple

from numpy.random import Generator, default_rng

from tacit.bandits import Embedded, JointGLM, LocalIRLS, ShuffleNewton
from tacit.errors import BudgetExceeded
from tacit.mechanisms.shuffle.calibration import OVERHEAD, Plan
from tacit.mechanisms.shuffle.encoding import reach
from tacit.planning.setting import Setting
from tacit.privacy import gaussian
from tacit.privacy.noise import Simulated
from tacit.roles.analyzer import Analyzer

COINS = 53  # as many as one random number has bits


class Noise(NamedTuple):
    """std: of the noise. first: users of the shortest step. random: users who get random arms at the start."""

    std: float
    first: int
    random: int


class Coarse(Analyzer):
    """Batches whose noise has the same law, nearly, from fewer coins on a coarser grid: a simulation need not hide
    anything, and a coin costs time."""

    def _make(self, users: int) -> Plan:
        plan = super()._make(users)
        if plan.trials <= COINS:
            return plan
        scale = plan.scale * math.sqrt((COINS + 1) / (plan.trials + 1))  # the same std
        return plan._replace(scale=scale, trials=COINS, reach=reach(scale, self.norm))


class CoarseNewton(ShuffleNewton):
    def _analyzer(self, *, size: int, sensitivity: float, norm: float, first: int, growth: float) -> Analyzer:
        return Coarse(budget=self.budget, size=size, sensitivity=sensitivity, norm=norm, first=first, growth=growth)


def player(setting: Setting, policy: Generator, source: Simulated) -> Any:
    """The default of the trust model, without a horizon."""
    shared: dict[str, Any] = {
        "dim": setting.dim,
        "budget": setting.budget,
        "radius": setting.radius,
        "source": source,
        "policy": policy,
    }
    if setting.model == "joint":
        return JointGLM(**shared, pending=1, max_rounds_per_person=setting.rounds_per_person)
    if setting.model == "shuffle":  # one estimate in all dimensions; from 50 on the default learns faster
        return Embedded(CoarseNewton(**shared, estimate="batches"), pending=1)
    return Embedded(LocalIRLS(**shared), pending=1)


@functools.lru_cache(maxsize=1024)
def noise_of(setting: Setting) -> Noise:
    """As the bandit has it; BudgetExceeded where no report can have so little epsilon."""
    made = player(setting, default_rng(0), Simulated(0))
    if setting.model == "joint":
        return Noise(made.mechanism.sigma, made.first, made.first)
    server = made.server
    if setting.model == "shuffle":
        std = OVERHEAD * server.contribution.sensitivity / gaussian.mu(setting.budget)
        return Noise(std, server.first, server.first)
    return Noise(server.std, server.first, server.forced)


def possible(setting: Setting) -> bool:
    try:
        noise_of(setting)
    except BudgetExceeded:
        return False
    return True
