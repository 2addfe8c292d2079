"""The default bandit of each trust model, for a setting, and what noise it has."""

import functools
from typing import Any, NamedTuple

from numpy.random import Generator, default_rng

from tacit.bandits import Embedded, JointGLM, LocalIRLS, ShuffleNewton
from tacit.errors import BudgetExceeded
from tacit.mechanisms.shuffle.calibration import OVERHEAD
from tacit.planning.setting import Setting
from tacit.privacy import gaussian
from tacit.privacy.noise import Simulated


class Noise(NamedTuple):
    """std: of the noise. first: users of the shortest step. random: users who get random arms at the start."""

    std: float
    first: int
    random: int


def player(setting: Setting, policy: Generator, source: Simulated, newton: type[ShuffleNewton] = ShuffleNewton) -> Any:
    """The default of the trust model, without a horizon. newton: what plays in the shuffle model."""
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
        return Embedded(newton(**shared, estimate="batches"), pending=1)
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
