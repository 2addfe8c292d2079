"""LocalIRLS: how the server fits sums of randomised reports, and whole blocks of rounds, devices and all."""

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Exact, Integers, Released
from reticent.kernels.block import Block
from reticent.kernels.compile import inlined, kernel
from reticent.kernels.glm import Posterior, from_axes
from reticent.kernels.linalg import smat
from reticent.kernels.rounds import CHOICES, next_boundary, outcome
from reticent.model import links
from reticent.model.glm import in_centred_units, linearize, predict
from reticent.model.links import IDENTITY, Code
from reticent.model.vectors import add_pair
from reticent_devices.mechanisms.randomize_kernel import empty_report, flip, randomize
from reticent_devices.mechanisms.randomizers import Law

BOUNDARY, VERSION = 1, 2


class LocalState(NamedTuple):
    """All of it is public or randomised before it came. Where scores alone are sent (local.scores), there are neither
    matrices nor a posterior beside its theta: they are empty."""

    counts: Integers  # (3,): users, the count at which theta is published next, how often it was
    sums: Released  # (2, size): reports since then, and (discounted) those before
    weights: Array  # (2,): how many reports that is, their weights squared
    anchor: Array  # (d, d): the sum of what each step's curvature is drawn towards (add_anchor)
    posterior: Posterior
    root: Array  # (d, d): a square root of the covariance of the draws that explore


class IRLSTuning(NamedTuple):
    """Chosen by regret on tuning seeds of which no record was kept; none of them touches privacy. ridge: times
    (variance / t^2 + noise / t), t the prior's std; explore, share: how much, and in directions with less than which
    share of the mean curvature, to explore; trust: how much of what could be noise in the curvature is taken for
    noise."""

    variance: float = 2.0
    ridge: float = 6.0
    explore: float = 0.25
    share: float = 1.0
    trust: float = 1.0


class IRLSSchedule(NamedTuple):
    """Public: a function of the number of users."""

    first: float  # users between two estimates, at least
    growth: float  # of the number of users from one estimate to the next
    forced: float  # users who get exploring arms


class IRLSSettings(NamedTuple):
    low: float  # of rewards
    high: float
    shrink: float  # of features, and the constant beside them: `padded`
    constant: float
    blend: float  # of tangent and chord: model.glm.line
    scale: float  # of the curvature within a contribution
    unit: float  # of rewards
    radius: float
    discount: float
    coin: float  # the chance with which a reward is sent as it is where arms are public (0: they are not)


@kernel
def add_anchor(curvature: Array, axis: Array, random: bool, anchor: Array) -> None:
    """anchor += beta I + (alpha - beta) t t', the matrix of that form that is nearest to the curvature of one step
    whose users played by the estimate t: what they played lies along it, and across it about the same in all
    directions. alpha = beta while exploring."""
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
            anchor[i, j] += (alpha - beta) * axis[i] * axis[j] / square + (beta if i == j else 0.0)


@kernel
def local_fit(
    released: Released, anchor: Array, std: float, settings: IRLSSettings, tuning: IRLSTuning, posterior: Posterior
) -> None:
    """posterior <- the estimate from sums of reports (scale svec(A), b) whose numbers have noise of std `std`.

    A is first drawn towards S = `anchor`, which has little noise: with n the expected squared norm of that in A - S,
        A <- S + max(0, 1 - trust n / |A - S|^2) (A - S)                 (James & Stein)
    so that A is used as it is where the noise is small. Then, with eigenvalues clipped at 0, c the variance of the
    tuning, e the noise of the moment and t the prior's standard deviation,
        theta_k = b_k / (lambda_k + ridge (c / t^2 + e / t)), projected on |theta| <= radius
        precision_k = lambda_k^2 / (c lambda_k + e^2) + 1 / t^2
        spread_k = explore max(0, 1 - lambda_k / (share mean lambda)) / sqrt(precision_k)."""
    d = posterior.theta.size
    c, radius, scale = tuning.variance, settings.radius, settings.scale
    packed = d * (d + 1) // 2
    curvature = np.empty((d, d))
    smat(released[:packed], curvature)
    curvature /= scale
    if std > 0.0 and d > 1:
        draw_towards(anchor, tuning.trust * (packed - 2) * (std / scale) ** 2, curvature)
    values, axes = np.linalg.eigh(curvature)
    moment = np.dot(axes.T, released[packed:] * settings.unit)
    prior = radius / math.sqrt(d)
    noise = settings.unit * std
    mean, total = 0.0, 0.0
    for k in range(d):
        values[k] = max(values[k], 0.0)
        mean += values[k] / d
    for k in range(d):
        value = values[k]
        informed = value / (c * value + noise * noise) if value > 0.0 else 0.0
        posterior.precision[k] = value * informed + 1.0 / (prior * prior)
        lacking = 1.0 - value / (tuning.share * mean) if mean > 0.0 else 1.0
        posterior.spread[k] = tuning.explore * max(lacking, 0.0) / math.sqrt(posterior.precision[k])
        posterior.centre[k] = informed * moment[k] / posterior.precision[k]
        posterior.theta[k] = moment[k] / (value + tuning.ridge * (c / (prior * prior) + noise / prior))
        total += posterior.theta[k] ** 2
    from_axes(axes, min(1.0, radius / math.sqrt(total)) if total > 0.0 else 1.0, posterior)


@kernel
def draw_towards(anchor: Array, noise: float, matrix: Array) -> None:
    """Move `matrix` towards `anchor`; noise: the expected |noise|^2 of their difference."""
    d = anchor.shape[0]
    distance = 0.0
    for i in range(d):
        for j in range(d):
            distance += (matrix[i, j] - anchor[i, j]) ** 2
    keep = max(0.0, 1.0 - noise / distance) if distance > 0.0 else 0.0
    for i in range(d):
        for j in range(d):
            matrix[i, j] = anchor[i, j] + keep * (matrix[i, j] - anchor[i, j])


@inlined
def local_pick(rng: Generator, arms: Array, theta: Array, root: Array, random: bool, target: Array) -> int:
    """argmax over arms of <x, target>, target = root N(0, I), to which theta is added unless users explore. root is
    symmetric, so that it is the same whatever axes its eigenvalues' degeneracy allows. target is overwritten."""
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
def padded(arm: Array, shrink: float, constant: float, out: Array) -> None:
    """out = (shrink arm, constant), or (shrink arm) where out has no room for more. The constant makes an intercept for
    rewards that are not symmetric around 0, since centred rewards have mean <x, theta> - middle."""
    for i in range(arm.size):
        out[i] = shrink * arm[i]
    if out.size > arm.size:
        out[arm.size] = constant


@kernel
def local_absorb(report: Released, state: LocalState) -> None:
    """Add one report to the open sums."""
    for i in range(report.size):
        state.sums[0, i] += report[i]
    state.counts[CHOICES] += 1
    state.weights[0] += 1.0


@kernel
def close_step(state: LocalState, discount: float, schedule: IRLSSchedule) -> None:
    """Add the open sums to the others, which fade by the discount, and set when that is next."""
    counts, sums, weights = state.counts, state.sums, state.weights
    for i in range(sums.shape[1]):
        sums[1, i] = discount * sums[1, i] + sums[0, i]
        sums[0, i] = 0.0
    weights[1] = discount * discount * weights[1] + weights[0]
    weights[0] = 0.0
    counts[BOUNDARY] = next_boundary(counts[CHOICES], schedule.first, schedule.growth)
    counts[VERSION] += 1


@kernel
def local_publish(
    state: LocalState, std: float, settings: IRLSSettings, tuning: IRLSTuning, schedule: IRLSSchedule
) -> None:
    """Fit theta to all reports, those before the last time faded by the discount."""
    counts, sums, weights, anchor, posterior, root = state
    d = root.shape[0]
    curvature = np.empty((d, d))
    smat(sums[0, : d * (d + 1) // 2], curvature)
    anchor *= settings.discount
    add_anchor(curvature / settings.scale, posterior.theta, counts[BOUNDARY] <= schedule.forced, anchor)
    close_step(state, settings.discount, schedule)
    local_fit(sums[1], anchor, std * math.sqrt(weights[1]), settings, tuning, posterior)
    random = counts[BOUNDARY] <= schedule.forced
    for i in range(d):
        for j in range(d):
            s = 0.0
            for k in range(d):
                spread = 1.0 / math.sqrt(posterior.precision[k]) if random else posterior.spread[k]
                s += posterior.axes[i, k] * spread * posterior.axes[j, k]
            root[i, j] = s


@kernel
def local_rounds(
    policy: Generator,
    rng: Generator,
    block: Block,
    state: LocalState,
    law: Law,
    schedule: IRLSSchedule,
    settings: IRLSSettings,
    tuning: IRLSTuning,
    link: Code,
) -> None:
    """LocalIRLS. Changes state and the block's out arrays."""
    counts = state.counts
    posterior = state.posterior
    size = state.sums.shape[1]
    vector, report = Exact(np.empty(size)), empty_report(size)
    x, target = np.empty(posterior.theta.size), np.empty(posterior.theta.size)
    low, high = settings.low, settings.high
    for t in range(block.noise.size):
        if counts[CHOICES] >= counts[BOUNDARY]:
            local_publish(state, law.scale, settings, tuning, schedule)
        random = counts[BOUNDARY] <= schedule.forced
        index = local_pick(policy, block.arms[t], posterior.theta, state.root, random, target)
        if outcome(block, t, index):
            padded(block.arms[t, index], settings.shrink, settings.constant, x)
            y = block.reward[t]
            if settings.coin > 0.0:
                bit = flip(rng, (y - low) / (high - low), settings.coin)
                public_report(x, bit, settings.coin, posterior, link, settings.scale, report)
            else:
                r = in_centred_units(y, link, low, high)
                weight, response = linearize(x, r, posterior.theta, posterior.inverse, link, settings.blend)
                vector[:] = 0.0
                add_pair(x, settings.scale * weight, response, vector)
                randomize(rng, law, vector, report)
            local_absorb(report, state)


@kernel
def public_report(
    x: Array, bit: float, coin: float, posterior: Posterior, link: Code, scale: float, out: Released
) -> None:
    """out <- what the server makes of a public arm and a randomised bit, whose unbiased reading r has one variance for
    all arms: A = k mu'^2 x x', b = mu' (r - mu + mu' v) x (least squares), v and k as in model.glm.predict; identity:
    A = x x', b = r x, r read in [-1, 1]. Nothing needs a bound here."""
    out[:] = 0.0
    r = (bit - (1.0 - coin)) / (2.0 * coin - 1.0)
    if link == IDENTITY:
        add_pair(x, scale, 2.0 * r - 1.0, out)
        return
    v, k = predict(x, posterior.theta, posterior.inverse, link)
    steep = links.slope(link, v)
    add_pair(x, scale * (k * steep * steep), steep * (r - links.mean(link, v) + steep * v), out)
