"""One person's randomised report in locally private reweighted regression, and rounds that send them."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Exact, Integers, Released
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.formulas import link_mean
from reticent.kernels.rounds import BOUNDARY, CHOICES, Range, draw_arm, outcome
from reticent.model.glm import in_units
from reticent.model.links import Code
from reticent.model.vectors import TINY, add_outer
from reticent_devices.mechanisms.randomize_kernel import empty_report, randomize
from reticent_devices.mechanisms.randomizers import Law
from reticent_papers.kernels.links import link_slope
from reticent_papers.kernels.spanner import span_weights

GRAM, GRADIENT, CLOSING = 0, 1, 2
KIND, SIZE, FAR, SCALE, OUTER_SCALE = 0, 1, 2, 3, 4  # of ReportState.stage


class ReportState(NamedTuple):
    """All of it is public: sums of reports, and what follows from them."""

    counts: Integers  # (5,): users, the user count at which the stage closes, stages closed, epochs closed, version
    open: Released  # the sum of the open stage's reports; only the first SIZE numbers are in use
    stage: Array  # (5,): what the open stage asks, see KIND to OUTER_SCALE
    matrix: Array  # (d, d): U
    half: Array  # (d, d): U^1/2
    w: Array  # (d,)
    point: Array  # (d,): U w
    thetas: Array  # (epochs, d): estimate of each closed epoch
    inverses: Array  # (epochs, d, d): shape of its intervals
    ridge: Array  # (1,): lambda of the normalisation


@kernel
def statement(x: Array, r: float, link: Code, radius: float, state: ReportState, out: Exact) -> None:
    """out <- what this person would say exactly, divided by how far apart two people are at most: gram, gradient or
    closing statistic. papers.local.statements has the same for devices."""
    d = x.size
    u, side = np.empty(d), np.empty(d)
    s = 0.0
    for i in range(d):
        s += x[i] * x[i]
    shrink = 1.0 / max(1.0, np.sqrt(s))  # rounding apart, x is in the unit ball already
    s = 0.0
    for i in range(d):
        v = 0.0
        h = 0.0
        for j in range(d):
            v += state.matrix[i, j] * shrink * x[j]
            h += state.half[i, j] * shrink * x[j]
        u[i] = v
        side[i] = h
        s += v * v
    length = np.sqrt(s)
    if length <= TINY:  # squares of numbers so small lose digits, and `length` would be too short
        out[:] = 0.0
        return
    kind = int(state.stage[KIND])
    if kind == GRAM:
        out[:] = 0.0
        add_outer(side, 1.0 / length / state.stage[FAR], out)
        return
    z = 0.0
    for i in range(d):
        z += shrink * x[i] * state.point[i]
        u[i] /= length
    z = min(max(z, -radius), radius)
    residual = r - link_mean(link, z)
    if kind == GRADIENT:
        for i in range(d):
            out[i] = -residual / state.stage[FAR] * u[i]
        return
    far = state.stage[FAR]
    first, second = state.stage[SCALE] * link_slope(link, z) / far, state.stage[OUTER_SCALE] / far
    k = 0
    for i in range(d):
        for j in range(d):
            out[k] = first * u[i] * shrink * x[j]
            k += 1
    for i in range(d):
        out[k] = residual / far * u[i]
        k += 1
    out[k:] = 0.0
    add_outer(u, second, out[k:])


@kernel
def report_absorb(report: Released, state: ReportState) -> None:
    """One more report. Changes state."""
    for i in range(report.size):
        state.open[i] += state.stage[FAR] * report[i]
    state.counts[CHOICES] += 1


@kernel
def report_rounds(
    policy: Generator,
    rng: Generator,
    block: Block,
    state: ReportState,
    law: Law,
    rewards: Range,
    link: Code,
    radius: float,
    factor: float,
    start: int,
) -> int:
    """LocalReweighted, from round `start` up to the end of the block or of the stage. Returns the next round. Changes
    state and the block's out arrays."""
    size = int(state.stage[SIZE])
    weights, vector, report = np.empty(block.arms.shape[1]), Exact(np.empty(size)), empty_report(size)
    for t in range(start, block.noise.size):
        if state.counts[CHOICES] >= state.counts[BOUNDARY]:
            return t
        span_weights(block.arms[t], state, factor, weights)
        index = draw_arm(policy.random(), weights)
        if outcome(block, t, index):
            r = in_units(block.reward[t], link, rewards.low, rewards.high)
            statement(block.arms[t, index], r, link, radius, state, vector)
            randomize(rng, law, vector, report)
            report_absorb(report, state)
    return block.noise.size
