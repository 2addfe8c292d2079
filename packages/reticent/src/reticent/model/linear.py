"""The contribution of one user to a linear model: sums of x x' and y x, bounded whatever comes in.

`add_linear` is a plain function, which kernels compile (kernels.formulas)."""

import math
from dataclasses import dataclass

from reticent.data import Array, Exact
from reticent.model.vectors import PairContribution, add_pair, shortened


def add_linear(x: Array, y: float, scale: float, low: float, high: float, out: Exact) -> None:
    """out += (svec(x x'), scale y x), with |x| cut to 1 and y to [low, high]."""
    add_pair(shortened(x), 1.0, scale * min(max(y, low), high), out)


@dataclass(frozen=True, kw_only=True)
class LinearContribution(PairContribution):
    """v = (svec(x x'), scale y x) for |x| <= 1 and y in [low, high], clipped so that the bound holds always.

    Sensitivity (replace one user by another, who has a ~). With s = |x|, s~ = |x~|, r = |cos| of their angle, Y = max
    |y|, b = (scale Y)^2:
        |v - v~|^2 <= f(s, s~, r) = s^4 + s~^4 - 2 s^2 s~^2 r^2 + b (s^2 + s~^2 + 2 s s~ r)
    (first three terms: the Frobenius norm of x x' - x~ x~'; rewards +-Y, or x and x~ at an obtuse angle, separate the
    moments). df/ds = (s + s~ r) (4 s^2 - 4 s s~ r + 2 b): besides s = 1, a maximum in s can only be at the smaller
    root of the bracket, where s <= s~ r / 2 and so f <= 1 + b (1/4 + 1 + 1) < D^2 below; likewise in s~. At s = s~ = 1
    f = 2 - 2 r^2 + 2 b (1 + r) is largest at r = min(1, b / 2):
        D^2 = 2 + 2 b + b^2 / 2  for b <= 2,  else  4 b.
    It is attained, and never less than twice the largest |v|^2 = 1 + b, so that a contribution that arrives in another
    step, or never, is covered too (see mechanisms.continual).

    Blocks (PairContribution). Two users in the same part are as above with z; for two users in different parts v and v~
    are at right angles, and
        |v - v~|^2 = |v|^2 + |v~|^2 <= 2 (1 + b) <= D^2:   2 + 2 b + b^2 / 2 for b <= 2, and 4 b >= 2 + 2 b beyond.
    """

    @property
    def largest_reward(self) -> float:
        return max(abs(self.low), abs(self.high))

    @property
    def sensitivity(self) -> float:
        return linear_sensitivity(self.scale * self.largest_reward)

    def add(self, x: Array, y: float, out: Exact) -> None:
        """out += v: x and out of one block."""
        add_linear(x, y, self.scale, self.low, self.high, out)


def linear_sensitivity(moment: float) -> float:
    """D for svec(x x') beside moments of norm at most `moment`: see LinearContribution."""
    b = moment * moment
    return math.sqrt(2 + 2 * b + b * b / 2 if b <= 2 else 4 * b)
