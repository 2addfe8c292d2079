"""Published bandits on integers."""

import math

import numpy as np
import pytest

import core_tests.mechanisms.test_grid as core
from lab_tests.raising import raised
from reticent import Budget, Secure, Simulated
from reticent.errors import NotSecure
from reticent.mechanisms.grid import MOST_LEAVES, on_grid
from reticent.model import links
from reticent.privacy import gaussian
from reticent_lab.mechanisms.tree import Tree
from reticent_papers import JointGLMRare, ShariffLinUCB
from reticent_papers.joint.glm_rare_descent_kernel import gradients
from reticent_papers.joint.wishart import WishartTree
from reticent_papers.mechanisms.noisy_kernel import with_noise


def test_what_cannot_be_secure_is_refused():
    budget = Budget(1.0, 1e-6)
    raised(NotSecure, ShariffLinUCB, dim=2, horizon=100, budget=budget, noise="wishart").match("source=Simulated")
    raised(NotSecure, JointGLMRare, dim=2, horizon=100, budget=budget, timing="published").match("timing leaks")
    for release in ("toeplitz", "buffered"):
        with pytest.raises(NotSecure, match="use longer steps, or release='tree'"):
            ShariffLinUCB(dim=2, horizon=MOST_LEAVES + 1, budget=budget, release=release)
    with pytest.raises(NotSecure, match="floats only"):
        on_grid(WishartTree(leaves=4, size=5, scale=1.0, dof=10), sensitivity=1.0, mu=1.0)
    raised(NotSecure, Secure().rows, 1, 1, Tree(leaves=2, size=1, sigma=1.0).law).match("floats")
    simulated = ShariffLinUCB(dim=2, horizon=100, budget=budget, noise="wishart", source=Simulated(0))
    assert not simulated.privacy.private


@pytest.mark.parametrize("release", ["batched", "tree", "consistent-tree", "toeplitz", "buffered"])
def test_the_grid_costs_a_bandit_almost_nothing(release):
    budget = Budget(1.0, 1e-6)
    settings = {"dim": 5, "horizon": 1000, "budget": budget, "release": release}
    secure, simulated = ShariffLinUCB(**settings), ShariffLinUCB(**settings, source=Simulated(0))
    assert secure.privacy.private and secure.privacy.distance == 0.0 and secure.privacy.grid_delta < 1e-12
    assert secure.privacy.epsilon == pytest.approx(1.0, rel=1e-9) and secure.privacy.epsilon <= 1 + 1e-9
    assert simulated.mechanism.sigma < secure.mechanism.sigma < 1.001 * simulated.mechanism.sigma
    entry = secure.privacy.releases[0]
    assert entry.grid == secure.mechanism.step and math.log2(entry.grid).is_integer()
    needed = entry.sensitivity * entry.column_norm / gaussian.mu(budget)
    assert needed <= entry.sigma < needed * (1 + 1e-6)
    needed = simulated.contribution.sensitivity * simulated.mechanism.column_norm / gaussian.mu(budget)
    assert simulated.mechanism.sigma == pytest.approx(needed, rel=1e-12)
    assert simulated.privacy.epsilon == pytest.approx(1.0, rel=1e-9) and simulated.privacy.epsilon <= 1.0 + 1e-9


def test_rare_on_the_grid_is_rare_without_it_where_noise_is_small():
    """Same users, almost no noise: estimates on integers and in floats agree within what noise there is."""
    thetas = []
    for source in (Secure(), Simulated(0)):
        rng = np.random.default_rng(6)
        bandit = JointGLMRare(dim=2, horizon=120, budget=Budget(1e5, 1e-3), radius=2.0, source=source)
        for _ in range(120):
            x = rng.uniform(-0.7, 0.7, (1, 2))
            bandit.observe(bandit.choose(x), float(rng.random() < 1 / (1 + math.exp(-2 * x[0, 0]))))
        assert bandit.recomputations[1] >= 1
        thetas.append(bandit.theta)
    assert np.abs(thetas[0] - thetas[1]).max() < 0.02


def test_rare_gradients_are_whole_cells_in_any_order():
    bandit = JointGLMRare(dim=3, horizon=200, budget=Budget(4.0, 1e-3))
    rng = np.random.default_rng(5)
    data, cell = bandit._state.data, bandit._rule.cell
    data.x[:] = rng.uniform(-0.5, 0.5, (200, 3))
    data.r[:] = rng.random(200)
    theta, noise, outs = np.array([0.3, -0.2, 0.1]), np.array([5.0, -7.0, 0.0]), []
    for order in (np.arange(200), rng.permutation(200)):
        moved = data._replace(x=data.x[order].copy(), r=data.r[order].copy())
        outs.append(with_noise(gradients(moved, 200, 0, theta, links.logistic.code, cell), noise, cell))
    mean = 1 / (1 + np.exp(-data.x @ theta))
    expected = np.rint((mean - data.r)[:, None] * data.x / cell).sum(axis=0) + noise
    assert np.array_equal(outs[0], expected * cell) and np.array_equal(outs[0], outs[1])
    assert bandit.privacy.releases[1].grid == cell


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("release", ["batched", "toeplitz", "buffered"])
def test_what_a_person_moves_is_at_most_what_is_claimed_and_near_it(release, rounds):
    core.test_what_a_person_moves_is_at_most_what_is_claimed_and_near_it(ShariffLinUCB, {"release": release}, rounds)
