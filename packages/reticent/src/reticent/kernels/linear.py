"""Linear bandits: the ridge estimate, the optimistic choice."""

from typing import NamedTuple

import numpy as np

from reticent.data import Array, Integers, Released
from reticent.kernels.compile import kernel
from reticent.kernels.linalg import grow, invert, smat

SMALL = 200_000  # a matrix product below this size runs on one core: runs are spread over cores, products are not


class RidgeEstimate(NamedTuple):
    """What a policy sees. Arrays, changed in place."""

    theta: Array  # (d,)
    inverse: Array  # (d, d): V^-1
    logdet: Array  # (1,): log det V


@kernel
def ridge(released: Released, scale: float, shift: float, estimate: RidgeEstimate) -> None:
    """estimate <- V = gram + shift I, theta = V^-1 moment, from released = (svec(gram), scale * moment).

    If V is not positive definite (an event of small probability that the width already allows for), the shift grows
    until it is: post-processing, so free."""
    d = estimate.theta.size
    packed = d * (d + 1) // 2
    matrix = np.empty((d, d))
    smat(released[:packed], matrix)
    for i in range(d):
        matrix[i, i] += shift
    logdet = invert(matrix, estimate.inverse)
    extra = max(abs(shift), 1.0)
    while np.isnan(logdet):
        for i in range(d):
            matrix[i, i] += extra
        extra *= 2.0
        logdet = invert(matrix, estimate.inverse)
    estimate.logdet[0] = logdet
    for i in range(d):
        s = 0.0
        for j in range(d):
            s += estimate.inverse[i, j] * released[packed + j]
        estimate.theta[i] = s / scale


@kernel
def rank_one(x: Array, y: float, moment: Array, estimate: RidgeEstimate) -> None:
    """Add x x' to V and y x to moment: V^-1 by Sherman and Morrison, theta = V^-1 moment."""
    d = x.size
    estimate.logdet[0] += grow(x, 1.0, estimate.inverse)
    for i in range(d):
        moment[i] += y * x[i]
    for i in range(d):
        v = 0.0
        for j in range(d):
            v += estimate.inverse[i, j] * moment[j]
        estimate.theta[i] = v


@kernel
def optimistic(arms: Array, estimate: RidgeEstimate, width: float, drift: float) -> int:
    """argmax over arms x of <theta, x> + width |x|_{V^-1} + drift |V^-1 x|; the first one of equals."""
    best, index = -np.inf, 0
    count, d = arms.shape
    rows = max(1, SMALL // (d * d))
    for start in range(0, count, rows):
        images = np.dot(arms[start : start + rows], estimate.inverse)  # beats loops from d = 5 on
        for k in range(images.shape[0]):
            a = start + k
            mean, square, norm = 0.0, 0.0, 0.0
            for i in range(d):
                mean += arms[a, i] * estimate.theta[i]
                square += arms[a, i] * images[k, i]
                norm += images[k, i] * images[k, i]
            value = mean + width * np.sqrt(max(square, 0.0)) + drift * np.sqrt(norm)
            if value > best:
                best, index = value, a
    return index


@kernel
def optimistic_rows(arms: Array, estimate: RidgeEstimate, width: float, drift: float, out: Integers) -> None:
    """out[i] = optimistic(arms[i]): many users at one state."""
    for i in range(arms.shape[0]):
        out[i] = optimistic(arms[i], estimate, width, drift)


class Width(NamedTuple):
    """Of the confidence set around a ridge estimate: noise sqrt(log_failure + max(0, log det V - log_floor)) + offset,
    for rewards that are `noise`-subgaussian."""

    noise: float
    log_failure: float  # 2 ln(1 / failure), or 2 ln(2 / failure) where privacy noise has its half
    log_floor: float  # d ln(smallest eigenvalue of V)
    offset: float


@kernel
def radius(width: Width, logdet: float) -> float:
    """The width at a matrix V with that log determinant."""
    return float(width.noise * np.sqrt(width.log_failure + max(0.0, logdet - width.log_floor)) + width.offset)
