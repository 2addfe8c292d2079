"""Generalised linear bandits: what a user contributes at a public iterate, the estimate, the choice."""

import math
from typing import Any, NamedTuple

import numpy as np

from tacit.kernels.compile import inlined, kernel
from tacit.kernels.linalg import ROOT2, smat
from tacit.kernels.links import IDENTITY, PROBIT, TABLE, kind, link_mean, link_slope

TINY = 1e-150


class Posterior(NamedTuple):
    """What contributions are linearised at and policies choose by. Arrays, changed in place."""

    theta: Any  # (d,): the estimate to play by
    centre: Any  # (d,): the estimate for intervals
    axes: Any  # (d, d): eigenvectors of the released curvature, in columns
    precision: Any  # (d,): along the axes
    spread: Any  # (d,): standard deviation of the exploring draw along the axes
    inverse: Any  # (d, d): axes diag(1 / precision) axes'


@kernel
def linearize(x, y, posterior, link, low, high):
    """(weight, response) of one user: A = weight x x', b = response x, at the public posterior; (0, 0) if x = 0, or so
    near that its norm cannot be computed: squares below 1e-308 lose their digits, and x / |x| its length of 1.

    With z = <x, theta>, s^2 = x' P^-1 x and k = 1 / sqrt(1 + s^2) (probit) or 1 / sqrt(1 + pi s^2 / 8) (logistic), the
    mean over the posterior is mu(k z) to first order. At v = k z the mean is replaced by its tangent c + mu'(v) v', and
    u = 1 / (max(|c|, |1 - c|) |x|), c = mu(v) - mu'(v) v:
        weight = k u mu'(v),  response = u (r - c),  r = (y - low) / (high - low).
    identity: weight = 1 / |x|, response = y / (max |reward| |x|).
    A link given by a table: k = 1 / sqrt(1 + 2 pi mu'(0)^2 s^2), which is the above for probit and logistic."""
    d = x.size
    norm, z, s = 0.0, 0.0, 0.0
    for i in range(d):
        norm += x[i] * x[i]
    norm = math.sqrt(norm)
    if norm < TINY:
        return 0.0, 0.0
    bounded = min(max(y, low), high)
    number = kind(link)
    if number == IDENTITY:
        return 1.0 / norm, bounded / (max(abs(low), abs(high)) * norm)
    for i in range(d):
        z += x[i] * posterior.theta[i]
        for j in range(d):
            s += x[i] * posterior.inverse[i, j] * x[j]
    if number == TABLE:
        k = 1.0 / math.sqrt(1.0 + 2.0 * math.pi * link_slope(link, 0.0) ** 2 * s)
    else:
        k = 1.0 / math.sqrt(1.0 + s) if number == PROBIT else 1.0 / math.sqrt(1.0 + math.pi * s / 8.0)
    v = k * z
    mean, slope = link_mean(link, v), link_slope(link, v)
    c = mean - slope * v
    most = max(abs(c), abs(1.0 - c))
    u = 1.0 / (most * norm)
    return k * u * slope, u * ((bounded - low) / (high - low) - c)


@kernel
def glm_contribute(x, y, posterior, link, scale, low, high, out):
    """out += (scale svec(A), b) with |x| clipped to 1 and y to [low, high]."""
    d = x.size
    norm = 0.0
    for i in range(d):
        norm += x[i] * x[i]
    shrink = 1.0 / max(1.0, math.sqrt(norm))
    bounded = x * shrink
    weight, response = linearize(bounded, y, posterior, link, low, high)
    k = 0
    for i in range(d):
        out[k] += scale * weight * bounded[i] * bounded[i]
        k += 1
        for j in range(i + 1, d):
            out[k] += scale * weight * ROOT2 * bounded[i] * bounded[j]
            k += 1
    for i in range(d):
        out[k + i] += response * bounded[i]


@kernel
def fit(released, scale, unit, std, radius, tuning, posterior):
    """posterior <- the estimate from released = (scale svec(A), b) whose coordinates have noise of std `std`.

    Along eigenvector k of A (eigenvalues clipped at 0), with e^2 = std^2 (unit^2 + radius^2 / scale^2) the variance of
    b - A theta* from the noise, c that of the rewards per unit of curvature, t^2 = radius^2 / d the prior's:
        precision_k = lambda^2 / (c lambda + e^2) + 1 / t^2
        centre_k    = lambda / (c lambda + e^2) b_k / precision_k
        h_k         = max(0, 1 - lambda / (share mean lambda)): how much it was sampled too little
        theta_k     = b_k / (lambda + shrink (c / t^2 + e / t)), moved to centre_k by h_k^2 (where little was sampled,
                      b_k is mostly noise that stays for long), then projected on |theta| <= radius
        spread_k    = explore h_k / sqrt(precision_k)
    tuning = (c, shrink, explore, share)."""
    d = posterior.theta.size
    c, shrink, explore, share = tuning[0], tuning[1], tuning[2], tuning[3]
    packed = d * (d + 1) // 2
    curvature = np.empty((d, d))
    smat(released[:packed], curvature)
    values, axes = np.linalg.eigh(curvature / scale)
    moment = np.dot(axes.T, released[packed:] * unit)
    noise = unit * std * math.sqrt(1.0 + (radius / (unit * scale)) ** 2)
    prior = radius / math.sqrt(d)
    mean = 0.0
    for k in range(d):
        values[k] = max(values[k], 0.0)
        mean += values[k] / d
    total = 0.0
    for k in range(d):
        value = values[k]
        informed = value / (c * value + noise * noise) if value > 0.0 else 0.0
        posterior.precision[k] = value * informed + 1.0 / (prior * prior)
        lacking = max(0.0, 1.0 - value / (share * mean)) if mean > 0.0 else 1.0
        posterior.spread[k] = explore * lacking / math.sqrt(posterior.precision[k])
        posterior.centre[k] = informed * moment[k] / posterior.precision[k]
        direct = moment[k] / (value + shrink * (c / (prior * prior) + noise / prior))
        posterior.theta[k] = direct + lacking * lacking * (posterior.centre[k] - direct)
        total += posterior.theta[k] ** 2
    inside = min(1.0, radius / math.sqrt(total)) if total > 0.0 else 1.0
    posterior.axes[:] = axes
    posterior.theta[:] = np.dot(axes, posterior.theta * inside)
    posterior.centre[:] = np.dot(axes, posterior.centre)
    turn_back(posterior)


@kernel
def turn_back(posterior):
    """inverse <- axes diag(1 / precision) axes'."""
    axes = posterior.axes
    d = posterior.precision.size
    for i in range(d):
        for j in range(i + 1):
            s = 0.0
            for k in range(d):
                s += axes[i, k] * axes[j, k] / posterior.precision[k]
            posterior.inverse[i, j] = s
            posterior.inverse[j, i] = s


@inlined
def thompson(rng, arms, posterior, target):
    """argmax over arms of <x, theta + sum_k spread_k N(0, 1) axis_k>; target is overwritten."""
    d = target.size
    for i in range(d):
        target[i] = posterior.theta[i]
    for k in range(d):
        if posterior.spread[k] > 0.0:
            draw = posterior.spread[k] * rng.standard_normal()
            for i in range(d):
                target[i] += draw * posterior.axes[i, k]
    best, index = -np.inf, 0
    for a in range(arms.shape[0]):
        value = 0.0
        for i in range(d):
            value += arms[a, i] * target[i]
        if value > best:
            best, index = value, a
    return index


@kernel
def thompson_rows(rng, arms, posterior, random, out):
    """out[i] = a choice for user i: uniform if `random`, else a fresh Thompson draw."""
    target = np.empty(posterior.theta.size)
    for i in range(arms.shape[0]):
        if random:
            out[i] = int(rng.random() * arms.shape[1])
        else:
            out[i] = thompson(rng, arms[i], posterior, target)
