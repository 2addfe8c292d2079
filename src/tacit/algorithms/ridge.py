"""Ridge regression from released sums, and the radius of its confidence set.

With V = G + H, H the noise plus shift, and theta = V^-1 (u + h):
    V (theta* - theta) = H theta* - z - h,    z = sum of x_s times the reward noise,
and |z|_{V^-1} <= sub sqrt(2 ln(2 / failure) + log det V - d ln floor) for all rounds at once, if H >= floor I.
"""

import math
from dataclasses import dataclass

import numpy as np

from tacit.data import Array, Released
from tacit.kernels import linear
from tacit.kernels.linear import RidgeEstimate, Width


@dataclass(frozen=True, kw_only=True)
class Regularizer:
    """Bounds that hold in each round with probability 1 - failure / (2 horizon), failure as in `Confidence`:
    floor I <= H <= ceiling I, |h|_{H^-1} <= perturbation, and |(H - shift I) theta* - h| <= drift for the noise alone.

    Reference: Shariff & Sheffet 2018, Definition 3 (rho_min, rho_max, gamma); drift is ours."""

    shift: float
    floor: float
    ceiling: float
    perturbation: float
    drift: float = math.inf


def gaussian_bounds(
    std: float, n: int, dim: int, failure: float, radius: float, scale: float, shift: float | None = None
) -> Regularizer:
    """For svec noise of std at most `std` in each of n releases, each with probability 1 - failure / (2 n):

    - a symmetric matrix N of that noise is a scaled GOE: the mean of its largest eigenvalue is at most std sqrt(2 d),
      and the eigenvalue is 1-Lipschitz in svec(N): |N| <= std (sqrt(2 d) + u) but for 2 exp(-u^2 / 2);
    - the moment's noise, std / scale a coordinate, has norm <= std / scale (sqrt d + u) but for exp(-u^2 / 2);
    - N theta* - (moment's noise) is Gaussian; per unit of std^2 its covariance has trace at most radius^2 (d + 1) / 2 +
      d / scale^2 and largest eigenvalue radius^2 + 1 / scale^2: its norm is <= std (sqrt(trace) + sqrt(eigenvalue) u)
      but for exp(-u^2 / 2).

    Four terms: u = sqrt(2 ln(8 n / failure))."""
    u = math.sqrt(2 * math.log(8 * n / failure))
    upsilon = std * (math.sqrt(2 * dim) + u)
    moment = std / scale * (math.sqrt(dim) + u)
    trace = radius**2 * (dim + 1) / 2 + dim / scale**2
    drift = std * (math.sqrt(trace) + math.sqrt(radius**2 + 1 / scale**2) * u)
    return gaussian_regularizer(upsilon, moment, drift, shift)


def gaussian_regularizer(upsilon: float, moment: float, drift: float, shift: float | None) -> Regularizer:
    """floor = shift - Upsilon, ceiling = shift + Upsilon; the shift is 2 Upsilon, and 1 where there is no noise."""
    if shift is None:
        shift = 2 * upsilon if upsilon else 1.0
    floor = shift - upsilon
    if floor <= 0:
        raise ValueError(
            f"Expected a shift above {upsilon:.6g} (what the noise may take away from an eigenvalue), got {shift:.6g}."
        )
    return Regularizer(
        shift=shift, floor=floor, ceiling=shift + upsilon, perturbation=moment / math.sqrt(floor), drift=drift
    )


@dataclass(frozen=True, kw_only=True)
class Confidence:
    """|<x, theta* - theta>| <= width |x|_{V^-1} + drift |V^-1 x| for all rounds and arms, with probability
    1 - failure."""

    width: Width
    drift: float

    def scaled(self, factor: float) -> "Confidence":
        noise, offset = factor * self.width.noise, factor * self.width.offset
        return Confidence(width=self.width._replace(noise=noise, offset=offset), drift=factor * self.drift)


def by_direction(
    regularizer: Regularizer, *, dim: int, radius: float, subgaussian: float, failure: float
) -> Confidence:
    """Sharper where V is large: <x, V^-1 (H theta* - h)> <= |V^-1 x| (drift + shift radius), since
    H theta* - h = (noise of the gram) theta* - (noise of the moment) + shift theta*. It holds whatever the
    dependence of V on the noise."""
    drift = regularizer.drift + abs(regularizer.shift) * radius
    return Confidence(width=width_of(regularizer, dim, subgaussian, failure, 0.0), drift=drift)


def width_of(regularizer: Regularizer, dim: int, subgaussian: float, failure: float, offset: float) -> Width:
    """The width with that offset, for a V that is at least floor I."""
    return Width(float(subgaussian), 2 * math.log(2 / failure), dim * math.log(regularizer.floor), offset)


def empty(dim: int, shift: float) -> RidgeEstimate:
    """Before anything was released: V = shift I, theta = 0."""
    return RidgeEstimate(np.zeros(dim), np.eye(dim) / shift, np.array([dim * math.log(shift)]))


def update(released: Released, scale: float, shift: float, estimate: RidgeEstimate) -> None:
    """estimate <- ridge regression on released = (svec(gram), scale * moment)."""
    linear.ridge(released, scale, shift, estimate)


def choose_many(
    arms: Array, estimate: RidgeEstimate, confidence: Confidence
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For each row of (n, K, d) the largest upper confidence bound: argmax of <theta, x> + width |x|_{V^-1} + drift
    |V^-1 x|; the first one of equals."""
    out = np.empty(len(arms), np.int64)
    width = linear.radius(confidence.width, estimate.logdet[0])
    linear.optimistic_rows(arms, estimate, width, confidence.drift, out)
    return out
