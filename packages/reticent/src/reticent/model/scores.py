"""The contribution of one user where the curvature is not released: the score at a public estimate, cut to length 1.

With a share r of the range of rewards and the mean mu of that share at z = <x, theta>, theta public, a user adds
    g = (r - mu) x / (max(|mu|, |1 - mu|) |x|),   and nothing if x is 0:
d numbers, where the curvature would be d (d + 1) / 2 more. Plain functions, which kernels compile (kernels.formulas);
loops over features are for kernels."""

import math
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from reticent import checks
from reticent.data import Array, Exact
from reticent.model.links import IDENTITY, Code, Link, kind, mean
from reticent.model.vectors import TINY, norm

# Chosen by regret on tuning seeds (docs/measurements/scores.md); none of them touches privacy.
PACE, TURN = 0.5, 10.0
REACH = 3.0  # times the radius: theta is kept within it. A radius is often a guess

Numbers = TypeVar("Numbers", float, Array)


def mean_share(z: float, link: Code, low: float, high: float) -> float:
    """The mean reward as a share of [low, high]: mu(z), which for the identity may lie outside of [0, 1]."""
    return (z - low) / (high - low) if kind(link) == IDENTITY else mean(link, z)


def score(length: float, z: float, y: float, link: Code, low: float, high: float) -> float:
    """What x of that length counts for: g = score x. A reward outside of [low, high] counts as the nearest of these."""
    if length < TINY:
        return 0.0
    expected = mean_share(z, link, low, high)
    share = (min(max(y, low), high) - low) / (high - low)
    return (share - expected) / (max(abs(expected), abs(1.0 - expected)) * length)


def at(x: Array, theta: Array, start: int) -> float:
    """<x, theta>: the numbers of x belong to those of theta from `start` on."""
    z = 0.0
    for i in range(x.size):
        z += x[i] * theta[start + i]
    return z


def add_score(x: Array, y: float, theta: Array, start: int, link: Code, low: float, high: float, out: Exact) -> None:
    """out += g, of d numbers as theta; x lies there as in `at`."""
    weight = score(norm(x), at(x, theta, start), y, link, low, high)
    for i in range(x.size):
        out[start + i] += weight * x[i]


def pace(std: Numbers, length: Numbers, dim: int, radius: float, steep: float) -> Numbers:
    """eta, for theta = eta times a released sum of scores, from public numbers alone:
        1 / eta = std sqrt(d) / (PACE radius) + 2 steep length / TURN.
    Noise of that std in each number of the sum moves theta by PACE times the radius, at most; and the `length` people
    who come before the next release, who all see the same theta, move it by no more than a fraction of where it should
    go: their scores' slope in theta is at most 2 steep, steep = max mu' in shares of the range of rewards."""
    return 1 / (std * math.sqrt(dim) / (PACE * radius) + 2 * steep * length / TURN)


def steepness(link: Link, span: float) -> float:
    """max mu', in shares of a range of rewards of that length."""
    return link.steepest if link.bounded else 1 / span


@dataclass(frozen=True, kw_only=True)
class ScoreContribution:
    """Guarantee: |g| <= 1 for every x, reward and public theta, whatever the link; so replacing a user moves the sum by
    at most D = 2, and leaving one out by 1.

    Bound. The share r is within [0, 1] after clipping, and r - mu is linear in r, so that |r - mu| is largest at one of
    the ends: |r - mu| <= max(|mu|, |1 - mu|) for every real mu, which is at least 1/2. Hence |g| = |r - mu| /
    max(|mu|, |1 - mu|) <= 1: neither the norm of x nor the range of mu matters, so that the identity, whose mean is
    bounded by nothing but theta, and a link's table that overshoots are covered as well. |g - g'| <= |g| + |g'| <= 2,
    which r = 0 and r = 1 at z with mu = 1/2 attain. Late rewards: |g|^2 + |g'|^2 <= 2 <= D^2 (mechanisms.continual).
    What is not bounded by 1: b - A theta with the weights of GLMContribution, which bound b; it reaches 1.38 for the
    logistic link.

    Blocks. x has zeros outside of its own part: so has g, of the same norm."""

    dim: int
    link: Link
    low: float
    high: float
    blocks: int = 1
    scale: ClassVar[float] = 0.0  # of the curvature: there is none
    blend: ClassVar[float] = 0.0
    sensitivity: ClassVar[float] = 2.0
    norm: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        checks.positive_int(dim=self.dim)
        checks.interval(rewards=(self.low, self.high))

    @property
    def size(self) -> int:
        return self.dim

    def add(self, x: Array, y: float, theta: Array, out: Exact) -> None:
        """out += g, for x with its zeros."""
        add_score(x, y, theta, 0, self.link.code, self.low, self.high, out)
