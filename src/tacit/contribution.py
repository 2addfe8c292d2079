"""What one user adds to the sums, and how far replacing that user can move them.

These vectors are raw data. They go into an aggregator and nowhere else.
"""

import math
from dataclasses import dataclass

import numpy as np

from tacit import checks
from tacit.checks import Array
from tacit.kernels.glm import Posterior, glm_contribute
from tacit.kernels.linear import contribute
from tacit.links import Link


@dataclass(frozen=True, kw_only=True)
class LinearContribution:
    """v = (svec(x x'), scale y x) for |x| <= 1 and y in [low, high], clipped so that the bound holds always.

    Sensitivity (replace one user). With s = |x|, s' = |x'|, r = |cos| of their angle, Y = max |y|, b = (scale Y)^2:
        |v - v'|^2 <= f(s, s', r) = s^4 + s'^4 - 2 s^2 s'^2 r^2 + b (s^2 + s'^2 + 2 s s' r)
    (first three terms: the Frobenius norm of x x' - x' x''; rewards +-Y, or x and x' at an obtuse angle, separate the
    moments). df/ds = (s + s' r) (4 s^2 - 4 s s' r + 2 b): besides s = 1, a maximum in s can only be at the smaller
    root of the bracket, where s <= s' r / 2 and so f <= 1 + b (1/4 + 1 + 1) < D^2 below; likewise in s'. At s = s' = 1
    f = 2 - 2 r^2 + 2 b (1 + r) is largest at r = min(1, b / 2):
        D^2 = 2 + 2 b + b^2 / 2  for b <= 2,  else  4 b.
    It is attained, and never less than twice the largest |v|^2 = 1 + b, so that a contribution that arrives in another
    step, or never, is covered too (see aggregators.continual).
    """

    dim: int
    scale: float
    low: float
    high: float

    def __post_init__(self) -> None:
        checks.positive_int(dim=self.dim)
        checks.positive(scale=self.scale)
        checks.interval(rewards=(self.low, self.high))

    @property
    def size(self) -> int:
        return self.dim * (self.dim + 1) // 2 + self.dim

    @property
    def largest_reward(self) -> float:
        return max(abs(self.low), abs(self.high))

    @property
    def sensitivity(self) -> float:
        b = (self.scale * self.largest_reward) ** 2
        return math.sqrt(2 + 2 * b + b * b / 2 if b <= 2 else 4 * b)

    def add(self, x: Array, y: float, out: Array) -> None:
        """out += v."""
        contribute(x, y, self.scale, self.low, self.high, out)


def balanced_scale(dim: int, radius: float, largest_reward: float) -> float:
    """The scale of the moment that minimises the noise in gram theta* - moment, for |theta*| <= radius.

    With svec noise of std s, a symmetric matrix has diagonal entries of std s and others of std s / sqrt 2, so that
    the noise in (gram theta*) has mean variance s^2 radius^2 (d + 1) / (2 d) a coordinate, the moment's s^2 / scale^2,
    and s is proportional to D(scale): a one-dimensional search over b = (scale Y)^2."""
    b = np.logspace(-3, math.log10(2), 2000)
    noise = (2 + 2 * b + b * b / 2) * (largest_reward**2 / b + radius**2 * (dim + 1) / (2 * dim))
    return math.sqrt(float(b[np.argmin(noise)])) / largest_reward


@dataclass(frozen=True, kw_only=True)
class GLMContribution:
    """v = (scale svec(weight x x'), response x): one step of iteratively reweighted least squares at a public iterate,
    with weights that saturate (kernels.glm.linearize has the formulas). Each user is used once.

    Bounds. With X = x / |x|, v = (scale W' svec(X X'), B' X) where, for rewards r in [0, 1], c the tangent's value at 0
    and m = max(|c|, |1 - c|):
        0 <= W' = k mu' |x| / m <= W = 2 max mu'   (c and 1 - c add up to 1, so m >= 1/2), and
        |B'| = |r - c| / m <= 1   (largest at r = 0 or 1),
    for any increasing link: max mu' is mu'(0) for logistic and probit, and declared for a link of the user's own.
    identity: W' = |x| <= W = 1 and |B'| = |y| / Y <= 1.
    Sensitivity (replace one user), W' and B' free in their ranges and unit X, X' at |cos| = c, q = (scale W)^2:
        |v - v'|^2 <= w^2 + w'^2 - 2 w w' c^2 + 2 + 2 c,   w, w' in [0, scale W],
    convex in each of w and w', so largest at their ends: (W, 0) with c = 1 gives 4 + q, (W, W) with c = 1 / (2 q) gives
    2 + 2 q + 1 / (2 q) (q >= 1/2), which is more if q > 1 + 1 / sqrt 2; (0, 0) gives 4:
        D^2 = 4 + q  for q <= 1 + 1 / sqrt 2,  else  2 + 2 q + 1 / (2 q).
    It is never less than twice the largest |v|^2 = 1 + q, so late rewards are covered."""

    dim: int
    link: Link
    scale: float
    low: float
    high: float

    def __post_init__(self) -> None:
        checks.positive_int(dim=self.dim)
        checks.positive(scale=self.scale)
        checks.interval(rewards=(self.low, self.high))

    @property
    def size(self) -> int:
        return self.dim * (self.dim + 1) // 2 + self.dim

    @property
    def sensitivity(self) -> float:
        q = (self.scale * largest_weight(self.link)) ** 2
        return math.sqrt(4 + q if q <= 1 + 1 / math.sqrt(2) else 2 + 2 * q + 1 / (2 * q))

    @property
    def norm(self) -> float:
        """The largest |v|: sqrt(1 + (scale W)^2)."""
        return math.sqrt(1 + (self.scale * largest_weight(self.link)) ** 2)

    def add(self, x: Array, y: float, posterior: Posterior, out: Array) -> None:
        """out += v, linearised at the released posterior."""
        glm_contribute(x, y, posterior, self.link.code, self.scale, self.low, self.high, out)


def largest_weight(link: Link) -> float:
    """W: twice the steepest slope, which is mu'(0) for logistic and probit; 1 for identity."""
    return 2 * link.steepest if link.bounded else 1.0


def balanced_curvature(link: Link, radius: float) -> float:
    """The scale of the curvature within a contribution: (4 share)^(1/4) sqrt(radius / W) minimises
    D^2 (1 + share radius^2 / scale^2) for D^2 = 4 + (scale W)^2. share = .09 is how much the curvature's noise, seen
    through theta*, matters beside the moment's: chosen by regret on tuning seeds, since a ridge proportional to the
    noise makes it matter little."""
    return math.sqrt(0.6 * radius / largest_weight(link))
