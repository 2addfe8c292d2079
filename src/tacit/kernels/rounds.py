"""Whole blocks of rounds in one compiled loop, made of the steps that `choose` and `observe` call one at a time."""

from typing import Any, NamedTuple

import numpy as np

from tacit.kernels.compile import inlined, kernel
from tacit.kernels.continual import PrefixState, simulate_step
from tacit.kernels.glm import Posterior, fit, glm_contribute, thompson
from tacit.kernels.linear import Estimate, contribute, optimistic, radius, rank_one, ridge
from tacit.kernels.rewards import reward

CHOICES, BOUNDARY = 0, 1


class LinearState(NamedTuple):
    """Non-private linear UCB."""

    counts: Any  # int64[2]: choices, the choice count at which the open step closes
    moment: Any  # (d,): sum of y x. RAW
    estimate: Estimate  # RAW: there is no privacy here


class JointState(NamedTuple):
    """Linear UCB under continual release."""

    counts: Any  # int64[2]: choices, the choice count at which the open step closes
    prefix: PrefixState
    estimate: Estimate


class GLMState(NamedTuple):
    """One-pass IRLS under continual release."""

    counts: Any  # int64[2]: choices, the choice count at which the open step closes
    prefix: PrefixState
    posterior: Posterior


@kernel
def next_boundary(choices, first, growth):
    """The choice count at which a step that opens now will close: at least `first` choices long, and longer with
    time by the factor `growth`. Public, a function of choices alone."""
    return max(choices + int(first), int(np.floor(choices * growth)))


@inlined
def outcome(block, t, index):
    """Write what playing `index` in round t gave. Returns False if its reward is not known (replayed logs)."""
    known = block.logged[t] < 0 or block.logged[t] == index
    if known:
        mean = block.means[t, index]
        best = mean
        if block.logged[t] < 0:
            for a in range(block.means.shape[1]):
                best = max(best, block.means[t, a])
        block.index[t] = index
        block.reward[t] = reward(block.kind[0], block.scale[0], mean, block.noise[t])
        block.regret[t] = best - mean
    else:
        block.index[t] = -1
        block.reward[t] = 0.0
        block.regret[t] = 0.0
    return known


@kernel
def linear_rounds(block, state, width):
    """Non-private LinUCB. Changes state and the block's out arrays."""
    counts, moment, estimate = state
    for t in range(block.noise.size):
        w = radius(width, estimate.logdet[0])
        index = optimistic(block.arms[t], estimate, w, 0.0)
        if outcome(block, t, index):
            counts[CHOICES] += 1
            rank_one(block.arms[t, index], block.reward[t], moment, estimate)


@kernel
def joint_rounds(rng, block, state, law, schedule, bounds, scale, shift, width, drift):
    """JointLinUCB: law = (kind, scale, dof) of the noise, schedule = (first, growth), bounds = rewards' (low, high).
    Changes state and the block's out arrays."""
    counts, prefix, estimate = state
    collected = prefix.open
    w = radius(width, estimate.logdet[0])
    for t in range(block.noise.size):
        if counts[CHOICES] >= counts[BOUNDARY]:
            simulate_step(rng, prefix, law)
            ridge(prefix.released, scale, shift, estimate)
            counts[BOUNDARY] = next_boundary(counts[CHOICES], schedule[0], schedule[1])
            w = radius(width, estimate.logdet[0])
        index = optimistic(block.arms[t], estimate, w, drift)
        if outcome(block, t, index):
            counts[CHOICES] += 1
            contribute(block.arms[t, index], block.reward[t], scale, bounds[0], bounds[1], collected)


@kernel
def glm_rounds(policy, rng, block, state, law, gains, schedule, bounds, link, scale, unit, radius, tuning):
    """JointGLM: gains[k] = std of release k per unit of noise; the rest as in joint_rounds. The first schedule[0] users
    get random arms. Changes state and the block's out arrays."""
    counts, prefix, posterior = state
    collected = prefix.open
    target = np.empty(posterior.theta.size)
    for t in range(block.noise.size):
        if counts[CHOICES] >= counts[BOUNDARY]:
            simulate_step(rng, prefix, law)
            steps = prefix.noise.step[0]
            fit(prefix.released, scale, unit, law[1] * gains[steps], radius, tuning, posterior)
            counts[BOUNDARY] = next_boundary(counts[CHOICES], schedule[0], schedule[1])
        if prefix.noise.step[0] == 0:
            index = int(policy.random() * block.arms.shape[1])
        else:
            index = thompson(policy, block.arms[t], posterior, target)
        if outcome(block, t, index):
            counts[CHOICES] += 1
            glm_contribute(
                block.arms[t, index], block.reward[t], posterior, link, scale, bounds[0], bounds[1], collected
            )
