"""AdaCOFUL: episodes, the sensitivity of a reward, the width, learning."""

import math

import numpy as np
import pytest
from numpy.random import SeedSequence, default_rng

from tacit import Budget, Simulated, Spec, environments
from tacit.data import Exact
from tacit.errors import NoHorizon
from tacit.mechanisms.grid import on_grid
from tacit.privacy import gaussian, relations
from tacit_papers import AdaCOFUL
from tacit_papers.joint.adac_oful import add_reward
from tacit_papers.mechanisms.alone import Alone


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
    assert 0.999 < worst <= 1 + 1e-12
    assert late <= math.sqrt(0.5) + 1e-12


def test_the_ledger_has_one_release_for_any_number_of_episodes():
    bandit = build()
    certificate = bandit.privacy
    assert (
        certificate.epsilon == pytest.approx(1.0, rel=1e-6) and certificate.neighbours == relations.REPLACE + " rewards"
    )
    assert bandit.mechanism.sigma == pytest.approx(1 / gaussian.mu(Budget(1.0, 1e-6)))
    assert bandit.mechanism.column_norm == 1.0
    twice = build(max_rounds_per_person=2)
    assert twice.mechanism.sigma == pytest.approx(2 * bandit.mechanism.sigma)


@pytest.mark.parametrize("secure", [False, True])
def test_alone_adds_noise_of_its_own_to_each_step(secure):
    """Prefixes of noise: differences are independent, of std sigma (4000 numbers: within 6 %, false alarm 1e-7), and
    data come through as they are."""
    mechanism = Alone(leaves=1000, size=4, sigma=2.0)
    source = Simulated(3)
    if secure:
        grid = on_grid(Alone(leaves=6, size=4, sigma=0.0), sensitivity=1.0, mu=1e9)
        assert np.allclose(grid._decoder, 1.0) and grid.column_norm == 1.0
        return
    state, out = mechanism.init(source), []
    for t in range(1000):
        state.open[0] += float(t == 10) * 1e6
        out.append(mechanism.release(state, source).copy())
    steps = np.diff(np.array(out), axis=0)
    assert steps[9, 0] > 9e5
    steps[9, 0] -= 1e6
    assert 0.94 < steps.std() / 2 < 1.06
    assert abs(np.corrcoef(steps[:-1].ravel(), steps[1:].ravel())[0, 1]) < 0.09
    assert mechanism.gain(np.array([1.0, 9.0])).tolist() == [1.0, 3.0]
    assert mechanism.sum_norm_after(1000, 4) == 2.0


def test_an_episode_ends_when_the_determinant_has_doubled():
    bandit, rng, gram, ends, begun = build(), default_rng(2), np.eye(3), [], np.eye(3)
    for t in range(300):
        arms = rng.uniform(-0.57, 0.57, (4, 3))
        before = bandit._steps
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
    assert 5 < len(ends) < bandit.mechanism.leaves
    assert np.allclose(bandit._state.gram, gram)


def test_without_noise_it_is_ridge_regression_on_closed_episodes():
    bandit, rng = build(budget=Budget(math.inf, 0.1), rewards=(-1.0, 1.0)), default_rng(3)
    kept, closed = [], 0
    for _ in range(120):
        arms = rng.uniform(-0.57, 0.57, (4, 3))
        before = bandit._steps
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
    regret = {}
    for epsilon in (1.0, 8.0):
        bandit = Spec(AdaCOFUL, budget=Budget(epsilon, 1e-4)).build(world, 2000, SeedSequence(1))
        block = world.block(2000)
        world.start(default_rng(2), 2000).fill(block)
        bandit.play(block)
        regret[epsilon] = float((block.means.max(axis=1) - block.means[np.arange(2000), block.index]).sum())
    uniform = float((block.means.max(axis=1) - block.means.mean(axis=1)).sum())
    assert regret[8.0] < regret[1.0] < 0.5 * uniform


def test_settings_are_checked():
    with pytest.raises(NoHorizon):
        build(horizon=None)
    with pytest.raises(ValueError, match="Expected growth"):
        build(growth=0.0)
