"""ShuffleNewton: what a batch tells of theta*, and whole blocks of rounds in one loop."""

import math

import numpy as np

from tacit.kernels.compile import inlined, kernel
from tacit.kernels.design import chances
from tacit.kernels.formulas import add_glm
from tacit.kernels.glm import Posterior, thompson, update_inverse
from tacit.kernels.linalg import ROOT2, copy, smat
from tacit.kernels.rounds import outcome
from tacit.kernels.shuffle import (
    BATCH,
    GRID,
    LAPLACE,
    PLANNED,
    TRIALS,
    USERS,
    draw,
    optimistic_arm,
    randomize,
    surviving,
    unshuffle,
)

THOMPSON, UCB, GREEDY, ELIMINATION = 0, 1, 2, 3

# chosen by regret on tuning seeds; none of them touches privacy
VARIANCE = 2.0  # of a reward's noise per unit of curvature
KNOWN, LACKING = 0.3, 1.1  # standard deviations of a draw: where enough was sampled, and where nothing was
SHARE = 0.7  # of the mean information: enough
RIDGE = 1.5  # how much nearer to 0 the cautious estimate is
FLOOR = 1.5  # eigenvalues of a batch are made smaller by so many standard deviations of the noise in them
OPTIMISTS = 16.0  # users of a batch who are optimists, per unit of its noise


@kernel
def optimists(plan):
    """The share of a batch's users who try the arm that may be best, instead of one that is likely to be: as many as
    are seen above the batch's noise, and 8."""
    users = plan[PLANNED]
    std = math.sqrt(users * ((plan[TRIALS] + 1.0) / 4.0 + 2.0 * plan[LAPLACE] ** 2)) / plan[GRID]
    return min(1.0, (8.0 + OPTIMISTS * std) / users)


@kernel
def absorb(batch, std, scale, unit, radius, told, posterior):
    """told += what one batch tells; posterior <- the estimate from all batches.

    batch = (scale svec(A), b) with noise of std `std` in each coordinate. b - A theta* has a variance of c lambda from
    the rewards and e^2 = std^2 (unit^2 + radius^2 / scale^2) from the noise, along an eigenvector of A with eigenvalue
    lambda. lambda is first made smaller by FLOOR std / scale, the noise in A: what falls below 0 tells nothing. Then
        information += lambda^2 / (c lambda + e^2),   information theta += lambda / (c lambda + e^2) b_k
    along that eigenvector, and told = (svec(information), information theta). A batch that saw nothing of a direction
    so adds next to none of its noise there, which it would if batches were just summed. With t^2 = radius^2 / d the
    prior's variance, along the eigenvectors of the information:
        precision_k = information_k + 1 / t^2,   centre_k = (information theta)_k / precision_k: what draws are about
        theta_k     = (information theta)_k / (precision_k + RIDGE sqrt(precision_k) / t): nearer to 0, what
                      contributions are linearised at; both are projected on |theta| <= radius
        spread_k    = (KNOWN + (LACKING - KNOWN) h_k) / sqrt(precision_k),
        h_k         = max(0, 1 - information_k / (SHARE mean information)): how much it was sampled too little."""
    d = posterior.theta.size
    packed = d * (d + 1) // 2
    matrix = np.empty((d, d))
    smat(batch[:packed], matrix)
    values, axes = np.linalg.eigh(matrix / scale)
    moment = np.dot(axes.T, batch[packed:] * unit)
    noise = (unit * std) ** 2 * (1.0 + (radius / (unit * scale)) ** 2)
    for k in range(d):
        value = values[k] - FLOOR * std / scale
        if value > 0.0:
            informed = value / (VARIANCE * value + noise)
            at = 0
            for i in range(d):
                told[packed + i] += informed * moment[k] * axes[i, k]
                for j in range(i, d):
                    told[at] += (1.0 if i == j else ROOT2) * informed * value * axes[i, k] * axes[j, k]
                    at += 1
    smat(told[:packed], matrix)
    values, axes = np.linalg.eigh(matrix)
    moment = np.dot(axes.T, told[packed:])
    prior = d / radius**2
    mean, long, short = 0.0, 0.0, 0.0
    for k in range(d):
        values[k] = max(values[k], 0.0)
        mean += values[k] / d
    for k in range(d):
        precision = values[k] + prior
        lacking = max(0.0, 1.0 - values[k] / (SHARE * mean)) if mean > 0.0 else 1.0
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
def newton_close(reports, sums, plan, settings, state):
    """Take a shuffled batch. Changes state."""
    fresh = np.empty(sums.size)
    state.variance[0] = unshuffle(reports, sums, plan, fresh)
    state.counts[USERS] += reports
    state.counts[BATCH] += 1
    scale, unit, radius = settings[2], settings[3], settings[4]
    absorb(fresh, math.sqrt(state.variance[0]), scale, unit, radius, state.sums, state.posterior)


@inlined
def newton_arm(policy, arms, posterior, central, width, share, kind, alive, weights, target):
    """The arm of one user; alive, weights and target are overwritten."""
    if kind == THOMPSON:
        if policy.random() < share:
            index = optimistic_arm(arms, central, width)
        else:
            index = thompson(policy, arms, central, target)
    elif kind == ELIMINATION:
        surviving(arms, posterior, width, alive)
        chances(arms, alive, weights)
        index = draw(policy.random(), weights)
    else:
        index = optimistic_arm(arms, posterior, width if kind == UCB else 0.0)
    return index


@kernel
def newton_rounds(policy, rng, block, state, transit, plans, settings, link, kind):
    """ShuffleNewton: plans[k] of batch k; settings = (low, high, scale, unit, radius, width). The first batch gets
    random arms. Changes state, transit and the block's out arrays."""
    low, high, scale, width = settings[0], settings[1], settings[2], settings[5]
    posterior = state.posterior
    centre, inverse = posterior.centre, posterior.inverse
    central = Posterior(centre, centre, posterior.axes, posterior.precision, posterior.spread, inverse)
    target = np.empty(posterior.theta.size)
    vector = np.empty(transit.sums.size)
    alive, weights = np.empty(block.arms.shape[1], np.bool_), np.empty(block.arms.shape[1])
    share = optimists(plans[state.counts[BATCH]])
    for t in range(block.noise.size):
        if transit.reports[0] >= plans[state.counts[BATCH], PLANNED]:
            newton_close(transit.reports[0], transit.sums, plans[state.counts[BATCH]], settings, state)
            transit.reports[0] = 0
            transit.sums[:] = 0
            share = optimists(plans[state.counts[BATCH]])
        if state.counts[BATCH] == 0:
            index = int(policy.random() * block.arms.shape[1])
        else:
            index = newton_arm(policy, block.arms[t], posterior, central, width, share, kind, alive, weights, target)
        if outcome(block, t, index):
            vector[:] = 0.0
            x, y = block.arms[t, index], block.reward[t]
            add_glm(x, y, posterior.theta, inverse, link, scale, low, high, vector)
            randomize(rng, vector, plans[state.counts[BATCH]], transit.sums)
            transit.reports[0] += 1
