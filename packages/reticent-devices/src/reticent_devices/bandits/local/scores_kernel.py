"""LocalIRLS without curvature: the estimate from sums of randomised scores, and whole blocks of rounds."""

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Exact
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.formulas import add_score
from reticent.kernels.glm import best_arm
from reticent.kernels.rounds import CHOICES, outcome
from reticent.model.links import Code
from reticent.model.scores import REACH, pace
from reticent_devices.bandits.local.irls_kernel import BOUNDARY, IRLSSchedule, LocalState, close_step, local_absorb
from reticent_devices.mechanisms.randomize_kernel import empty_report, randomize
from reticent_devices.mechanisms.randomizers import Law


class LocalScoreSettings(NamedTuple):
    low: float  # of rewards
    high: float
    steep: float  # the steepest slope of the mean, in shares of that range
    radius: float
    discount: float


@kernel
def score_publish(state: LocalState, std: float, settings: LocalScoreSettings, schedule: IRLSSchedule) -> None:
    """theta <- eta times the sum of all reports, eta = model.scores.pace, projected on |theta| <= REACH
    radius."""
    close_step(state, settings.discount, schedule)
    counts, theta, sums = state.counts, state.posterior.theta, np.asarray(state.sums[1])
    length, spread = float(counts[BOUNDARY] - counts[CHOICES]), std * math.sqrt(state.weights[1])
    eta = pace(spread, length, theta.size, settings.radius, settings.steep)
    theta[:] = sums
    square = 0.0
    for i in range(theta.size):
        theta[i] *= eta
        square += theta[i] * theta[i]
    most = REACH * settings.radius
    if square > most * most:
        theta *= most / math.sqrt(square)


@kernel
def score_rounds(
    policy: Generator,
    rng: Generator,
    block: Block,
    state: LocalState,
    law: Law,
    schedule: IRLSSchedule,
    settings: LocalScoreSettings,
    link: Code,
) -> None:
    """LocalIRLS without curvature. Users play the best arm by theta, and those who explore the best by a normal vector.
    Changes state and the block's out arrays."""
    counts, theta = state.counts, state.posterior.theta
    vector, report = Exact(np.empty(theta.size)), empty_report(theta.size)
    target = np.empty(theta.size)
    for t in range(block.noise.size):
        if counts[CHOICES] >= counts[BOUNDARY]:
            score_publish(state, law.scale, settings, schedule)
        if counts[BOUNDARY] <= schedule.forced:
            for i in range(target.size):
                target[i] = policy.standard_normal()
            index = best_arm(block.arms[t], target)
        else:
            index = best_arm(block.arms[t], theta)
        if outcome(block, t, index):
            vector[:] = 0.0
            add_score(block.arms[t, index], block.reward[t], theta, 0, link, settings.low, settings.high, vector)
            randomize(rng, law, vector, report)
            local_absorb(report, state)
