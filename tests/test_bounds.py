"""Regret bounds: above what is seen, and of the right order."""

import pytest

from tacit import Budget, JointLinUCB, Spec, bounds, environments
from tacit.experiments.runner import run_once


def test_regret_is_below_theorems_5_and_6():
    budget, horizon = Budget(1.0, 0.1), 20_000
    spec = Spec(JointLinUCB, budget=budget, calibration="paper", failure=0.01)
    bandit = JointLinUCB(dim=5, horizon=horizon, budget=budget, calibration="paper", failure=0.01)
    run = run_once(spec, environments.gap(dim=5, arms=25, gap=0.1), horizon, 0, 0, lambda _: None)
    options = {"dim": 5, "horizon": horizon, "failure": 0.01}
    assert run.regret < bounds.linear_ucb(bandit.regularizer, **options)
    assert run.regret < bounds.linear_ucb(bandit.regularizer, **options, gap=0.1)


def test_theorem_5_by_hand():
    from tacit.estimators.ridge import Regularizer

    one = Regularizer(shift=1.0, floor=1.0, ceiling=1.0, perturbation=0.0)
    # d = 1, n = e - 1, failure = 2 / e: sqrt(8 n) (2 + 1 + 1) with n = 2: log(1 + 2) instead of 1
    import math

    expected = math.sqrt(16) * ((2 * math.log(2 / 0.5) + math.log(3)) + math.sqrt(math.log(3)))
    assert bounds.linear_ucb(one, dim=1, horizon=2, failure=0.5) == pytest.approx(expected)
    assert bounds.linear_ucb(one, dim=1, horizon=2, failure=0.5, gap=0.5) == pytest.approx(
        16 * (expected / math.sqrt(16)) ** 2
    )


def test_lower_bounds():
    import math

    assert bounds.private_arms_lower([0.1] * 9, horizon=1000, epsilon=0.5) == pytest.approx(9 * math.log(1000) / 100)
    assert bounds.standard_privacy_lower(1000) == 250
    with pytest.raises(ValueError, match="Expected epsilon"):
        bounds.private_arms_lower([0.1], horizon=10, epsilon=0)


def test_smaller_budgets_have_larger_bounds():
    values = []
    for epsilon in (0.5, 1.0, 4.0):
        bandit = JointLinUCB(dim=5, horizon=10_000, budget=Budget(epsilon, 1e-3))
        values.append(bounds.linear_ucb(bandit.regularizer, dim=5, horizon=10_000))
    assert values == sorted(values, reverse=True)
