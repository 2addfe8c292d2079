"""Bandits with proven widths, without a horizon: the same claim, a little more noise, and sets that hold."""

import math

import numpy as np
import pytest

from reticent import Budget, Simulated
from reticent.algorithms.schedules import FARTHEST, steps_before
from reticent_papers import JointGLMUCB
from reticent_papers.confidence import worst_gain

BUDGET = Budget(1.0, 1e-6)


def test_noise_for_ever_costs_a_fifth_of_its_std_and_the_claim_is_the_same():
    for_ever, for_long = JointGLMUCB(dim=5, budget=BUDGET), JointGLMUCB(dim=5, budget=BUDGET, horizon=20_000)
    stds = [one.mechanism.sigma * worst_gain(one.mechanism) for one in (for_ever, for_long)]
    assert 1.15 < stds[0] / stds[1] < 1.2 and 1.08 < for_ever.mechanism.sigma / for_long.mechanism.sigma < 1.1
    assert for_ever.privacy.private and for_ever.privacy.epsilon == pytest.approx(1.0, rel=1e-6)
    assert for_ever.mechanism.leaves == 1 + steps_before(FARTHEST, for_ever._schedule) < 300


def test_bounds_on_the_noise_are_for_all_releases_there_can_be():
    """Of 248 releases in each of 200 runs: a tenth may break a bound, and more would break one for one release."""
    bandit = JointGLMUCB(dim=2, budget=BUDGET, failure=0.2, source=Simulated(0))
    bounds = bandit.bounds
    leaves, rng = bandit.mechanism.leaves, np.random.default_rng(0)
    ups = (bounds.ceiling - bounds.floor) / 2
    stds = bandit.mechanism.sigma * bandit.mechanism.gain(np.arange(1.0, leaves + 1))
    noise = rng.standard_normal((200, leaves, 3)) * stds[:, None]
    middle = (noise[..., 0] + noise[..., 2]) / 2
    apart = np.hypot((noise[..., 0] - noise[..., 2]) / 2, noise[..., 1] / math.sqrt(2))
    largest = np.max(np.abs(middle) + apart, axis=1)
    assert np.mean(largest > ups) <= 0.1 and np.mean(largest > 0.6 * ups) > 0.1
