"""The contribution of one user where each action has a part of the vector for itself, and a schema says what its
numbers are: sums of features, of their products and of centred rewards, whatever has been learnt so far.

With the features x of the person, of norm at most 1, u those of them that are never negative, the reward's share r of
its range and public numbers c (the centre), alpha (pooled) and a (scale), a user whose action is k adds
    v = (a svec(x x') and (r - c) x in the place of action k,   alpha u in a place that all actions have in common).
Plain functions, which kernels compile (kernels.formulas); loops over features are for kernels."""

import math
from dataclasses import dataclass
from typing import ClassVar

from tacit import checks
from tacit.data import Array, Booleans, Raw
from tacit.model.links import Link
from tacit.model.vectors import PairContribution, add_outer, packed_size, pair_size, shortened

EVEN = 0.5  # the centre, where no base rate is given
POOLED, SCALE = 0.6, 0.2  # alpha^2 and a^2, in shares of c (1 - c), or of LEAST where that is less
LEAST = 0.06


def add_fields(
    x: Array, y: float, signed: Booleans, centre: float, pooled: float, scale: float, low: float, high: float, out: Raw
) -> None:
    """out += (a svec(x x'), (r - c) x, alpha u), with |x| cut to 1, y to [low, high], and at 0 what may not be
    negative."""
    kept = x.copy()
    for i in range(x.size):
        if not signed[i] and x[i] < 0.0:
            kept[i] = 0.0
    bounded = shortened(kept)
    share = (min(max(y, low), high) - low) / (high - low)
    add_outer(bounded, scale, out)
    start, last = packed_size(x.size), pair_size(x.size)
    for i in range(x.size):
        out[start + i] += (share - centre) * bounded[i]
        if not signed[i]:
            out[last + i] += pooled * bounded[i]


@dataclass(frozen=True, kw_only=True)
class FieldContribution(PairContribution):
    """v of the module's text; `scale` is a. signed: some features may be negative, which asks for c = 1/2.

    Guarantee: replacing a user moves the sum by at most D, where C = max(c, 1 - c) and
        D^2 = max(1 + q max(0, alpha^2 + 2 a^2 - c (1 - c)) + e,  2 (C^2 + alpha^2 + a^2)),
    q = 4 if some features may be negative, else 2; e = a^2 / 2 if a^2 > 2 min(c, 1 - c), else 0. At c = 1/2 with
    alpha^2 + 2 a^2 <= 1/4 that is D = 1, as much as the moments alone have: the products and the pooled sums cost
    nothing.

    Proof. Two users x, x' of lengths s, t <= 1; A = |x + x'|^2, B = |x - x'|^2, delta = s^2 - t^2. Since
    |x x' - x' x''|_F^2 = s^4 + t^4 - 2 <x, x'>^2 = A B / 2 + delta^2 / 2, and A + B = 2 (s^2 + t^2) <= 4 - 2 |delta|
    (the longer one has length 1 at most), A B / 2 <= 2 B and A B / 2 <= 2 A. |v - v'|^2 is convex in each reward, so
    that rewards are at their ends.
    - One action, r = 1 and r' = 0. |(1 - c) x + c x'|^2 = (1 - c) s^2 + c t^2 - c (1 - c) B, and |u - u'|^2 <= B:
      |v - v'|^2 <= 1 - min(c, 1 - c) |delta| + B (alpha^2 + 2 a^2 - c (1 - c)) + a^2 delta^2 / 2. |delta| <= 1, and
      B <= q.
    - One action, equal rewards. Where nothing is negative B <= s^2 + t^2 <= 2, and |v - v'|^2 <= C^2 B + alpha^2 B +
      a^2 (s^4 + t^4) <= 2 (C^2 + alpha^2 + a^2). Where something is, c = 1/2; u and u' have no negative numbers, so
      |u - u'|^2 <= |u + u'|^2 <= A, and with A and B exchanged this is the case before.
    - Two actions. C^2 (s^2 + t^2) + alpha^2 |u - u'|^2 + a^2 (s^4 + t^4) <= 2 (C^2 + alpha^2 + a^2).
    - Nothing in one world: half of that at most, whose square root is `norm`. So |v|^2 + |v'|^2 <= D^2, and rewards
      that come in another step cost nothing more (mechanisms.continual).
    D is attained by x = x' of length 1 with rewards 1 and 0, or by two actions whose users have nothing in common."""

    link: Link  # of the environment: what is learnt is linear whatever it is
    centre: float = EVEN
    signed: bool = False
    blend: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.probability(centre=self.centre)
        if self.signed and self.centre != EVEN:
            raise ValueError("Expected features that are not negative with a base rate, got some that may be.")

    @classmethod
    def of(cls, *, centre: float, **parts: object) -> "FieldContribution":
        return cls(scale=math.sqrt(SCALE * _room(centre)), centre=centre, **parts)  # type: ignore[arg-type]

    @property
    def pooled(self) -> float:
        """alpha."""
        return math.sqrt(POOLED * _room(self.centre))

    @property
    def common(self) -> int:
        """How many numbers are in the place that all actions have in common."""
        return self.dim // self.blocks

    @property
    def size(self) -> int:
        return super().size + self.common

    @property
    def sensitivity(self) -> float:
        c, a2, alpha2 = self.centre, self.scale**2, self.pooled**2
        most = 4 if self.signed else 2  # of |x - x'|^2
        beyond = most * max(0.0, alpha2 + 2 * a2 - c * (1 - c)) + (a2 / 2 if a2 > 2 * min(c, 1 - c) else 0.0)
        return math.sqrt(max(1 + beyond, 2 * self.norm**2))

    @property
    def norm(self) -> float:
        """The largest |v|."""
        return math.sqrt(max(self.centre, 1 - self.centre) ** 2 + self.pooled**2 + self.scale**2)


def _room(centre: float) -> float:
    return max(centre * (1 - centre), LEAST)
