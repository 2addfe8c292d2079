"""The contribution of one user where each action has a part of the vector for itself, and a schema says what its
numbers are: sums of features, of their products and of centred rewards, whatever has been learnt so far.

With the features x of the person, of norm at most 1, u those of them that are never negative, the reward's share r of
its range and public numbers c (the centre), alpha (count) and a (scale), a user whose action is k adds
    v = (a svec(x x'), (r - c) x, alpha u)   in the place of action k.
Plain functions, which kernels compile (kernels.formulas); loops over features are for kernels."""

import math
from dataclasses import dataclass
from typing import ClassVar

from tacit import checks
from tacit.data import Array, Booleans, Exact
from tacit.model.links import Link
from tacit.model.vectors import PairContribution, add_outer, packed_size, pair_size

EVEN = 0.5  # the centre, where no base rate is given
COUNT, SCALE = 0.6, 0.2  # alpha^2 and a^2, in shares of c (1 - c), or of LEAST where that is less
LEAST = 0.06


def within(x: Array, signed: Booleans, constant: float, swing: float) -> Array:
    """x with its first number set to the constant, at 0 what may not be negative, numbers that may be negative cut to
    norm `swing`, and the rest so that |x| <= 1. What a schema makes stays as it is."""
    out = x.copy()
    out[0] = constant
    both, rest = 0.0, 0.0
    for i in range(1, x.size):
        if signed[i]:
            both += out[i] * out[i]
        else:
            out[i] = max(out[i], 0.0)
            rest += out[i] * out[i]
    first = swing / max(swing, math.sqrt(both)) if both > 0.0 else 1.0
    room = math.sqrt(max(0.0, 1.0 - constant * constant - first * first * both))
    second = room / max(room, math.sqrt(rest)) if rest > 0.0 else 1.0
    for i in range(1, x.size):
        out[i] *= first if signed[i] else second
    return out


def add_fields(
    x: Array,
    y: float,
    signed: Booleans,
    constant: float,
    swing: float,
    centre: float,
    count: float,
    scale: float,
    low: float,
    high: float,
    out: Exact,
) -> None:
    """out += (a svec(x x'), (r - c) x, alpha u), with x as `within` has it and y cut to [low, high]."""
    bounded = within(x, signed, constant, swing)
    share = (min(max(y, low), high) - low) / (high - low)
    add_outer(bounded, scale, out)
    start, last = packed_size(x.size), pair_size(x.size)
    for i in range(x.size):
        out[start + i] += (share - centre) * bounded[i]
        if not signed[i]:
            out[last + i] += count * bounded[i]


@dataclass(frozen=True, kw_only=True)
class FieldContribution(PairContribution):
    """v of the module's text; `scale` is a. constant: the first feature of everybody. swing: the largest norm of those
    features that may be negative.

    Guarantee: replacing a user moves the sum by at most D. With C = max(c, 1 - c), and B = 2 (1 - constant^2 + swing^2)
    the largest |x - x'|^2 (two people's features have an inner product of constant^2 - swing^2 at least), D^2 is the
    largest of
        1 + B max(0, alpha^2 + 2 a^2 - c (1 - c)) + e     e = a^2 / 2 if a^2 > 2 min(c, 1 - c), else 0
        2 (C^2 + alpha^2 + a^2)
        C^2 B + 2 alpha^2 + 2 a^2                         unless c = 1/2 and alpha^2 + 2 a^2 <= 1/4.
    At c = 1/2 with alpha^2 + 2 a^2 <= 1/4, whatever is negative, that is D = 1, as much as the moments alone have: the
    products and the sums of features cost nothing.

    Proof. Two users x, x~ of lengths s, t <= 1; P = |x + x~|^2, Q = |x - x~|^2 <= B, delta = s^2 - t^2. Since
    |x x' - x~ x~'|_F^2 = s^4 + t^4 - 2 <x, x~>^2 = P Q / 2 + delta^2 / 2, and P + Q = 2 (s^2 + t^2) <= 4 - 2 |delta|
    (both lengths are at most 1), P Q / 2 <= 2 Q and P Q / 2 <= 2 P. |v - v~|^2 is convex in each reward, so that
    rewards are at their ends.
    - One action, r = 1 and r~ = 0. |(1 - c) x + c x~|^2 = (1 - c) s^2 + c t^2 - c (1 - c) Q, and |u - u~|^2 <= Q:
      |v - v~|^2 <= 1 - min(c, 1 - c) |delta| + Q (alpha^2 + 2 a^2 - c (1 - c)) + a^2 delta^2 / 2, and |delta| <= 1.
    - One action, equal rewards. u and u~ have no negative numbers, so that |u - u~|^2 <= |u|^2 + |u~|^2 <= 2, and
      |v - v~|^2 <= C^2 Q + 2 alpha^2 + 2 a^2. Where c = 1/2: |u - u~|^2 <= |u + u~|^2 <= P, and with P and Q exchanged
      this is the case before.
    - Two actions. C^2 (s^2 + t^2) + alpha^2 (|u|^2 + |u~|^2) + a^2 (s^4 + t^4) <= 2 (C^2 + alpha^2 + a^2).
    - Nothing in one world: half of that at most, whose square root is `norm`. So |v|^2 + |v~|^2 <= D^2, and rewards
      that come in another step cost nothing more (mechanisms.continual).
    D = 1 is attained by x = x~ of length 1 with rewards 1 and 0."""

    link: Link  # of the environment: what is learnt is linear whatever it is
    constant: float
    swing: float = 0.0
    centre: float = EVEN
    blend: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.probability(centre=self.centre)

    @classmethod
    def of(cls, *, centre: float, **parts: object) -> "FieldContribution":
        return cls(scale=math.sqrt(SCALE * _room(centre)), centre=centre, **parts)  # type: ignore[arg-type]

    @property
    def count(self) -> float:
        """alpha."""
        return math.sqrt(COUNT * _room(self.centre))

    @property
    def size(self) -> int:
        return super().size + self.dim

    @property
    def sensitivity(self) -> float:
        apart = 2 * (1 - self.constant**2 + self.swing**2)
        return distance(self.centre, self.scale**2, self.count**2, apart)

    @property
    def norm(self) -> float:
        """The largest |v|."""
        return math.sqrt(max(self.centre, 1 - self.centre) ** 2 + self.count**2 + self.scale**2)


def distance(c: float, a2: float, alpha2: float, apart: float) -> float:
    """D of FieldContribution, from a^2, alpha^2 and B."""
    more, furthest = alpha2 + 2 * a2 - c * (1 - c), max(c, 1 - c) ** 2
    found = [1 + apart * max(0.0, more) + (a2 / 2 if a2 > 2 * min(c, 1 - c) else 0.0), 2 * (furthest + alpha2 + a2)]
    if c != EVEN or more > 0:
        found.append(furthest * apart + 2 * alpha2 + 2 * a2)
    return math.sqrt(max(found))


def _room(centre: float) -> float:
    return max(centre * (1 - centre), LEAST)
