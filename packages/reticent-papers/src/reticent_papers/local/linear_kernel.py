"""Linear and first-order bandits under local privacy: LocalLinUCB and LocalGLM, one report at a time."""

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Exact, Integers, Released
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.formulas import add_linear, link_mean
from reticent.kernels.linear import RidgeEstimate, optimistic, ridge
from reticent.kernels.rounds import CHOICES, next_boundary, outcome
from reticent.model.glm import unit_reward
from reticent.model.links import Code
from reticent_devices.mechanisms.randomize_kernel import empty_report, randomize
from reticent_devices.mechanisms.randomizers import Law
from reticent_papers.local.maler_kernel import into_ball

BOUNDARY, VERSION = 1, 2


class LocalLinearState(NamedTuple):
    """Sums of randomised reports, and what was published of them."""

    counts: Integers  # (3,): users, the count at which the estimate is published next, how often it was
    sums: Released  # (size,)
    estimate: RidgeEstimate
    width: Array  # (1,)


class LinearSettings(NamedTuple):
    low: float  # of rewards
    high: float
    scale: float  # of the moment within a contribution
    radius: float
    subgaussian: float
    log_rounds: float  # 2 log(2 T / failure)
    log_failure: float  # 2 log(1 / failure)
    width_scale: float
    growth: float  # of the number of users from one estimate to the next


class LocalGradientState(NamedTuple):
    counts: Integers  # (1,): users
    theta: Array  # (d,)


class GradientSettings(NamedTuple):
    low: float  # of rewards
    high: float
    radius: float
    curvature: float  # mu of the steps
    bound: float  # of a gradient
    noise: float  # size of a decoded gradient


@kernel
def linear_publish(state: LocalLinearState, std: float, settings: LinearSettings) -> None:
    """V = sum of x x' + 2 Y I, theta = V^-1 sum of y x, and the width, where with probability 1 - failure
    the noise of the Gram matrix has norm at most Y = std sqrt(t) (sqrt(2 d) + sqrt(2 log(2 T / failure))), and
    that of the moment at most h = (std / scale) sqrt(t) (sqrt d + sqrt(2 log(2 T / failure)));
    width = width_scale (sub sqrt(2 log(1 / failure) + log det V - d log Y) + radius sqrt(3 Y) + h / sqrt Y)."""
    counts, sums, estimate, width = state
    d = estimate.theta.size
    t, logs = float(counts[CHOICES]), math.sqrt(settings.log_rounds)
    Y = max(1.0, std * math.sqrt(t) * (math.sqrt(2.0 * d) + logs))
    h = std / settings.scale * math.sqrt(t) * (math.sqrt(d) + logs)
    ridge(sums, settings.scale, 2.0 * Y, estimate)
    inner = settings.log_failure + max(0.0, estimate.logdet[0] - d * math.log(Y))
    spread = settings.subgaussian * math.sqrt(inner) + settings.radius * math.sqrt(3.0 * Y) + h / math.sqrt(Y)
    width[0] = settings.width_scale * spread
    counts[BOUNDARY] = next_boundary(counts[CHOICES], 1, settings.growth)
    counts[VERSION] += 1


@kernel
def linear_absorb(report: Released, state: LocalLinearState) -> None:
    for i in range(report.size):
        state.sums[i] += report[i]
    state.counts[CHOICES] += 1


@kernel
def local_linear_rounds(
    rng: Generator, block: Block, state: LocalLinearState, law: Law, settings: LinearSettings
) -> None:
    """LocalLinUCB. Changes state and the block's out arrays."""
    counts = state.counts
    vector, report = Exact(np.empty(state.sums.size)), empty_report(state.sums.size)
    for t in range(block.noise.size):
        if counts[CHOICES] >= counts[BOUNDARY]:
            linear_publish(state, law.scale, settings)
        index = optimistic(block.arms[t], state.estimate, state.width[0], 0.0)
        if outcome(block, t, index):
            vector[:] = 0.0
            x, y = block.arms[t, index], block.reward[t]
            add_linear(x, y, settings.scale, settings.low, settings.high, vector)
            randomize(rng, law, vector, report)
            linear_absorb(report, state)


@kernel
def gradient_step(report: Released, state: LocalGradientState, settings: GradientSettings) -> None:
    """theta <- theta - rate bound g, projected on |theta| <= radius; rate = 1 / (mu t + noise sqrt(t) / radius)."""
    state.counts[CHOICES] += 1
    t = float(state.counts[CHOICES])
    rate = 1.0 / (settings.curvature * t + settings.noise * math.sqrt(t) / settings.radius)
    for i in range(report.size):
        state.theta[i] -= rate * settings.bound * report[i]
    into_ball(state.theta, settings.radius)


@kernel
def local_gradient_rounds(
    rng: Generator, block: Block, state: LocalGradientState, law: Law, settings: GradientSettings, link: Code
) -> None:
    """LocalGLM: greedy play, one gradient step a report. Changes state and the block's out arrays."""
    d = state.theta.size
    vector, report = Exact(np.empty(d)), empty_report(d)
    for t in range(block.noise.size):
        best, index = -np.inf, 0
        for a in range(block.arms.shape[1]):
            value = 0.0
            for i in range(d):
                value += block.arms[t, a, i] * state.theta[i]
            if value > best:
                best, index = value, a
        if outcome(block, t, index):
            r = unit_reward(block.reward[t], settings.low, settings.high, link)
            share = (link_mean(link, best) - r) / settings.bound
            for i in range(d):
                vector[i] = share * block.arms[t, index, i]
            randomize(rng, law, vector, report)
            gradient_step(report, state, settings)
