"""ShuffleNewton: what a batch tells of theta*, and whole blocks of rounds in one loop."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from reticent.data import Array, Coded, Exact, Released
from reticent.kernels.block import Block
from reticent.kernels.compile import inlined, kernel
from reticent.kernels.formulas import add_glm
from reticent.kernels.glm import Posterior, Tuning, thompson, update_inverse
from reticent.kernels.linalg import copy, smat
from reticent.kernels.rounds import draw_arm, outcome
from reticent.model.links import Code
from reticent.model.vectors import add_pair
from reticent_devices.bandits.shuffle.batches_kernel import (
    BATCH,
    USERS,
    ShuffleState,
    open_batch,
    optimistic_arm,
    surviving,
)
from reticent_devices.bandits.shuffle.sum_kernel import add_up, fading_of
from reticent_devices.kernels.design import chances
from reticent_devices.mechanisms.shuffle.calibration import Plans, ShufflePlan
from reticent_devices.mechanisms.shuffle.sums_kernel import OpenBatch, plan_of, randomize

THOMPSON, UCB, GREEDY, ELIMINATION = 0, 1, 2, 3

# Chosen by the mean and the tail of regret on tuning seeds (docs/measurements/shuffle.md; the single runs were not
# kept); none of them touches privacy.
VARIANCE = 2.0  # of a reward's noise per unit of curvature
KNOWN, LACKING = 0.3, 1.1  # standard deviations of a draw: where enough was sampled, and where nothing was
ENOUGH = 0.7  # of the mean information: enough
RIDGE = 1.5  # how much nearer to 0 the cautious estimate is
FLOOR = 1.5  # eigenvalues of a batch are made smaller by so many standard deviations of the noise in them
FEWEST_OPTIMISTS, OPTIMISTS = 8.0, 16.0  # users of a batch who are optimists: so many, and so many per unit of noise
AGAIN = math.log(1.5)  # optimists come again when there are half as many users more


class NewtonSettings(NamedTuple):
    low: float  # of rewards
    high: float
    scale: float  # of the curvature within a contribution
    unit: float  # of rewards
    radius: float
    width: float
    blocks: int  # parts of equal length of which an arm has one, and zeros in the others
    fading: float  # of the sum of earlier batches (`add_up`); 0: each batch is taken by itself (`absorb`)
    tuning: Tuning  # of the estimate from that sum
    largest: float  # users of a batch at most


@kernel
def optimist_share(plan: ShufflePlan, before: int, fading: float) -> float:
    """The share of a batch's users who try the arm that may be best, instead of one that is likely to be: enough of
    them to be seen above the noise of the batch. before: users of earlier batches. Only a batch in which their number
    passes a power of 1.5 has any, so that they get rarer where batches no longer grow. None where the estimate is from
    the sum of all batches: contexts vary enough there."""
    passed = before == 0 or math.floor(math.log(before + plan.users) / AGAIN) > math.floor(math.log(before) / AGAIN)
    if fading > 0.0 or not passed:
        return 0.0
    users = float(plan.users)
    std = math.sqrt(users * ((plan.trials + 1.0) / 4.0 + 2.0 * plan.laplace**2)) / plan.scale
    return min(1.0, (FEWEST_OPTIMISTS + OPTIMISTS * std) / users)


@kernel
def absorb(
    batch: Released,
    std: float,
    scale: float,
    unit: float,
    radius: float,
    alone: bool,
    information: Released,
    posterior: Posterior,
) -> None:
    """information += what one batch tells; posterior <- the estimate from all batches.

    batch = (scale svec(A), b) with noise of std `std` in each coordinate. b - A theta* has a variance of c lambda from
    the rewards and e^2 = std^2 (unit^2 + radius^2 / scale^2) from the noise, along an eigenvector of A with eigenvalue
    lambda. lambda is first made smaller by FLOOR std / scale, the noise in A: what falls below 0 tells nothing. Then
        information += lambda^2 / (c lambda + e^2),   information theta += lambda / (c lambda + e^2) b_k
    along that eigenvector, kept as (svec(information), information theta). A batch that saw nothing of a direction
    so adds next to none of its noise there, which it would if batches were just summed.

    Where each arm has one coordinate to itself (`alone`), A is diagonal, so that all else is left out; what is on the
    diagonal is taken as it is, and e^2 = std^2 unit^2.

    With t^2 = radius^2 / d the prior's variance, along the eigenvectors of the information:
        precision_k = information_k + 1 / t^2,   centre_k = (information theta)_k / precision_k: what draws are about
        theta_k     = (information theta)_k / (precision_k + RIDGE sqrt(precision_k) / t): nearer to 0, what
                      contributions are linearised at; both are projected on |theta| <= radius
        spread_k    = (KNOWN + (LACKING - KNOWN) h_k) / sqrt(precision_k),
        h_k         = max(0, 1 - information_k / (ENOUGH mean information)): how much it was sampled too little."""
    d = posterior.theta.size
    packed = d * (d + 1) // 2
    matrix = np.empty((d, d))
    smat(batch[:packed], matrix)
    keep = 0.0 if alone else 1.0
    if alone:
        values, axes = np.diag(matrix) / scale, np.eye(d).T
    else:
        values, axes = np.linalg.eigh(matrix / scale)
    moment = np.dot(axes.T, batch[packed:] * unit)
    noise = std * std * (unit * unit + (keep * radius / scale) ** 2)
    for k in range(d):
        value = values[k] - FLOOR * keep * std / scale
        if value > 0.0:
            informed = value / (VARIANCE * value + noise)
            add_pair(axes[:, k].copy(), informed * value, informed * moment[k], information)
    smat(information[:packed], matrix)
    values, axes = np.linalg.eigh(matrix)
    moment = np.dot(axes.T, information[packed:])
    prior = d / radius**2
    mean, long, short = 0.0, 0.0, 0.0
    for k in range(d):
        values[k] = max(values[k], 0.0)
        mean += values[k] / d
    for k in range(d):
        precision = values[k] + prior
        lacking = max(0.0, 1.0 - values[k] / (ENOUGH * mean)) if mean > 0.0 else 1.0
        posterior.precision[k] = precision
        posterior.spread[k] = (KNOWN + (LACKING - KNOWN) * lacking) / math.sqrt(precision)
        posterior.centre[k] = moment[k] / precision
        posterior.theta[k] = moment[k] / (precision + RIDGE * math.sqrt(precision * prior))
        long += posterior.centre[k] ** 2
        short += posterior.theta[k] ** 2
    copy(axes, posterior.axes)
    copy(np.dot(axes, posterior.centre * (radius / max(radius, math.sqrt(long)))), posterior.centre)
    copy(np.dot(axes, posterior.theta * (radius / max(radius, math.sqrt(short)))), posterior.theta)
    update_inverse(posterior)


@kernel
def newton_close(reports: int, sums: Coded, plan: ShufflePlan, settings: NewtonSettings, state: ShuffleState) -> None:
    """Take a shuffled batch. Changes state."""
    fresh, variance = open_batch(reports, sums, plan, state)
    _, _, scale, unit, radius, _, blocks, fading, tuning, largest = settings
    if fading > 0.0:
        factor = fading_of(plan.users, fading, largest)
        add_up(fresh, variance, scale, unit, radius, blocks, factor, tuning, state)
    else:
        state.variance[0] = variance
        alone = blocks > 1 and blocks == state.posterior.theta.size
        absorb(fresh, math.sqrt(variance), scale, unit, radius, alone, state.sums, state.posterior)


@inlined
def newton_arm(
    policy: Generator,
    arms: Array,
    posterior: Posterior,
    central: Posterior,
    width: float,
    share: float,
    kind: int,
    alive: npt.NDArray[np.bool_],
    weights: Array,
    target: Array,
) -> int:
    """The arm of one user; alive, weights and target are overwritten."""
    if kind == THOMPSON:
        if policy.random() < share:
            index = optimistic_arm(arms, central, width)
        else:
            index = thompson(policy, arms, central, target)
    elif kind == ELIMINATION:
        surviving(arms, posterior, width, alive)
        chances(arms, alive, weights)
        index = draw_arm(policy.random(), weights)
    else:
        index = optimistic_arm(arms, posterior, width if kind == UCB else 0.0)
    return index


@kernel
def newton_rounds(
    policy: Generator,
    rng: Generator,
    block: Block,
    state: ShuffleState,
    transit: OpenBatch,
    plans: Plans,
    settings: NewtonSettings,
    link: Code,
    kind: int,
) -> None:
    """ShuffleNewton. The first batch gets random arms. Changes state, transit and the block's out arrays."""
    posterior = state.posterior
    centre, inverse = posterior.centre, posterior.inverse
    central = Posterior(centre, centre, posterior.axes, posterior.precision, posterior.spread, inverse)
    target = np.empty(posterior.theta.size)
    vector = Exact(np.empty(transit.sums.size))
    alive, weights = np.empty(block.arms.shape[1], np.bool_), np.empty(block.arms.shape[1])
    width, scale, low, high = settings.width, settings.scale, settings.low, settings.high
    plan = plan_of(plans, state.counts[BATCH])
    share = optimist_share(plan, state.counts[USERS], settings.fading)
    for t in range(block.noise.size):
        if transit.reports[0] >= plan.users:
            newton_close(transit.reports[0], transit.sums, plan, settings, state)
            transit.reports[0] = 0
            transit.sums[:] = 0
            plan = plan_of(plans, state.counts[BATCH])
            share = optimist_share(plan, state.counts[USERS], settings.fading)
        if state.counts[BATCH] == 0:
            index = int(policy.random() * block.arms.shape[1])
        else:
            index = newton_arm(policy, block.arms[t], posterior, central, width, share, kind, alive, weights, target)
        if outcome(block, t, index):
            vector[:] = 0.0
            x, y = block.arms[t, index], block.reward[t]
            add_glm(x, y, posterior.theta, inverse, link, 0.0, scale, low, high, vector)
            randomize(rng, vector, plan, transit.sums)
            transit.reports[0] += 1
