"""ShuffleNewton without curvature: what a batch of scores tells, and whole blocks of rounds in one loop."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Coded, Exact
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.formulas import add_score
from reticent.kernels.glm import Known, best_arm
from reticent.kernels.rounds import outcome
from reticent.kernels.scores import follow
from reticent.model.links import Code
from reticent.model.scores import REACH, pace
from reticent_devices.bandits.shuffle.batches_kernel import BATCH, ShuffleState, open_batch
from reticent_devices.bandits.shuffle.sum_kernel import fade, fading_of
from reticent_devices.mechanisms.shuffle.calibration import Plans, ShufflePlan
from reticent_devices.mechanisms.shuffle.sums_kernel import OpenBatch, plan_of, randomize


class ShuffleScoreSettings(NamedTuple):
    low: float  # of rewards
    high: float
    steep: float  # the mean's largest slope, as a share of their range
    radius: float
    growth: float  # of batches
    fading: float  # of the sum of earlier batches
    average: float  # of the way to the latest estimate that the average of estimates, by which one plays, goes
    largest: float  # users of a batch at most


@kernel
def score_close(
    reports: int, sums: Coded, plan: ShufflePlan, settings: ShuffleScoreSettings, state: ShuffleState
) -> None:
    """Take a shuffled batch: the latest estimate is a multiple of the faded sum of all batches (`pace`), the posterior
    as in kernels.scores, without draws. Changes state."""
    fresh, variance = open_batch(reports, sums, plan, state)
    factor, d = fading_of(plan.users, settings.fading, settings.largest), state.sums.size
    std = fade(fresh, variance, factor, state)
    eta = pace(std, plan.users * settings.growth, d, settings.radius, settings.steep)
    most, everywhere, nothing = REACH * settings.radius, np.arange(d), Known(np.zeros(0), np.zeros((0, 0)))
    share, step = settings.average, state.counts[BATCH]
    follow(state.sums, step, eta, share, 0.0, most, everywhere, nothing, state.posterior)


@kernel
def shuffled_score_rounds(
    policy: Generator,
    rng: Generator,
    block: Block,
    state: ShuffleState,
    transit: OpenBatch,
    plans: Plans,
    settings: ShuffleScoreSettings,
    link: Code,
) -> None:
    """The first batch gets random arms, later ones the best by the average; each user draws one number. Changes state,
    transit and the block's out arrays."""
    posterior = state.posterior
    vector = Exact(np.empty(transit.sums.size))
    plan = plan_of(plans, state.counts[BATCH])
    for t in range(block.noise.size):
        if transit.reports[0] >= plan.users:
            score_close(transit.reports[0], transit.sums, plan, settings, state)
            transit.reports[0] = 0
            transit.sums[:] = 0
            plan = plan_of(plans, state.counts[BATCH])
        drawn = policy.random()
        if state.counts[BATCH] == 0:
            index = int(drawn * block.arms.shape[1])
        else:
            index = best_arm(block.arms[t], posterior.theta)
        if outcome(block, t, index):
            vector[:] = 0.0
            x, y = block.arms[t, index], block.reward[t]
            add_score(x, y, posterior.centre, 0, link, settings.low, settings.high, vector)
            randomize(rng, vector, plan, transit.sums)
            transit.reports[0] += 1
