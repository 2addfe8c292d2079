"""Several shuffled sums of the same users, each chosen in the light of the earlier ones: one calibration for all."""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

from reticent.privacy import gaussian, search
from reticent.privacy.budget import Budget
from reticent_devices.mechanisms.shuffle.calibration import OVERHEAD, ShufflePlan
from reticent_devices.mechanisms.shuffle.encoding import FEWEST, reach
from reticent_devices.mechanisms.shuffle.nearness import std
from reticent_papers.mechanisms.together import Part, delta_of, together_epsilon, together_mu

SMALLEST_MU, LARGEST_MU = 1e-9, 20.0
MOST_TRIALS = 1 << 14  # coins of a user in each coordinate: more cost bits, and hardly change the noise


class Sum(NamedTuple):
    """One of the sums: m numbers of vectors of at most that norm, `times` over, to which `share` of the squared privacy
    parameter would go if two users were farthest apart in all sums. apart: how far they are, in each class of pairs."""

    size: int
    apart: tuple[float, ...]
    norm: float
    share: float
    times: int = 1

    @property
    def unit(self) -> float:
        """Grid cells per unit, but for a factor that all sums have in common."""
        return math.sqrt(self.share / self.times) / max(self.apart)


@functools.lru_cache(maxsize=256)
def calibrate_sums(
    budget: Budget, *, users: int, sums: tuple[Sum, ...], honest: int | None = None
) -> tuple[ShufflePlan, ...]:
    """Plans under which all sums together are (epsilon, delta)-private (proof: mechanisms.together) as long as
    `honest` users take part honestly in each, all of them by default. As few coins, doubled from 64, as bring the noise
    to OVERHEAD times a trusted curator's; MOST_TRIALS where no fewer do."""
    budget.needs_delta("a shuffled sum")
    honest = users if honest is None else honest
    classes = zip(*(part.apart for part in sums), strict=True)
    worst = max(sum(p.times * (p.unit * far) ** 2 for p, far in zip(sums, each, strict=True)) for each in classes)
    best = gaussian.mu(budget) / math.sqrt(worst) * math.sqrt(honest / users) / OVERHEAD
    trials, plans = 32, None
    while trials < MOST_TRIALS:
        trials *= 2
        plans = _plans(budget, users, honest, sums, trials)
        if plans and plans[0].std * sums[0].unit * best <= 1:
            break
    if not plans:
        raise ValueError("Expected a budget that allows for the rounding of all sums, got a smaller one.")
    return plans


def composed_epsilon(plans: Sequence[tuple[ShufflePlan, Sum]], delta: float, honest: int | None = None) -> float:
    """epsilon at delta of plans for these sums: recomputed from the noise of so many honest users (all of them by
    default)."""
    return together_epsilon([part_of(plan, part, honest) for plan, part in plans], delta)


def part_of(plan: ShufflePlan, part: Sum, honest: int | None = None) -> Part:
    coins = (plan.users if honest is None else honest) * plan.trials
    return Part(part.size, part.times, tuple(plan.scale * far for far in part.apart), coins)


def _plans(budget: Budget, users: int, honest: int, sums: Sequence[Sum], trials: int) -> tuple[ShufflePlan, ...] | None:
    """With so many coins a user; None if rounding takes all of the budget."""
    coins = honest * trials
    if coins < FEWEST:
        return None
    most = _mu(budget, coins, sum(part.size * part.times for part in sums))

    def too_fine(scale: float) -> bool:
        parts = [Part(p.size, p.times, tuple(scale * p.unit * far for far in p.apart), coins) for p in sums]
        return together_mu(parts) > most

    if too_fine(0.0):
        return None
    scale = search.halved(too_fine, *search.doubled(too_fine, 0.0, std(coins) * most), digits=1e-6)[0]
    scales = [scale * part.unit for part in sums]
    return tuple(
        ShufflePlan(users, part.size, each, reach(each, part.norm), trials, max(part.apart))
        for part, each in zip(sums, scales, strict=True)
    )


@functools.lru_cache(maxsize=256)
def _mu(budget: Budget, coins: int, total: int) -> float:
    """The largest mu that so many numbers with so many coins each may have."""

    def too_much(mu: float) -> bool:
        return delta_of(mu, [(total, coins)], budget.epsilon) > budget.delta

    return search.halved(too_much, 0.0, LARGEST_MU, digits=1e-6, least=SMALLEST_MU)[0]
