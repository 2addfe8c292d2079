"""Regret bounds: above what is seen, and of the right order."""

import math

import numpy as np
import pytest

from lab_tests.raising import raised
from reticent import Budget, Spec, environments
from reticent.experiments.runner import run_once
from reticent.model import links
from reticent_papers import ShariffLinUCB, bounds
from reticent_papers.bounds.drawn import Problem, line
from reticent_papers.confidence import Regularizer


def test_regret_is_below_theorems_5_and_6():
    budget, horizon = Budget(1.0, 0.1), 20_000
    spec = Spec(ShariffLinUCB, budget=budget, calibration="paper", failure=0.01)
    bandit = ShariffLinUCB(dim=5, horizon=horizon, budget=budget, calibration="paper", failure=0.01)
    run = run_once(spec, environments.gap(dim=5, arms=25, gap=0.1), horizon, 0, 0, lambda _: None)
    options = {"dim": 5, "horizon": horizon, "failure": 0.01}
    assert run.regret < bounds.linear_ucb(bandit.regularizer, **options)
    assert run.regret < bounds.linear_ucb(bandit.regularizer, **options, gap=0.1)


def test_theorem_5_by_hand():
    one = Regularizer(shift=1.0, floor=1.0, ceiling=1.0, perturbation=0.0)
    # d = 1, n = e - 1, failure = 2 / e: sqrt(8 n) (2 + 1 + 1) with n = 2: log(1 + 2) instead of 1
    expected = math.sqrt(16) * ((2 * math.log(2 / 0.5) + math.log(3)) + math.sqrt(math.log(3)))
    assert bounds.linear_ucb(one, dim=1, horizon=2, failure=0.5) == pytest.approx(expected)
    assert bounds.linear_ucb(one, dim=1, horizon=2, failure=0.5, gap=0.5) == pytest.approx(16 * (expected / 4) ** 2)


def test_lower_bounds():
    assert bounds.private_arms_lower([0.1] * 9, horizon=1000, epsilon=0.5) == pytest.approx(9 * math.log(1000) / 100)
    raised(ValueError, bounds.private_arms_lower, [0.1], horizon=10, epsilon=0).match("Expected epsilon")


def test_smaller_budgets_have_larger_bounds():
    values = []
    for epsilon in (0.5, 1.0, 4.0):
        bandit = ShariffLinUCB(dim=5, horizon=10_000, budget=Budget(epsilon, 1e-3), release="batched")
        values.append(bounds.linear_ucb(bandit.regularizer, dim=5, horizon=10_000))
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("link", [links.logistic, links.probit])
def test_glm_lower_bound_has_its_constants(link):
    """sqrt(d T) exp(-1/2) / 8 without privacy; d / (12 e epsilon) when privacy is what costs (both for large T)."""
    plain = bounds.glm_lower(link, dim=5, horizon=10**8, radius=2.0)
    assert plain == pytest.approx(math.sqrt(5 * 10**8) * math.exp(-0.5) / 8, rel=1e-3)
    strict = Budget(1e-4, 1e-12)
    private = bounds.glm_lower(link, dim=5, horizon=10**6, radius=2.0, budget=strict)
    assert private == pytest.approx(5 / (12 * math.e * 1e-4), rel=1e-3)
    assert private > bounds.glm_lower(link, dim=5, horizon=10**6, radius=2.0)
    assert bounds.glm_lower(link, dim=5, horizon=10**8, radius=2.0, budget=Budget(1.0, 1e-6)) == plain
    raised(ValueError, bounds.glm_lower, links.identity, dim=5, horizon=100).match("means in")


def test_the_best_play_without_privacy_is_above_the_lower_bound():
    """One game of n rounds: following the leader is optimal for a symmetric prior, and its regret is computed exactly.

    With a reward 1 of +e or 0 of -e counted as a step up, the walk has drift g whatever is played; the wrong arm is
    played when the walk is below 0, and half of the time at 0."""
    n, g = 400, 1 / (2 * math.sqrt(400))
    law, regret = np.array([1.0]), 0.0
    for _ in range(n):
        middle = len(law) // 2
        below = law[:middle].sum() + (law[middle] / 2 if len(law) % 2 else 0.0)
        regret += g * below
        law = np.convolve(law, [(1 - g) / 2, (1 + g) / 2])
    a = np.interp(g, 2 * links.logistic.mean(np.linspace(0, 1, 10_001)) - 1, np.linspace(0, 1, 10_001))
    lower = bounds.glm_lower(links.logistic, dim=1, horizon=n, radius=float(a))
    assert lower == pytest.approx(math.sqrt(n) * math.exp(-0.5) / 8, rel=5e-3) and lower < regret < 5 * lower


def test_a_bound_is_named_with_what_was_given():
    problem = Problem(links.named("identity"), 3, 5, 1.0, Budget(2.0, 1e-6), constant=3.0, eigenvalue=0.1)
    assert line("local-online-ucb", problem, 100).label.startswith("local-online-ucb × 3 λ=0.1 ε=2 (")
