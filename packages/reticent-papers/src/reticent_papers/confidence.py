"""The radius of the confidence set of ridge regression from released sums.

With V = G + H, H the noise plus shift, and theta = V^-1 (u + h):
    V (theta* - theta) = H theta* - z - h,    z = sum of x_s times the reward noise,
and |z|_{V^-1} <= sub sqrt(2 ln(2 / failure) + log det V - d ln floor) for all rounds at once, if H >= floor I.
"""

import math
from dataclasses import dataclass

import numpy as np

from reticent.algorithms.ridge import Confidence
from reticent.kernels.linear import Width
from reticent.mechanisms.continual import Continual
from reticent.mechanisms.grid import Grid
from reticent_lab.mechanisms.tree import Tree


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


def worst_gain(mechanism: Continual) -> float:
    """The largest std over all releases, per unit of sigma: at the last one, or for trees where all levels are in
    use."""
    kind = mechanism.real if isinstance(mechanism, Grid) else mechanism
    last = (1 << (mechanism.leaves.bit_length() - 1)) - 1 if isinstance(kind, Tree) else mechanism.leaves
    return float(mechanism.gain(np.array([float(mechanism.leaves), float(max(last, 1))])).max())


def balanced_scale(dim: int, radius: float, largest_reward: float) -> float:
    """The scale of the moment that minimises the noise in gram theta* - moment, for |theta*| <= radius.

    With svec noise of std s, a symmetric matrix has diagonal entries of std s and others of std s / sqrt 2, so that
    the noise in (gram theta*) has mean variance s^2 radius^2 (d + 1) / (2 d) a coordinate, the moment's s^2 / scale^2,
    and s is proportional to D(scale): a one-dimensional search over b = (scale Y)^2."""
    b = np.logspace(-3, math.log10(2), 2000)
    noise = (2 + 2 * b + b * b / 2) * (largest_reward**2 / b + radius**2 * (dim + 1) / (2 * dim))
    return math.sqrt(float(b[np.argmin(noise)])) / largest_reward
