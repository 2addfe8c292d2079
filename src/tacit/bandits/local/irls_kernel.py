"""One-pass iteratively reweighted least squares from local reports: what a device contributes, how the server fits, and
whole blocks of rounds."""

import math
from typing import Any, NamedTuple

import numpy as np

from tacit.bandits.local.randomize_kernel import randomize
from tacit.kernels.compile import inlined, kernel
from tacit.kernels.glm import Posterior, update_inverse
from tacit.kernels.linalg import copy, smat
from tacit.kernels.rounds import CHOICES, next_boundary, outcome
from tacit.model import links
from tacit.model.glm import in_centred_units, linearize, predict
from tacit.model.links import IDENTITY
from tacit.model.vectors import add_pair

BOUNDARY, VERSION = 1, 2


class LocalState(NamedTuple):
    """All of it is public or randomised before it came."""

    counts: Any  # int64[3]: users, the count at which theta is published next, how often it was
    sums: Any  # (2, size): reports since then, and (discounted) those before
    weights: Any  # (2,): how many reports that is, their weights squared
    near: Any  # (d, d): the sum of the curvatures of two numbers that are nearest to each step's (local_near)
    posterior: Posterior
    root: Any  # (d, d): a square root of the covariance of the draws that explore


@kernel
def local_near(curvature, axis, random, near):
    """near += beta I + (alpha - beta) t t', the nearest such matrix to the curvature of one step whose users played by
    the estimate t: what they played lies along it, and across it about the same in all directions. alpha = beta while
    exploring."""
    d = axis.size
    square, trace, alpha = 0.0, 0.0, 0.0
    for i in range(d):
        square += axis[i] * axis[i]
        trace += curvature[i, i]
        for j in range(d):
            alpha += axis[i] * curvature[i, j] * axis[j]
    if random or square == 0.0 or d == 1:
        square, alpha, beta = 1.0, trace / d, trace / d
    else:
        alpha /= square
        beta = (trace - alpha) / (d - 1)
    for i in range(d):
        for j in range(d):
            near[i, j] += (alpha - beta) * axis[i] * axis[j] / square + (beta if i == j else 0.0)


@kernel
def local_fit(released, near, scale, unit, std, radius, tuning, posterior):
    """posterior <- the estimate from sums of reports (scale svec(A), b) whose numbers have noise of std `std`.

    A is first drawn towards S = `near`, which has little noise: with n the expected squared norm of that in A - S,
        A <- S + max(0, 1 - trust n / |A - S|^2) (A - S)                 (James & Stein)
    so that A is used as it is where the noise is small. Then, with eigenvalues clipped at 0, e the noise of the
    moment and t the prior's standard deviation,
        theta_k = b_k / (lambda_k + ridge (c / t^2 + e / t)), projected on |theta| <= radius
        precision_k = lambda_k^2 / (c lambda_k + e^2) + 1 / t^2
        spread_k = explore max(0, 1 - lambda_k / (share mean lambda)) / sqrt(precision_k).
    tuning = (c, ridge, explore, share, trust)."""
    d = posterior.theta.size
    c, ridge, explore, share, trust = tuning[0], tuning[1], tuning[2], tuning[3], tuning[4]
    packed = d * (d + 1) // 2
    curvature = np.empty((d, d))
    smat(released[:packed], curvature)
    curvature /= scale
    if std > 0.0 and d > 1:
        _draw_in(curvature, near, trust * (packed - 2) * (std / scale) ** 2)
    values, axes = np.linalg.eigh(curvature)
    moment = np.dot(axes.T, released[packed:] * unit)
    prior = radius / math.sqrt(d)
    noise = unit * std
    mean, total = 0.0, 0.0
    for k in range(d):
        values[k] = max(values[k], 0.0)
        mean += values[k] / d
    for k in range(d):
        value = values[k]
        informed = value / (c * value + noise * noise) if value > 0.0 else 0.0
        posterior.precision[k] = value * informed + 1.0 / (prior * prior)
        lacking = 1.0 - value / (share * mean) if mean > 0.0 else 1.0
        posterior.spread[k] = explore * max(lacking, 0.0) / math.sqrt(posterior.precision[k])
        posterior.centre[k] = informed * moment[k] / posterior.precision[k]
        posterior.theta[k] = moment[k] / (value + ridge * (c / (prior * prior) + noise / prior))
        total += posterior.theta[k] ** 2
    inside = min(1.0, radius / math.sqrt(total)) if total > 0.0 else 1.0
    copy(axes, posterior.axes)
    copy(np.dot(axes, posterior.theta * inside), posterior.theta)
    copy(np.dot(axes, posterior.centre), posterior.centre)
    update_inverse(posterior)


@kernel
def _draw_in(matrix, near, noise):
    """Draw `matrix` towards `near`; noise: the expected |noise|^2 of their difference."""
    d = near.shape[0]
    distance = 0.0
    for i in range(d):
        for j in range(d):
            distance += (matrix[i, j] - near[i, j]) ** 2
    keep = max(0.0, 1.0 - noise / distance) if distance > 0.0 else 0.0
    for i in range(d):
        for j in range(d):
            matrix[i, j] = near[i, j] + keep * (matrix[i, j] - near[i, j])


@inlined
def local_pick(rng, arms, theta, root, random, target):
    """argmax over arms of <x, target>, target = root N(0, I), plus theta but while exploring. root is symmetric, so
    that it is the same whatever axes its eigenvalues' degeneracy allows. target is overwritten."""
    d = target.size
    for i in range(d):
        target[i] = 0.0 if random else theta[i]
    for k in range(d):
        draw = rng.standard_normal()
        for i in range(d):
            target[i] += draw * root[i, k]
    best, index = -np.inf, 0
    for a in range(arms.shape[0]):
        value = 0.0
        for i in range(arms.shape[1]):
            value += arms[a, i] * target[i]
        if value > best:
            best, index = value, a
    return index


@kernel
def padded(arm, pad, out):
    """out = (pad[0] arm, pad[1]), or the arm alone where out is not longer: the intercept of rewards that are not
    symmetric around 0, since centred rewards have mean <x, theta> - middle."""
    for i in range(arm.size):
        out[i] = pad[0] * arm[i]
    if out.size > arm.size:
        out[arm.size] = pad[1]


@kernel
def local_absorb(report, state):
    """Add one report to the open sums."""
    for i in range(report.size):
        state.sums[0, i] += report[i]
    state.counts[CHOICES] += 1
    state.weights[0] += 1.0


@kernel
def local_publish(state, scale, unit, std, discount, radius, tuning, schedule):
    """Fit theta to all reports, those before the last time faded by `discount`."""
    counts, sums, weights, near, posterior, root = state
    d = root.shape[0]
    curvature = np.empty((d, d))
    smat(sums[0, : d * (d + 1) // 2], curvature)
    near *= discount
    local_near(curvature / scale, posterior.theta, counts[BOUNDARY] <= schedule[2], near)
    for i in range(sums.shape[1]):
        sums[1, i] = discount * sums[1, i] + sums[0, i]
        sums[0, i] = 0.0
    weights[1] = discount * discount * weights[1] + weights[0]
    weights[0] = 0.0
    local_fit(sums[1], near, scale, unit, std * math.sqrt(weights[1]), radius, tuning, posterior)
    counts[BOUNDARY] = next_boundary(counts[CHOICES], schedule[0], schedule[1])
    counts[VERSION] += 1
    random = counts[BOUNDARY] <= schedule[2]
    for i in range(d):
        for j in range(d):
            s = 0.0
            for k in range(d):
                std = 1.0 / math.sqrt(posterior.precision[k]) if random else posterior.spread[k]
                s += posterior.axes[i, k] * std * posterior.axes[j, k]
            root[i, j] = s


@kernel
def local_rounds(
    policy, rng, block, state, law, coin, schedule, bounds, pad, link, blend, scale, unit, radius, tuning, discount
):
    """LocalIRLS: schedule = (first, growth, forced), coin = the chance with which a reward is sent as it is where arms
    are public (0: they are not). Changes state and the block's out arrays."""
    counts = state.counts
    posterior = state.posterior
    size = state.sums.shape[1]
    vector, report = np.empty(size), np.empty(size)
    x, target = np.empty(posterior.theta.size), np.empty(posterior.theta.size)
    low, high = bounds[0], bounds[1]
    for t in range(block.noise.size):
        if counts[CHOICES] >= counts[BOUNDARY]:
            local_publish(state, scale, unit, law[1], discount, radius, tuning, schedule)
        random = counts[BOUNDARY] <= schedule[2]
        index = local_pick(policy, block.arms[t], posterior.theta, state.root, random, target)
        if outcome(block, t, index):
            padded(block.arms[t, index], pad, x)
            y = block.reward[t]
            if coin > 0.0:
                bit = 1.0 if rng.random() < (y - low) / (high - low) else 0.0
                if rng.random() >= coin:
                    bit = 1.0 - bit
                public_report(x, bit, coin, posterior, link, low, high, scale, report)
            else:
                r = in_centred_units(y, link, low, high)
                weight, response = linearize(x, r, posterior.theta, posterior.inverse, link, blend)
                vector[:] = 0.0
                add_pair(x, scale * weight, response, vector)
                randomize(rng, law, vector, report)
            local_absorb(report, state)


@kernel
def public_report(x, bit, coin, posterior, link, low, high, scale, out):
    """What the server makes of a public arm and a randomised bit, whose unbiased reading r has one variance for all
    arms: A = k mu'^2 x x', b = mu' (r - mu + mu' v) x (least squares), v and k as in model.glm.predict; identity:
    A = x x', b = r x, r read in [-1, 1]. Nothing needs a bound here."""
    out[:] = 0.0
    r = (bit - (1.0 - coin)) / (2.0 * coin - 1.0)
    if link == IDENTITY:
        add_pair(x, scale, 2.0 * r - 1.0, out)
        return
    v, k = predict(x, posterior.theta, posterior.inverse, link)
    steep = links.slope(link, v)
    add_pair(x, scale * (k * steep * steep), steep * (r - links.mean(link, v) + steep * v), out)
