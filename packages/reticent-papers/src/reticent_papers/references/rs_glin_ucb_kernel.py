"""RS-GLinUCB: a warm-up where some arm is little known, and an estimate renewed when its information has grown."""

import math
from typing import NamedTuple

import numpy as np

from reticent.data import Array, Exact, Integers
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.linalg import copy, grow, square_norm
from reticent.kernels.linear import RidgeEstimate
from reticent.kernels.rounds import CHOICES, Range, outcome
from reticent.model.glm import unit_reward
from reticent.model.links import Code
from reticent_papers.kernels.links import link_slope
from reticent_papers.kernels.mle import newton

WARM, OBSERVED, SWITCHES = 1, 2, 3


class RareSettings(NamedTuple):
    threshold: float  # of |x|^2_{V^-1}, above which an arm is little known
    warm_width: float
    width: float
    share: float  # of theta_o in the estimate that is played by
    damping: float  # of the slopes in H
    ridge: float
    growth: float  # of det H between two switches


class RareState(NamedTuple):
    """No privacy here. Data of the warm-up fills `rows` from the front, all the rest from the back."""

    counts: Integers  # (4,): choices, observations of the warm-up, all observations, switches
    rows: Exact  # (horizon, d)
    values: Exact  # (horizon,): rewards in units of the link
    warm: RidgeEstimate  # theta_o and V: the warm-up
    current: RidgeEstimate  # H now (theta is not used)
    switched: RidgeEstimate  # theta_tau and H at the last switch: copies, never aliases of `current`


@kernel
def rare_choose(arms: Array, state: RareState, settings: RareSettings) -> int:
    """The arm with the largest |x|^2_{V^-1} if that exceeds the
    threshold; else among arms whose upper bound <x, theta_o> + warm width |x|_{V^-1} is at least every lower bound, the
    one with the largest <x, share theta_o + (1 - share) theta_tau> + width |x|_{H_tau^-1}."""
    threshold, warm_width, width, share = settings.threshold, settings.warm_width, settings.width, settings.share
    count, d = arms.shape
    upper = np.empty(count)
    widest, index, floor = -1.0, 0, -np.inf
    for a in range(count):
        square = max(square_norm(arms[a], state.warm.inverse), 0.0)
        if square > widest:
            widest, index = square, a
        z = 0.0
        for i in range(d):
            z += arms[a, i] * state.warm.theta[i]
        half = warm_width * math.sqrt(square)
        upper[a] = z + half
        floor = max(floor, z - half)
    if widest > threshold:
        return index
    best = -np.inf
    for a in range(count):
        if upper[a] >= floor:
            z = 0.0
            for i in range(d):
                z += arms[a, i] * (share * state.warm.theta[i] + (1.0 - share) * state.switched.theta[i])
            value = z + width * math.sqrt(max(square_norm(arms[a], state.switched.inverse), 0.0))
            if value > best:
                best, index = value, a
    return index


@kernel
def rare_rows(arms: Array, state: RareState, settings: RareSettings, out: Integers) -> None:
    for i in range(arms.shape[0]):
        out[i] = rare_choose(arms[i], state, settings)


@kernel
def rare_learn(x: Array, r: float, link: Code, settings: RareSettings, state: RareState) -> None:
    """Add one observation, r in units of the link. In the warm-up (x exceeds the threshold): V += x x' and theta_o is
    fitted to the warm-up. Else H += c mu'(<x, theta_o>) x x', c the damping, and when det H has grown by the factor
    `growth` since the last switch theta_tau is fitted to all data and H_tau <- H."""
    counts, rows, values, warm, current, switched = state
    seen, horizon = counts[WARM], values.size
    if square_norm(x, warm.inverse) > settings.threshold:
        copy(x, rows[seen])
        values[seen] = r
        counts[WARM] = seen + 1
        counts[OBSERVED] += 1
        warm.logdet[0] += grow(x, 1.0, warm.inverse)
        unused = np.empty((x.size, x.size))
        newton(rows[: seen + 1], values[: seen + 1], link, settings.ridge, False, warm.theta, unused)
        if counts[SWITCHES] == 0:
            copy(warm.theta, switched.theta)
        return
    counts[OBSERVED] += 1
    place = horizon - (counts[OBSERVED] - seen)
    copy(x, rows[place])
    values[place] = r
    z = 0.0
    for i in range(x.size):
        z += x[i] * warm.theta[i]
    current.logdet[0] += grow(x, settings.damping * link_slope(link, z), current.inverse)
    if current.logdet[0] > switched.logdet[0] + math.log(settings.growth):
        counts[SWITCHES] += 1
        unused = np.empty((x.size, x.size))
        late_rows, late_values = rows[place:], values[place:]
        all_rows = np.concatenate((rows[:seen], late_rows))
        all_values = np.concatenate((values[:seen], late_values))
        newton(all_rows, all_values, link, settings.ridge, False, switched.theta, unused)
        copy(current.inverse, switched.inverse)
        switched.logdet[0] = current.logdet[0]


@kernel
def rare_rounds(block: Block, state: RareState, rewards: Range, link: Code, settings: RareSettings) -> None:
    """RSGLinUCB. Changes state and the block's out arrays."""
    for t in range(block.noise.size):
        index = rare_choose(block.arms[t], state, settings)
        if outcome(block, t, index):
            state.counts[CHOICES] += 1
            r = unit_reward(block.reward[t], rewards.low, rewards.high, link)
            rare_learn(block.arms[t, index], r, link, settings, state)
