"""What one person says in locally private reweighted regression, and how far apart two people can be. Devices compute
it: numpy alone. Bounds and their derivation: regression.contribution; U is public."""

import functools
import math
from typing import NamedTuple

import numpy as np

from reticent.data import Array
from reticent.model.links import IDENTITY, mean, named, slope
from reticent.model.vectors import TINY, packed_size, pair

STAGES = ("gram", "gradient", "closing")
RANGE, POINTS = 40.0, 8_001  # of log tan(psi / 2)
WORST = 1e9  # condition number beyond which the eigenvalues of U are not trusted, and any U is allowed for


class SumQuery(NamedTuple):
    """One step of the regression. Public."""

    stage: str
    matrix: Array  # U
    half: Array  # its square root
    point: Array  # theta
    radius: float  # predictors are clipped to it
    scale: float  # a
    outer: float  # b


def said(x: Array, r: float, asked: SumQuery, link: str) -> Array:
    """The statistic of a person with covariates x (|x| <= 1) and target r in units of the link, divided by how far
    apart two people are at most."""
    code, dim, far = named(link).code, x.size, apart(asked, link)[1]
    u = asked.matrix @ x
    length = math.sqrt(float(u @ u))
    if not TINY < length < math.inf:
        return np.zeros(sizes(dim)[STAGES.index(asked.stage)])
    if asked.stage == "gram":
        gram = pair(asked.half @ x, 1.0, 0.0)[: packed_size(dim)] / length
        norm = math.sqrt(float(gram @ gram))  # at most 1 if `half` is the root of U
        return np.asarray(gram / max(1.0, norm) / far)
    u = u / length
    z = min(max(float(x @ asked.point), -asked.radius), asked.radius)
    residual = r - mean(code, z)
    if asked.stage == "gradient":
        return np.asarray(-residual / far * u)
    if code == IDENTITY:
        residual = min(max(residual, -1.0), 1.0)  # it is always linearised at 0
    jacobian = np.outer(u, asked.scale * slope(code, z) * x).ravel()
    outer = asked.outer * pair(u, 1.0, 0.0)[: packed_size(dim)]
    return np.asarray(np.concatenate([jacobian, residual * u, outer]) / far)


def sizes(dim: int) -> tuple[int, int, int]:
    """Numbers of each stage."""
    return packed_size(dim), dim, dim * dim + dim + packed_size(dim)


def apart(asked: SumQuery, link: str) -> tuple[float, float]:
    """(the largest norm of a statistic, how far apart two of them are at most), before it is divided by the second."""
    if asked.stage == "gram":
        return 1.0, math.sqrt(2)
    code = named(link).code
    most = 1 + asked.radius if code == IDENTITY else mean(code, asked.radius)
    if asked.stage == "gradient":
        return most, 2 * most
    residual = 1.0 if code == IDENTITY else most
    squares = asked.outer**2, (asked.scale * slope(code, 0.0)) ** 2, residual**2
    worst = farthest(spread(asked.matrix), *squares)
    if squares[0] <= (squares[1] + squares[2]) / 2:
        worst = min(worst, 4 * (squares[1] + squares[2]))
    return math.sqrt(sum(squares)), math.sqrt(worst)


def spread(matrix: Array) -> float:
    """The logarithm of the condition number; infinite where it is beyond WORST, or the matrix is not positive."""
    values = np.linalg.eigvalsh(matrix)
    return math.log(values[-1] / values[0]) if values[-1] < WORST * values[0] else math.inf


@functools.lru_cache(maxsize=8)
def farthest(spread: float, outer: float, jacobian: float, residual: float) -> float:
    """The largest f where log kappa = spread, for b^2, a^2 L^2 and B^2: see ReweightedContribution.tightness."""
    x = np.linspace(-RANGE, RANGE, POINTS)
    low, high = np.cos(_angle(x + spread)), np.cos(_angle(x - spread))  # the smallest and the largest c
    straight = np.cos(_angle(x))
    best = np.zeros(POINTS)
    for sign in (1.0, -1.0):  # |c| = sign c
        ends = np.maximum(sign * np.where(sign > 0, low, high), 0.0), sign * np.where(sign > 0, high, low)
        peak = (residual - sign * jacobian * straight) / (2 * outer)
        best_c = np.clip(peak, np.minimum(*ends), np.maximum(*ends))
        slope = 2 * (residual - sign * jacobian * straight)
        value = 2 * (jacobian + residual + outer) + best_c * (slope - 2 * outer * best_c)
        best = np.maximum(best, np.where(ends[1] >= 0, value, 0.0))
    margin = (4 * jacobian + 2 * residual + 4 * outer) * RANGE / (POINTS - 1)
    c = min(1.0, residual / (2 * outer))
    short = jacobian + 2 * (residual + outer) + 2 * residual * c - 2 * outer * c * c
    return max(float(best.max()) + margin, short)


def _angle(x: Array) -> Array:
    """The angle whose half has the tangent e^x."""
    with np.errstate(over="ignore"):
        return np.asarray(2 * np.arctan(np.exp(x)))
