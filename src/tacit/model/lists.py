"""The contribution of one person who was shown a list: all of its places are one vector, clipped as a whole.

The item in place j has features x_j, and y_j as in model.centred: y_j = (1, u_j) / sqrt 2 with |u_j| <= 1. Its place
has the public weight w_j, the chance of being looked at beside that of the first place; its reward is r_j in [0, 1].
With public numbers a (scale) and R (bound) the person adds
    v = s (a svec(sum_j w_j y_j y_j'), sum_j r_j y_j),   s = min(1, R / |the vector behind it|).
Rewards count from 0 and are not centred, so that a place nobody clicked on adds nothing to the second part: what is
usual follows from the constant's row of the first part, which has sum_j w_j y_j. Plain functions, which kernels compile
(kernels.formulas); loops over features are for kernels.

Rewards of a list are one number, so that they take the way of any reward: a digit for each place (`packed`)."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit import checks
from tacit.data import Array, Exact
from tacit.model.centred import LiftedContribution, lifted
from tacit.model.vectors import add_pair, norm, pair_size

MOST = 50  # places
BITS = 53  # of a float's whole numbers
FINEST = 10  # bits of a reward
# Chosen by clicks on tuning seeds (docs/measurements/lists.md); neither touches privacy.
CLICKS = 1.0  # so long a sum of r_j y_j is never cut
CURVATURE = 1.2  # of that: the longest part for features


def add_list(
    row: Array,
    code: float,
    width: int,
    skip: int,
    longest: float,
    positions: Array,
    bound: float,
    scale: float,
    out: Exact,
) -> None:
    """out += v, of a row that has for each place 1 and the features of its item, or zeros where it is empty, which is
    the same work. code: its rewards, as `packed` has them."""
    size = width - skip + 1
    whole = np.zeros(pair_size(size))
    for j in range(positions.size):
        start = j * (width + 1)
        shown = 1.0 if row[start] > 0.0 else 0.0
        y = lifted(row[start + 1 : start + 1 + width], skip, longest)
        add_pair(y, shown * scale * positions[j], shown * digit(code, j, positions.size), whole)
    factor = bound / max(bound, norm(whole))
    for i in range(whole.size):
        out[i] += factor * whole[i]


def bits(places: int) -> int:
    """Of each reward, where there are so many."""
    return min(FINEST, BITS // places)


def digit(code: float, place: int, places: int) -> float:
    """The reward of a place, in [0, 1]."""
    each = bits(places)
    most = (1 << each) - 1
    return float((int(code) >> (each * place)) & most) / most


def packed(rewards: Any, places: int) -> float:
    """Rewards by place, in [0, 1], as one whole number below 2^53: rounded to 2^-b of their range or so, b = 53 /
    places but at most 10; 0 and 1 are exact. Places that are left out have 0. ValueError; never a value in its text."""
    single = isinstance(rewards, str | bytes | Mapping) or (isinstance(rewards, np.ndarray) and rewards.ndim == 0)
    if single or not isinstance(rewards, Sequence | np.ndarray):
        raise ValueError(f"Expected the rewards of a list, one for each of its places, got {type(rewards).__name__}.")
    if len(rewards) > places:
        raise ValueError(f"Expected the rewards of at most {places} places, got {len(rewards)}.")
    each, out = bits(places), 0
    for place, reward in enumerate(rewards):
        number = isinstance(reward, int | float | np.bool_ | np.integer | np.floating)
        if not number or not 0.0 <= reward <= 1.0:
            raise ValueError("Expected finite rewards in [0, 1], one for each place of a list, got another.")
        out |= round(float(reward) * ((1 << each) - 1)) << (each * place)
    return float(out)


def check_positions(positions: Any) -> tuple[float, ...]:
    """Weights of places, the first of which is 1; or ValueError."""
    try:
        out = () if isinstance(positions, str) else tuple(float(weight) for weight in positions)
    except (TypeError, ValueError):
        out = ()
    falling = all(a >= b > 0 for a, b in itertools.pairwise(out))
    if not 1 <= len(out) <= MOST or out[0] != 1.0 or not falling:
        raise ValueError(
            f"Expected positions to be 1 to {MOST} weights of places, the first of them 1, none of them 0 or larger "
            "than the one before, got others."
        )
    return out


@dataclass(frozen=True, kw_only=True)
class ListContribution(LiftedContribution):
    """v of the module's text; `scale` is a, `bound` is R.

    Guarantee: replacing a person, with the whole list and all of its rewards, moves the sum by at most D = sqrt 2 R.

    Proof. For any two items, of one list or of two, <y, y~> = (1 + <u, u~>) / 2 >= 0. So for two persons, whose vectors
    before they are cut are (a svec A, p) and (a svec A~, p~),
        <A, A~> = sum_ij w_i w_j <y_i, y~_j>^2 >= 0,   <p, p~> = sum_ij r_i r~_j <y_i, y~_j> >= 0,
    weights and rewards being not negative: <v, v~> >= 0, also after each is cut, which multiplies by a number that is
    not negative. Hence |v - v~|^2 <= |v|^2 + |v~|^2 <= 2 R^2. Items y and y~ with u~ = -u of length 1 attain it: lists
    of nothing but one of them, with a reward in so many places that both are cut. Nothing in one world: |v| <= R. A
    reward that comes in another step: |v|^2 + |v~|^2 <= 2 R^2 (mechanisms.continual).

    What does not do. One item alone has R^2 = 1 + a^2; its D does not bound a list of k, which is up to k times as
    long, nor one whose items are each cut to it. Rewards of both signs (centred ones, or a link's) may be opposite: a
    stack that is cut to R then moves by up to 2 R, and one whose parts are cut to |a A| <= W and |p| <= B by up to
    sqrt(2 W^2 + 4 B^2), A being positive semidefinite. With rewards from 0 that is sqrt(2 W^2 + 2 B^2), as of a stack
    that is cut to R^2 = W^2 + B^2 as a whole, which cuts less. An average over k places has the bound of one item, and
    a k-th of the signal."""

    positions: tuple[float, ...]
    bound: float
    centre: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive(bound=self.bound)

    @classmethod
    def of(
        cls, *, positions: tuple[float, ...], clicks: float = CLICKS, curvature: float = CURVATURE, **parts: Any
    ) -> "ListContribution":
        """Without rewards no list is cut, and with rewards none whose sum of r_j y_j is at most `clicks` long."""
        scale = curvature * clicks / sum(positions)
        return cls(scale=scale, positions=positions, bound=clicks * math.hypot(1.0, curvature), **parts)

    @property
    def sensitivity(self) -> float:
        return math.sqrt(2.0) * self.bound

    @property
    def norm(self) -> float:
        """The largest |v|."""
        return self.bound
