"""The contribution of one user to a generalised linear model by a straight line whose distance from the link is known
in advance (docs/proofs/rate.md)."""

import math
from dataclasses import dataclass

import numpy as np

from reticent.data import Array, Exact
from reticent.model import links
from reticent.model.links import Code, Link
from reticent.model.vectors import PairContribution, add_pair, shortened

NEAR = 1e-6  # a chord that is shorter has the slope of the tangent


def steepness(z: float, within: float, radius: float, link: Code) -> float:
    """w: the slope of the line through (z, mu(z)) for scores t with |t - z| <= within and |t| <= radius: between the
    flattest and the steepest of four chords from z: to both ends, to -z / 2 or the end before it, and the tangent."""
    low, high = max(z - within, -radius), min(z + within, radius)
    tangent, left, right = links.slope(link, z), _chord(z, low, link), _chord(z, high, link)
    aside = _chord(z, min(max(-z / 2, low), high), link)
    return (min(tangent, left, right) + max(tangent, left, right, aside)) / 2


def _chord(z: float, t: float, link: Code) -> float:
    return links.slope(link, z) if abs(t - z) < NEAR else (links.mean(link, t) - links.mean(link, z)) / (t - z)


@dataclass(frozen=True, kw_only=True)
class SecantContribution(PairContribution):
    """v = (svec(w x x'), scale y x), y = r - mu(z) + w z, z = <x, theta> for a public theta with |theta| <= radius, w
    the slope of the line through (z, mu(z)) (`steepness`), r in [0, 1] and |x| cut to 1.

    Bounds. w is a mean of chords within [-radius, radius], each a mean of mu': so f <= w <= m, f = mu'(radius) the
    smallest slope and m = mu'(0) the largest. y = r - c, c = mu(z) - w z the line's value at 0, and |y| <= Y = mu(R) -
    R mu'(R), R the radius: take z >= 0. w >= f, and mu(z) - f z rises up to R: c <= Y. w is at most the slope of the
    steepest chord from z, which is the tangent at some -u, 0 <= u <= z: its value at 0 is 1 - (mu(u) - u mu'(u)), and
    mu(u) - u mu'(u) rises: c >= 1 - Y. In floating point w and y are cut to these bounds.
    Sensitivity (replace one user by another, who has a ~). With t = |x|, s = w t^2 and B = scale Y, unit vectors at
    |cos| = c:
        |v - v~|^2 <= g = s^2 + s~^2 - 2 s s~ c^2 + B^2 (t^2 + t~^2 + 2 t t~ c),     f t^2 <= s <= m t^2,
    convex in s and in s~, so largest where they are at ends. If B >= m then g rises with t where s = a t^2, s~ = a~
    t~^2: its derivative is at least -4 a a~ t t~^2 c^2 + 2 B^2 (t + t~ c) >= 0, as t t~^2 c^2 <= min(t, t~ c). So t =
    t~ = 1, and over c, with (a, a~) = (m, m) or (m, f); (f, f) is less than the first:
        D^2 = max a^2 + a~^2 - 2 a a~ c^2 + 2 B^2 (1 + c),    c = min(1, B^2 / (2 a a~)).
    c = 0 gives 2 (m^2 + B^2), twice the largest |v|^2, so late rewards are covered. It is nearly attained for radii up
    to 1. For larger ones it is too large, as two long responses never point in opposite directions: 1.5 times what a
    search finds at radius 3."""

    link: Link
    radius: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.link.odd or self.scale * self.response < self.link.steepest * (1 - 1e-9):
            raise ValueError("Expected logistic or probit, and a scale of at least m / Y, got another.")

    @property
    def flattest(self) -> float:
        """f."""
        return links.slope(self.link.code, self.radius)

    @property
    def response(self) -> float:
        """Y."""
        return links.mean(self.link.code, self.radius) - self.radius * self.flattest

    @property
    def sensitivity(self) -> float:
        b, m = (self.scale * self.response) ** 2, self.link.steepest

        def apart(other: float) -> float:
            c = min(1.0, b / (2 * m * other))
            return m * m + other * other - 2 * m * other * c * c + 2 * b * (1 + c)

        return math.sqrt(max(apart(m), apart(self.flattest)))

    @property
    def norm(self) -> float:
        return math.hypot(self.link.steepest, self.scale * self.response)

    def line(self, z: float, within: float) -> tuple[float, float]:
        """(w, c)."""
        w = min(max(steepness(z, within, self.radius, self.link.code), self.flattest), self.link.steepest)
        return w, links.mean(self.link.code, z) - w * z

    def add(self, x: Array, y: float, theta: Array, within: float, out: Exact) -> None:
        """out += v: within says how near <x, theta> is to <x, theta*>."""
        bounded, most = shortened(x), self.response
        w, c = self.line(float(bounded @ theta), within)
        r = (min(max(y, self.low), self.high) - self.low) / (self.high - self.low)
        add_pair(bounded, w, self.scale * min(max(r - c, -most), most), out)


def balanced(link: Link, dim: int, radius: float) -> float:
    """The scale, of at least m / Y, that minimises the noise in (sum of w x x') theta* - (sum of y x), for |theta*| <=
    radius, as in confidence.balanced_scale."""
    least = SecantContribution(dim=dim, scale=1e9, low=0.0, high=1.0, link=link, radius=radius)
    scales = link.steepest / least.response * np.geomspace(1.0, 8.0, 400)
    made = [SecantContribution(dim=dim, scale=s, low=0.0, high=1.0, link=link, radius=radius) for s in scales]
    noise = [one.sensitivity**2 * (1 / one.scale**2 + radius**2 * (dim + 1) / (2 * dim)) for one in made]
    return float(scales[int(np.argmin(noise))])
