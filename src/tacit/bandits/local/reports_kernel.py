"""One person's randomised report in locally private reweighted regression, and rounds that send them."""

from typing import Any, NamedTuple

import numpy as np

from tacit.data import Released
from tacit.kernels.batched import draw as draw_arm
from tacit.kernels.compile import inlined, kernel
from tacit.kernels.formulas import link_mean, link_slope
from tacit.kernels.linalg import ROOT2
from tacit.kernels.noise import GAUSSIAN, draw
from tacit.kernels.rounds import BOUNDARY, CHOICES, outcome
from tacit.kernels.spanner import in_units, span_weights

GRAM, GRADIENT, CLOSING = 0, 1, 2
SHORTEST = 1e-150  # |U phi| of a person who counts; others say 0


class ReportState(NamedTuple):
    """All of it is public: sums of reports, and what follows from them."""

    counts: Any  # int64[4]: choices, the choice count at which the stage closes, stages closed, epochs closed
    open: Released  # the sum of the open stage's reports; only the first `stage` numbers are in use
    stage: Any  # float64[6]: kind, size, sigma, tightness, scale, outer scale
    matrix: Any  # (d, d): U
    half: Any  # (d, d): U^1/2
    w: Any  # (d,)
    point: Any  # (d,): U w
    thetas: Any  # (epochs, d): estimate of each closed epoch
    inverses: Any  # (epochs, d, d): shape of its intervals
    ridge: Any  # float64[1]: lambda of the normalisation


@kernel
def statement(x, r, link, radius, state, out):
    """out <- what this person would say exactly: gram, gradient or closing statistic. RAW."""
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
    if length <= SHORTEST:  # squares of numbers so small lose digits, and `length` would be too short
        out[:] = 0.0
        return
    kind = int(state.stage[0])
    if kind == GRAM:
        k = 0
        for i in range(d):
            for j in range(i, d):
                out[k] = (1.0 if i == j else ROOT2) * side[i] * side[j] / length
                k += 1
        return
    z = 0.0
    for i in range(d):
        z += shrink * x[i] * state.point[i]
        u[i] /= length
    z = min(max(z, -radius), radius)
    residual = r - link_mean(link, z)
    if kind == GRADIENT:
        for i in range(d):
            out[i] = -residual * u[i]
        return
    tightness = state.stage[3]
    first, second = tightness * state.stage[4] * link_slope(link, z), tightness * state.stage[5]
    k = 0
    for i in range(d):
        for j in range(d):
            out[k] = first * u[i] * shrink * x[j]
            k += 1
    for i in range(d):
        out[k] = tightness * residual * u[i]
        k += 1
    for i in range(d):
        for j in range(i, d):
            out[k] = (1.0 if i == j else ROOT2) * second * u[i] * u[j]
            k += 1


@kernel
def add_report(x, r, link, radius, state, noise):
    """The sum of reports grows by this person's statement plus its noise."""
    said = np.empty(noise.size)
    statement(x, r, link, radius, state, said)
    for i in range(noise.size):
        state.open[i] += said[i] + noise[i]


@inlined
def report_noise(rng, state):
    out = np.empty(int(state.stage[1]))
    draw(rng, GAUSSIAN, state.stage[2], 0.0, out)
    return out


@kernel
def report_rounds(policy, rng, block, state, bounds, link, radius, numbers, factor, start):
    """LocalReweighted, from round `start` up to the end of the block or of the stage. Returns the next round. Changes
    state and the block's out arrays."""
    weights = np.empty(block.arms.shape[1])
    for t in range(start, block.noise.size):
        if state.counts[CHOICES] >= state.counts[BOUNDARY]:
            return t
        span_weights(block.arms[t], state, numbers, factor, weights)
        index = draw_arm(policy.random(), weights)
        if outcome(block, t, index):
            state.counts[CHOICES] += 1
            r = in_units(block.reward[t], bounds, link)
            add_report(block.arms[t, index], r, link, radius, state, report_noise(rng, state))
    return block.noise.size
