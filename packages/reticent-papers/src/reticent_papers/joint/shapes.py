"""Links as functions of arrays, for what is proven about estimates; and how far a straight line lies from them."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from reticent import special
from reticent.data import Array
from reticent_papers.joint.secant import NEAR

POINTS = 200  # scores from 0 to the largest
ENDS = 100  # of chords from each
SLACK = 1e-9


class LinkShape(NamedTuple):
    """bend: a bound of |mu''|."""

    mean: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    bend: float


SHAPES = {
    "logistic": LinkShape(
        lambda z: 1 / (1 + np.exp(-z)), lambda z: np.exp(-z) / (1 + np.exp(-z)) ** 2, 1 / (6 * math.sqrt(3))
    ),
    "probit": LinkShape(
        lambda z: special.ndtr(z),
        lambda z: np.exp(-z * z / 2) / math.sqrt(2 * math.pi),
        math.exp(-0.5) / math.sqrt(2 * math.pi),
    ),
}


def misfit(name: str, *, longest: float, within: float, radius: float) -> float:
    """q with |mu(t) - mu(z) - w (t - z)| <= q w |t - z| for every |z| <= longest, every t with |t - z| <= within and
    |t| <= radius, and the slope w of the line that joint.secant puts through z.

    mu(t) - mu(z) = a (t - z), a the chord's slope: q = max |a - w| / w. Chords are means of mu', which rises up to 0
    and falls from there; so among those from z the flattest is at an end or the tangent at z. By mu(-z) = 1 - mu(z) it
    is enough to take z >= 0, and there chords to t > z are flatter than the tangent. What is steepest is looked for
    among ENDS points t between -z and z: a chord changes by at most bend / 2 per unit of t, by at most bend per unit
    of z if its end moves too, and so does w, which is a mean of chords. Both are added for what lies between points."""
    shape = SHAPES[name]
    z = np.linspace(0.0, longest, POINTS + 1)[:, None]
    low, high = np.maximum(z - within, -radius), np.minimum(z + within, radius)
    first = np.maximum(low, -z)
    ends = first + (np.minimum(z, high) - first) * np.linspace(0.0, 1.0, ENDS + 1)
    tangent, chords = shape.slope(z), _chords(shape, z, ends)
    left, right = _chords(shape, z, low), _chords(shape, z, high)
    aside = _chords(shape, z, np.clip(-z / 2, low, high))
    flattest = np.minimum(np.minimum(tangent, left), right)
    picked = np.maximum(np.maximum(tangent, left), np.maximum(right, aside))
    w = (flattest + picked) / 2
    steepest = np.maximum(picked, chords.max(axis=1, keepdims=True))
    moves = shape.bend * longest / POINTS / 2  # a chord from z, and w, to the nearest of the points
    between = moves + shape.bend * (z - first) / ENDS / 4
    least = w - moves
    worst = float(shape.slope(np.array(0.0)) / shape.slope(np.array(radius)))  # of slopes: no chord is worse
    if least.min() <= 0:
        return worst
    found = np.max(np.maximum(steepest + between - least, w + moves - flattest + between) / least)
    return min(worst, float(found) + SLACK)


def _chords(shape: LinkShape, z: Array, t: Array) -> Array:
    apart = t - z
    near = np.abs(apart) < NEAR
    out: Array = np.where(near, shape.slope(z), (shape.mean(t) - shape.mean(z)) / np.where(near, 1.0, apart))
    return out
