"""Linear and first-order bandits under local privacy: LocalLinUCB and LocalGLM, one report at a time."""

import math
from typing import Any, NamedTuple

import numpy as np

from tacit.bandits.local.maler_kernel import into_ball
from tacit.bandits.local.randomize_kernel import randomize
from tacit.kernels.compile import kernel
from tacit.kernels.formulas import add_linear, link_mean
from tacit.kernels.linear import Estimate, optimistic, ridge
from tacit.kernels.rounds import CHOICES, next_boundary, outcome

BOUNDARY, VERSION = 1, 2


class LocalLinearState(NamedTuple):
    """Sums of randomised reports, and what was published of them."""

    counts: Any  # int64[3]: users, the count at which the estimate is published next, how often it was
    sums: Any  # (size,)
    estimate: Estimate
    width: Any  # float64[1]


class LocalGradientState(NamedTuple):
    counts: Any  # int64[1]: users
    theta: Any  # (d,)


@kernel
def linear_publish(state, scale, std, numbers, growth):
    """V = sum of x x' + 2 Y I, theta = V^-1 sum of y x, and the width, where with probability 1 - failure
        the noise of the Gram matrix has norm at most Y = std sqrt(t) (sqrt(2 d) + sqrt(2 log(2 T / failure))), and
        that of the moment at most h = (std / scale) sqrt(t) (sqrt d + sqrt(2 log(2 T / failure)));
        width = scale_w (sub sqrt(2 log(1 / failure) + log det V - d log Y) + radius sqrt(3 Y) + h / sqrt Y).
    numbers = (radius, sub, 2 log(2 T / failure), 2 log(1 / failure), scale_w)."""
    counts, sums, estimate, width = state
    d = estimate.theta.size
    t = float(counts[CHOICES])
    Y = max(1.0, std * math.sqrt(t) * (math.sqrt(2.0 * d) + math.sqrt(numbers[2])))
    h = std / scale * math.sqrt(t) * (math.sqrt(d) + math.sqrt(numbers[2]))
    ridge(sums, scale, 2.0 * Y, estimate)
    inner = numbers[3] + max(0.0, estimate.logdet[0] - d * math.log(Y))
    width[0] = numbers[4] * (numbers[1] * math.sqrt(inner) + numbers[0] * math.sqrt(3.0 * Y) + h / math.sqrt(Y))
    counts[BOUNDARY] = next_boundary(counts[CHOICES], 1, growth)
    counts[VERSION] += 1


@kernel
def linear_absorb(report, state):
    for i in range(report.size):
        state.sums[i] += report[i]
    state.counts[CHOICES] += 1


@kernel
def local_linear_rounds(rng, block, state, law, scale, bounds, numbers, growth):
    """LocalLinUCB. Changes state and the block's out arrays."""
    counts = state.counts
    vector, report = np.empty(state.sums.size), np.empty(state.sums.size)
    for t in range(block.noise.size):
        if counts[CHOICES] >= counts[BOUNDARY]:
            linear_publish(state, scale, law[1], numbers, growth)
        index = optimistic(block.arms[t], state.estimate, state.width[0], 0.0)
        if outcome(block, t, index):
            vector[:] = 0.0
            add_linear(block.arms[t, index], block.reward[t], scale, bounds[0], bounds[1], vector)
            randomize(rng, law, vector, report)
            linear_absorb(report, state)


@kernel
def gradient_step(report, state, numbers):
    """theta <- theta - rate bound g, projected on |theta| <= radius; rate = 1 / (mu t + noise sqrt(t) / radius).
    numbers = (radius, mu, bound, noise)."""
    state.counts[CHOICES] += 1
    t = float(state.counts[CHOICES])
    rate = 1.0 / (numbers[1] * t + numbers[3] * math.sqrt(t) / numbers[0])
    for i in range(report.size):
        state.theta[i] -= rate * numbers[2] * report[i]
    into_ball(state.theta, numbers[0])


@kernel
def local_gradient_rounds(rng, block, state, law, link, bounds, numbers):
    """LocalGLM: greedy play, one gradient step a report. Changes state and the block's out arrays."""
    d = state.theta.size
    vector, report = np.empty(d), np.empty(d)
    for t in range(block.noise.size):
        best, index = -np.inf, 0
        for a in range(block.arms.shape[1]):
            value = 0.0
            for i in range(d):
                value += block.arms[t, a, i] * state.theta[i]
            if value > best:
                best, index = value, a
        if outcome(block, t, index):
            y = block.reward[t]
            if link != 0:
                y = (y - bounds[0]) / (bounds[1] - bounds[0])
            share = (link_mean(link, best) - y) / numbers[2]
            for i in range(d):
                vector[i] = share * block.arms[t, index, i]
            randomize(rng, law, vector, report)
            gradient_step(report, state, numbers)
