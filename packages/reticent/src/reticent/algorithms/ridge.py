"""Ridge regression, and the arms that it is optimistic about."""

import math
from dataclasses import dataclass

import numpy as np

from reticent.data import Array
from reticent.kernels import linear
from reticent.kernels.linear import RidgeEstimate, Width


@dataclass(frozen=True, kw_only=True)
class Confidence:
    """|<x, theta* - theta>| <= width |x|_{V^-1} + drift |V^-1 x| for all rounds and arms, with probability
    1 - failure."""

    width: Width
    drift: float

    def scaled(self, factor: float) -> "Confidence":
        noise, offset = factor * self.width.noise, factor * self.width.offset
        return Confidence(width=self.width._replace(noise=noise, offset=offset), drift=factor * self.drift)


def empty(dim: int, shift: float) -> RidgeEstimate:
    """Before anything was released: V = shift I, theta = 0."""
    return RidgeEstimate(np.zeros(dim), np.eye(dim) / shift, np.array([dim * math.log(shift)]))


def choose_many(
    arms: Array, estimate: RidgeEstimate, confidence: Confidence
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For each row of (n, K, d) the largest upper confidence bound: argmax of <theta, x> + width |x|_{V^-1} + drift
    |V^-1 x|; the first one of equals."""
    out = np.empty(len(arms), np.int64)
    width = linear.radius(confidence.width, estimate.logdet[0])
    linear.optimistic_rows(arms, estimate, width, confidence.drift, out)
    return out
