"""AdaCOFUL: episodes, the sensitivity of a reward, the width, learning."""

import math

import numpy as np
import pytest
from numpy.random import SeedSequence, default_rng

from reticent import Budget, Simulated, Spec, environments
from reticent.data import Exact
from reticent_papers import AdaCOFUL
from reticent_papers.joint.adac_oful import add_reward


def build(**options):
    return AdaCOFUL(**{"dim": 3, "horizon": 500, "budget": Budget(1.0, 1e-6), "source": Simulated(1)} | options)


def test_a_replaced_reward_moves_one_sum_by_no_more_than_is_claimed():
    """Searched, and attained: the same public arm, another reward; a reward that comes in another episode, or never."""
    rng, worst, late = default_rng(1), 0.0, 0.0
    for low, high in ((0.0, 1.0), (-2.0, 3.0)):
        limit = build(rewards=(low, high))._sensitivity
        for _ in range(2000):
            x, rewards = 2 * rng.standard_normal(3), rng.choice([low, high, 5.0, -9.0, 0.3], 2)
            sums = np.zeros((2, 3))
            for out, reward in zip(sums, rewards, strict=True):
                add_reward(x, reward, low, high, Exact(out))
            worst = max(worst, np.linalg.norm(sums[0] - sums[1]) / limit)
            late = max(late, math.hypot(*np.linalg.norm(sums, axis=1)) / limit)
    assert 0.999 < worst <= 1 + 1e-12 and late <= math.sqrt(0.5) + 1e-12


def test_an_episode_ends_when_the_determinant_has_doubled():
    bandit, rng, gram, ends, begun = build(), default_rng(2), np.eye(3), [], np.eye(3)
    for t in range(300):
        arms, before = rng.uniform(-0.57, 0.57, (4, 3)), bandit._steps
        choice = bandit.choose(arms)
        if bandit._steps > before:
            ends.append(t)
            assert np.linalg.det(gram) > 2 * np.linalg.det(begun)
            begun = gram.copy()
        else:
            assert np.linalg.det(gram) <= 2 * np.linalg.det(begun) * (1 + 1e-9)
        gram += np.outer(arms[choice.index], arms[choice.index])
        if t % 3:
            bandit.observe(choice, float(rng.integers(2)))
    assert 5 < len(ends) < bandit.mechanism.leaves and np.allclose(bandit._state.gram, gram)


def test_without_noise_it_is_ridge_regression_on_closed_episodes():
    bandit, rng = build(budget=Budget(math.inf, 0.1), rewards=(-1.0, 1.0)), default_rng(3)
    kept, closed = [], 0
    for _ in range(120):
        arms, before = rng.uniform(-0.57, 0.57, (4, 3)), bandit._steps
        choice = bandit.choose(arms)
        closed = len(kept) if bandit._steps > before else closed
        reward = float(rng.uniform(-1, 1))
        bandit.observe(choice, reward)
        kept.append((arms[choice.index], reward))
    x, y = np.array([each for each, _ in kept[:closed]]), np.array([r for _, r in kept[:closed]])
    assert np.allclose(bandit.theta, np.linalg.solve(np.eye(3) + x.T @ x, x.T @ y))
    plain = 1.0 * math.sqrt(np.linalg.slogdet(np.eye(3) + x.T @ x)[1] + 2 * math.log(500)) + 1.0
    assert bandit._confidence() == pytest.approx(plain)


def test_it_learns_and_public_arms_cost_less_than_private_ones():
    world = environments.ball(dim=3, arms=10, radius=3.0, link="probit")
    regret, block = {}, world.block(2000)
    for epsilon in (1.0, 8.0):
        bandit = Spec(AdaCOFUL, budget=Budget(epsilon, 1e-4)).build(world, 2000, SeedSequence(1))
        world.start(default_rng(2), 2000).fill(block)
        bandit.play(block)
        regret[epsilon] = float(block.regret.sum())
    uniform = float((block.means.max(axis=1) - block.means.mean(axis=1)).sum())
    assert regret[8.0] < regret[1.0] < 0.5 * uniform


def test_settings_are_checked():
    with pytest.raises(ValueError, match="Expected growth"):
        build(growth=0.0)
