"""The contribution of one user where the usual reward is declared and arms are vectors: products of features, and
rewards less what is usual, whatever has been learnt so far.

With the features x of the arm, of norm at most `longest` but for `skip` constants before them, the reward's share r of
its range and public numbers c (the centre) and a (scale), a user adds
    v = (a svec(y y'), (r - c) y),   y = (1, x / longest) / sqrt 2.
The constant of y is its own: with half of the length it costs nothing (CentredContribution). Plain functions, which
kernels compile (kernels.formulas); loops over features are for kernels."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit import checks
from tacit.data import Array, Exact
from tacit.model.fields import distance
from tacit.model.links import Link
from tacit.model.vectors import PairContribution, add_pair, norm, pair_size

CONSTANT = math.sqrt(0.5)  # of everybody's y
SCALE, LEAST = 0.5, 0.02  # a^2, in shares of c (1 - c); and the least there is


def lifted(x: Array, skip: int, longest: float) -> Array:
    """y: of norm at most 1, however long x is."""
    rest = x[skip:]
    out = np.empty(rest.size + 1)
    out[0] = CONSTANT
    out[1:] = rest * (CONSTANT / max(longest, norm(rest)))
    return out


def add_centred(
    x: Array, y: float, skip: int, longest: float, centre: float, scale: float, low: float, high: float, out: Exact
) -> None:
    """out += v, with y cut to [low, high]."""
    share = (min(max(y, low), high) - low) / (high - low)
    add_pair(lifted(x, skip, longest), scale, share - centre, out)


@dataclass(frozen=True, kw_only=True)
class CentredContribution(PairContribution):
    """v of the module's text; `scale` is a. skip: so many numbers at the start of an arm, 0 or 1, are a constant, which
    is left out. longest: the largest norm of the others.

    Guarantee: replacing a user moves the sum by at most D,
        D^2 = max{1 + 2 max(0, 2 a^2 - c (1 - c)) + e, 2 (C^2 + a^2)},   C = max(c, 1 - c),
        e = a^2 / 2 if a^2 > 2 min(c, 1 - c), else 0.

    Proof. It is that of FieldContribution, with alpha = 0 and one action. y and y~ have the constant in common and at
    most 1/2 of squared length beside it: <y, y~> >= 0, so that Q = |y - y~|^2 <= 2 = B. Equal rewards: |v - v~|^2 =
    (r - c)^2 Q + a^2 |y y' - y~ y~'|^2 <= 2 C^2 + 2 a^2, which opposite x of full length attain. Opposite rewards: the
    first number, which is 1 if a^2 <= c (1 - c) / 2, as much as (r - c) y alone has. Nothing in one world, or a reward
    that comes in another step: |v|^2 + |v~|^2 <= 2 (C^2 + a^2), so that this costs nothing more (mechanisms.continual).

    Why half. With a constant of squared length s^2 the features have 1 - s^2, and (r - c) y moves by
    max(1, 2 C sqrt(1 - s^2)): per unit of noise there is as much signal for every s^2 <= 3/4 where C = 1. A reward that
    comes in another step needs sqrt 2 C whatever s is: that is less than the other for s^2 < 1/2 alone. So s^2 = 1/2 is
    best where leaves follow from arrivals, and as good as any where they follow from numbers."""

    link: Link  # of the environment: what is learnt is linear whatever it is
    centre: float
    skip: int = 0
    longest: float = 1.0
    blend: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive(longest=self.longest)
        checks.probability(centre=self.centre)

    @classmethod
    def of(cls, *, centre: float, **parts: object) -> "CentredContribution":
        scale = math.sqrt(max(SCALE * centre * (1 - centre), LEAST))
        return cls(scale=scale, centre=centre, **parts)  # type: ignore[arg-type]

    @property
    def numbers(self) -> int:
        """Of y."""
        return self.dim - self.skip + 1

    @property
    def size(self) -> int:
        return pair_size(self.numbers)

    @property
    def sensitivity(self) -> float:
        return distance(self.centre, self.scale**2, 0.0, 2.0)

    @property
    def norm(self) -> float:
        """The largest |v|."""
        return math.sqrt(max(self.centre, 1 - self.centre) ** 2 + self.scale**2)
