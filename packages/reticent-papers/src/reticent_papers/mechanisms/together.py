"""What several shuffled sums of the same users cost together, each asked in the light of the earlier ones. Devices work
it out as well as servers: numpy and the standard library alone.

Proof: as in calibration, with m the coordinates of all sums together; but the move K of a sum may depend on the
results of earlier ones, so its rounding is bounded always, not on average: |K| <= W + sqrt m (each coordinate moves by
less than 1 more). Gaussian mechanisms chosen adaptively compose: their squared mu add up (Dong, Roth & Su 2019), and
so does step 3, whose factors bound every density ratio whatever was chosen. So for two users whose data move sum j by
at most W_j, delta_R(eps_G) is delta_Gauss(eps_G; mu), mu^2 the sum of ((W_j + sqrt m_j) / s_j)^2 over all sums. Pairs
of users are in classes, each with its own W_j: the worst class counts."""

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from reticent_devices.mechanisms.shuffle.encoding import FEWEST
from reticent_devices.mechanisms.shuffle.nearness import (
    LARGEST_SHOWN,
    PRODUCT_ROUNDING,
    binomial_delta,
    near,
    smallest,
    std,
)
from reticent_devices.mechanisms.shuffle.portable import gaussian_delta


class Part(NamedTuple):
    """Sums of one kind: `times` of them, of `size` numbers each, moved by at most so many cells in each class of pairs
    of users, each number hidden by the `coins` of all honest users."""

    size: int
    times: int
    widths: tuple[float, ...]
    coins: int


def together_mu(parts: Sequence[Part]) -> float:
    """mu of all sums, for the class of pairs that they tell apart best."""
    squares: Any = 0.0
    for part in parts:
        moved = np.array(part.widths) * PRODUCT_ROUNDING + math.sqrt(part.size)
        squares = squares + part.times * (moved / std(part.coins)) ** 2
    return math.sqrt(float(squares.max()))


def delta_of(mu: float, numbers: Sequence[tuple[int, int]], epsilon: float) -> float:
    """delta at epsilon of so many numbers, with so many coins each, that tell two users apart by mu; that at
    LARGEST_SHOWN for a larger epsilon."""
    epsilon = min(epsilon, LARGEST_SHOWN)
    closeness = [count * np.array(near(coins)) for count, coins in numbers]
    return binomial_delta(sum(closeness[1:], closeness[0]), epsilon, lambda inner: gaussian_delta(inner, np.array(mu)))


def together_epsilon(parts: Sequence[Part], delta: float) -> float:
    """The least epsilon at delta, rounded up; inf if none can be shown."""
    if delta <= 0 or min(part.coins for part in parts) < FEWEST:
        return math.inf
    return _epsilon(together_mu(parts), tuple((part.size * part.times, part.coins) for part in parts), delta)


@functools.lru_cache(maxsize=256)
def _epsilon(mu: float, numbers: tuple[tuple[int, int], ...], delta: float) -> float:
    return smallest(lambda at: delta_of(mu, numbers, at) <= delta)
