"""Bandits with proven widths, without a horizon: the same claim, a little more noise, and sets that hold."""

import math

import numpy as np
import pytest

from tacit import Budget, JointLinUCB, Simulated
from tacit.algorithms.forgetting import FARTHEST, steps_before
from tacit.mechanisms.grid import worst_gain
from tacit_papers import JointGLMUCB

BUDGET = Budget(1.0, 1e-6)
KINDS = (JointLinUCB, JointGLMUCB)


@pytest.mark.parametrize("kind", KINDS)
def test_noise_for_ever_costs_a_fifth_of_its_std_and_the_claim_is_the_same(kind):
    for_ever, for_long = kind(dim=5, budget=BUDGET), kind(dim=5, budget=BUDGET, horizon=20_000)
    stds = [one.mechanism.sigma * worst_gain(one.mechanism) for one in (for_ever, for_long)]
    assert 1.15 < stds[0] / stds[1] < 1.2 and 1.08 < for_ever.mechanism.sigma / for_long.mechanism.sigma < 1.1
    assert for_ever.privacy.private and for_ever.privacy.epsilon == pytest.approx(1.0, rel=1e-6)
    assert for_ever.mechanism.leaves == 1 + steps_before(FARTHEST, for_ever._schedule) < 300


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_on_the_noise_are_for_all_releases_there_can_be(kind):
    """Of 248 releases at once, in 200 runs: failure / 2 = .1 of them may break a bound, and a bound for one release
    would be broken in more."""
    bandit = kind(dim=2, budget=BUDGET, failure=0.2, source=Simulated(0))
    bounds = bandit.bounds if kind is JointGLMUCB else bandit.algorithm.regularizer
    leaves, rng = bandit.mechanism.leaves, np.random.default_rng(0)
    ups = (bounds.ceiling - bounds.floor) / 2
    stds = bandit.mechanism.sigma * bandit.mechanism.gain(np.arange(1.0, leaves + 1))
    noise = rng.standard_normal((200, leaves, 3)) * stds[:, None]
    middle, apart = (
        (noise[..., 0] + noise[..., 2]) / 2,
        np.hypot((noise[..., 0] - noise[..., 2]) / 2, noise[..., 1] / math.sqrt(2)),
    )
    largest = np.max(np.abs(middle) + apart, axis=1)
    assert np.mean(largest > ups) <= 0.1 and np.mean(largest > 0.6 * ups) > 0.1


def test_the_confidence_set_of_linear_rewards_holds():
    rng, theta = np.random.default_rng(1), np.array([0.6, -0.5])
    for seed in range(2):
        bandit = JointLinUCB(dim=2, budget=Budget(8.0, 1e-3), failure=0.1, source=Simulated(seed))
        for _ in range(800):
            arms = rng.uniform(-0.7, 0.7, (4, 2))
            choice = bandit.choose(arms)
            intervals = bandit.interval(arms)
            assert all(
                low - 1e-9 <= float(x @ theta) <= high + 1e-9 for x, (low, high) in zip(arms, intervals, strict=True)
            )
            bandit.observe(choice, float(np.clip(arms[choice.index] @ theta + rng.uniform(-0.2, 0.2), -1, 1)))
