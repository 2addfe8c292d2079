"""What bandits that learn in doubling epochs share: the schedule, and checks of settings."""

import math
from typing import Any

import numpy as np

from tacit import checks
from tacit.bandits.base import Index
from tacit.errors import NotSecure
from tacit.mechanisms import queries
from tacit.model import links
from tacit.model.links import Link
from tacit.privacy import settings
from tacit.privacy.noise import Secure, Simulated

FOREVER = 2**60  # where the last epoch ends
ONE_REPORT = "replace one user, who sends one report: one of the kinds below"  # in certificates


def ends(first: int, horizon: int) -> Index:
    """The choice counts at which epochs of length first, 2 first, 4 first, ... end, before the horizon."""
    count = max(0, math.ceil(math.log2(horizon / first + 1)) - 1)
    return np.array([first * (2 ** (j + 1) - 1) for j in range(count)] + [FOREVER])


def length(boundaries: Index, epoch: int) -> int:
    """Choices in that epoch: public."""
    return int(boundaries[epoch] - (boundaries[epoch - 1] if epoch else 0))


def check(bandit: Any) -> Link:
    """Checks the settings that all have; returns the link."""
    settings.check(bandit)
    checks.positive_int(dim=bandit.dim, first=bandit.first)
    bandit.dim = int(bandit.dim)
    if bandit.horizon is None:
        raise ValueError(f"Expected a horizon for {type(bandit).__name__}, which learns in epochs, got None.")
    checks.positive_int(horizon=bandit.horizon)
    return links.built_in(bandit.link)


def simulated(bandit: Any) -> None:
    """Refuses all but simulated noise, which has to be asked for: people's devices and the server are one process in
    these bandits."""
    given = bandit.source
    if not isinstance(given, Simulated):
        name = "none" if given is None else "a secure source" if isinstance(given, Secure) else type(given).__name__
        raise NotSecure(
            f"Expected source=Simulated(seed) for {type(bandit).__name__}, which is for experiments (people's devices "
            f"and the server are one process here), got {name}."
        )


def few_enough(bandit: Any, boundaries: Index) -> None:
    """Refuses secure noise if the last release could hold too many people for its grid: all who came before it, if
    their rewards are late."""
    if bandit.source.private and bandit.budget.epsilon < math.inf and len(boundaries) > 1:
        queries.few_enough(int(boundaries[-2]))


def bounds(rewards: tuple[float, float]) -> Any:
    """(low, high, the largest absolute value) as the kernels take them."""
    return np.array([*rewards, max(map(abs, rewards))])
