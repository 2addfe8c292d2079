"""Generalised linear bandits: the estimate from released sums, and the choice by it."""

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Integers, Released
from reticent.kernels.compile import inlined, kernel
from reticent.kernels.linalg import copy, smat
from reticent.model.vectors import LARGE


class Posterior(NamedTuple):
    """What contributions are linearised at and policies choose by. Arrays, changed in place."""

    theta: Array  # (d,): the estimate to play by
    centre: Array  # (d,): the estimate for intervals
    axes: Array  # (d, d): eigenvectors of the released curvature, in columns
    precision: Array  # (d,): along the axes
    spread: Array  # (d,): standard deviation of the exploring draw along the axes
    inverse: Array  # (d, d): axes diag(1 / precision) axes'


class Known(NamedTuple):
    """What is known about theta* from elsewhere; of size 0 if nothing is. PUBLIC."""

    theta: Array  # (d,)
    precision: Array  # (d, d)


class Tuning(NamedTuple):
    """Of JointGLM: see there how it was chosen. None of the numbers touches privacy.

    variance: of a reward's noise per unit of curvature.
    ridge: times (variance / t^2 + noise / t), t the prior's std.
    explore: how many standard deviations an exploring draw has where nothing was sampled (`pursue`, in `fit`).
    share: directions with less than this share of the usual curvature are explored.
    caution: how much of the way to its centre an estimate goes where nothing was sampled.
    scaling: the prior's variance along an axis is t^2 (mean of usual / usual there)^scaling, so that features that vary
    less may have larger coefficients; it has no effect where what is usual is the same everywhere."""

    variance: float = 2.0
    ridge: float = 2.5
    explore: float = 0.47
    share: float = 1.5
    caution: float = 1.0
    scaling: float = 0.0


FARTHEST_SCALE = 3.0  # between a prior's std along an axis and t
# Chosen, with `explore`, by the mean and the tail of regret on tuning seeds (docs/measurements/joint-glm.md); neither
# touches privacy.
LEAST_ROOM = 0.1  # however long the estimate: a radius may be told too small
DOUBT = 0.06  # added to the room for each factor e between the mean precision and that along an axis


@kernel
def fit(
    released: Released, scale: float, unit: float, std: float, radius: float, tuning: Tuning, posterior: Posterior
) -> None:
    """posterior <- the estimate from released = (scale svec(A), b) whose coordinates have noise of std `std`.

    The eigenvalues l of A are drawn towards their mean as far as they may differ by noise alone, to lambda (clipped at
    0), which leaves a share `left` of A's noise (`shrink`). Along eigenvector k, with e^2 = std^2 (unit^2 + left^2
    radius^2 / scale^2) the variance of b - A theta* from the noise, c that of the rewards per unit of curvature,
    t^2 = radius^2 / d the prior's:
        precision_k = lambda^2 / (c lambda + e^2) + 1 / t^2
        centre_k    = lambda / (c lambda + e^2) b_k / precision_k
        h_k         = max(0, 1 - l+ / (share mean l+)), l+ = max(l, 0): how much it was sampled too little
        theta_k     = b_k / (lambda + ridge (c / t^2 + e / t)), moved to centre_k by caution h_k^2 (where little was
                      sampled, b_k is mostly noise that stays for long), then projected on |theta| <= radius
        spread_k    = explore h_k / sqrt(precision_k), which `pursue` scales by what there is to find
    where c (variance), ridge, explore, share and caution are in `tuning`."""
    d = posterior.theta.size
    packed = d * (d + 1) // 2
    curvature = np.empty((d, d))
    smat(released[:packed], curvature)
    found, axes = np.linalg.eigh(curvature / scale)
    raw = np.maximum(found, 0.0)
    left = shrink(found, std / scale)
    noise = std * math.sqrt(unit * unit + (left * radius / scale) ** 2)
    settle(np.maximum(found, 0.0), raw, axes, released[packed:] * unit, noise, radius, tuning, posterior)


@kernel
def settle(
    values: Array,
    raw: Array,
    axes: Array,
    moment: Array,
    noise: float,
    radius: float,
    tuning: Tuning,
    posterior: Posterior,
) -> None:
    """posterior <- as in `fit`, from eigenvalues lambda, those before they were shrunk, eigenvectors, b and e."""
    d = values.size
    usual = np.full(d, np.mean(raw))
    along = np.dot(axes.T, moment)
    total = along_axes(values, raw, usual, along, noise, radius / math.sqrt(d), tuning, posterior)
    from_axes(axes, min(1.0, radius / math.sqrt(total)) if total > 0.0 else 1.0, posterior)
    pursue(radius, posterior)


@kernel
def pursue(radius: float, posterior: Posterior) -> None:
    """Explore more where there is more to find, and where it has been left alone for long:
        spread_k <- spread_k (room + DOUBT max(0, ln(mean precision / precision_k))),
        room = max(LEAST_ROOM, 1 - |theta|^2 / radius^2).
    All other directions together can have no more than radius^2 - |theta|^2 of |theta*|^2: who has found something of
    length near the radius has little to gain from them, and who plays an arm that is only good has much. The logarithm
    grows with the rounds where one arm is played over and over, as in a fixed arm set, and hardly at all where
    features are diverse: what looks bad, and was seen little, is tried again, however unlucky its first rewards were.
    """
    room = max(LEAST_ROOM, 1.0 - np.sum(posterior.theta**2) / (radius * radius))
    usual = np.mean(posterior.precision)
    for k in range(posterior.spread.size):
        posterior.spread[k] *= room + DOUBT * max(0.0, math.log(usual / posterior.precision[k]))


@kernel
def shrink(values: Array, std: float) -> float:
    """Draw the eigenvalues of a (d, d) matrix, whose d (d + 1) / 2 numbers have noise of that std, towards their mean
    m: l <- m + keep (l - m), keep = max(0, 1 - (d (d + 1) / 2 - 1) std^2 / sum (l - m)^2). The sum is the squared
    distance from m times the identity; what is taken off is the share of it that noise alone would give on average.
    Changes values, and returns which share of the noise is left: keep, or the 1 / d of the mean, if that is more."""
    d = values.size
    mean = np.mean(values)
    square = np.sum((values - mean) ** 2)
    expected = (d * (d + 1) // 2 - 1) * std * std
    keep = 1.0 - expected / square if square > expected else 0.0
    copy(mean + keep * (values - mean), values)
    return max(keep, 1.0 / d)


@kernel
def along_axes(
    values: Array,
    raw: Array,
    usual: Array,
    moment: Array,
    noise: float,
    prior: float,
    tuning: Tuning,
    posterior: Posterior,
) -> float:
    """precision, spread, and theta (before its projection) and centre along the axes, as in `fit`, from the eigenvalues
    and the moment along them. What lacks samples is judged by `raw`, the eigenvalues before they were shrunk, each
    beside what is usual along its axis; prior: t. Returns |theta|^2."""
    c, ridge, explore, share, caution, scaling = tuning
    mean, total = np.mean(usual), 0.0
    for k in range(values.size):
        value, t = values[k], prior
        if scaling > 0.0 and usual[k] > 0.0:
            t *= min(max((mean / usual[k]) ** (scaling / 2.0), 1.0 / FARTHEST_SCALE), FARTHEST_SCALE)
        informed = value / (c * value + noise * noise) if value > 0.0 else 0.0
        posterior.precision[k] = value * informed + 1.0 / (t * t)
        lacking = max(0.0, 1.0 - raw[k] / (share * usual[k])) if usual[k] > 0.0 else 1.0
        posterior.spread[k] = explore * lacking / math.sqrt(posterior.precision[k])
        posterior.centre[k] = informed * moment[k] / posterior.precision[k]
        direct = moment[k] / (value + ridge * (c / (t * t) + noise / t))
        posterior.theta[k] = direct + caution * lacking * lacking * (posterior.centre[k] - direct)
        total += posterior.theta[k] ** 2
    return total


@kernel
def combine(known: Known, radius: float, posterior: Posterior) -> None:
    """posterior <- together with what is known from elsewhere, P the precision that the posterior has and Q the known
    one: precision P + Q, theta = (P + Q)^-1 (P theta + Q known), projected on |theta| <= radius, and the same for the
    centre. Along each axis there is less to explore by the share P / (P + Q)."""
    combine_within(known, posterior)
    length = math.sqrt(np.sum(posterior.theta**2))
    if length > radius:
        copy(posterior.theta * (radius / length), posterior.theta)


@kernel
def combine_within(known: Known, posterior: Posterior) -> None:
    """`combine` without the projection."""
    axes = posterior.axes
    had = np.dot(axes * posterior.precision, axes.T)
    both = np.linalg.inv(had + known.precision)
    extra = np.dot(known.precision, known.theta)
    copy(np.dot(both, np.dot(had, posterior.theta) + extra), posterior.theta)
    copy(np.dot(both, np.dot(had, posterior.centre) + extra), posterior.centre)
    copy((both + both.T) / 2.0, posterior.inverse)
    along = np.sum(axes * np.dot(known.precision, axes), axis=0)
    for k in range(along.size):
        more = posterior.precision[k] + along[k]
        posterior.spread[k] *= posterior.precision[k] / more
        posterior.precision[k] = more


@kernel
def from_axes(axes: Array, inside: float, posterior: Posterior) -> None:
    """theta and centre, which were given along `axes`, into coordinates, theta times `inside`; axes and inverse too."""
    copy(axes, posterior.axes)
    copy(np.dot(axes, posterior.theta * inside), posterior.theta)
    copy(np.dot(axes, posterior.centre), posterior.centre)
    update_inverse(posterior)


@kernel
def update_inverse(posterior: Posterior) -> None:
    """inverse <- axes diag(1 / precision) axes'."""
    axes = posterior.axes
    d = posterior.precision.size
    if d >= LARGE:
        copy(np.dot(axes / posterior.precision, axes.T), posterior.inverse)
        return
    for i in range(d):
        for j in range(i + 1):
            s = 0.0
            for k in range(d):
                s += axes[i, k] * axes[j, k] / posterior.precision[k]
            posterior.inverse[i, j] = s
            posterior.inverse[j, i] = s


@inlined
def thompson(rng: Generator, arms: Array, posterior: Posterior, target: Array) -> int:
    """argmax over arms of <x, theta + sum_k spread_k N(0, 1) axis_k>; target is overwritten."""
    d = target.size
    for i in range(d):
        target[i] = posterior.theta[i]
    for k in range(d):
        if posterior.spread[k] > 0.0:
            draw = posterior.spread[k] * rng.standard_normal()
            for i in range(d):
                target[i] += draw * posterior.axes[i, k]
    return best_arm(arms, target)


@inlined
def best_arm(arms: Array, target: Array) -> int:
    """argmax over arms of <x, target>; the first one of equals."""
    best, index = -np.inf, 0
    for a in range(arms.shape[0]):
        value = 0.0
        for i in range(target.size):
            value += arms[a, i] * target[i]
        if value > best:
            best, index = value, a
    return index


@kernel
def thompson_rows(arms: Array, theta: Array, axes: Array, spread: Array, draws: Array, out: Integers) -> None:
    """out[i] = the choice of `thompson` for user i with the normal numbers draws[i], one for each positive spread."""
    target = np.empty(theta.size)
    for i in range(arms.shape[0]):
        n = 0
        for j in range(theta.size):
            target[j] = theta[j]
        for k in range(theta.size):
            if spread[k] > 0.0:
                draw = spread[k] * draws[i, n]
                n += 1
                for j in range(theta.size):
                    target[j] += draw * axes[j, k]
        out[i] = best_arm(arms[i], target)
