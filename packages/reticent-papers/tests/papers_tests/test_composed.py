"""Several sums of one user through the shuffler, composed."""

import math

import pytest

from reticent import Budget
from reticent.privacy import gaussian
from reticent_papers.shuffle import apart as rounds
from reticent_papers.shuffle.composed import Sum, calibrate_sums, composed_epsilon


def test_composed_sums_keep_the_budget_and_cost_little():
    budget = Budget(1.0, 1e-6)
    sums = (Sum(15, (math.sqrt(2),), 1.0, 0.5), Sum(5, (2.0,), 1.0, 0.5, 30))
    plans = calibrate_sums(budget, users=5000, sums=sums)
    assert 0.999 < composed_epsilon(list(zip(plans, sums, strict=True)), budget.delta) <= 1 + 1e-5
    mu = gaussian.mu(budget)
    assert 1 <= plans[0].std / (math.sqrt(2) / (mu * math.sqrt(0.5))) < 1.05
    assert 1 <= plans[1].std / (2.0 / (mu * math.sqrt(0.5 / 30))) < 1.05
    twice = sums[1]._replace(times=60)
    assert composed_epsilon([(plans[0], sums[0]), (plans[1], twice)], budget.delta) > 1.2
    fewer = calibrate_sums(budget, users=5000, sums=sums, honest=4000)
    assert composed_epsilon(list(zip(fewer, sums, strict=True)), budget.delta, 4000) <= 1 + 1e-5
    assert composed_epsilon(list(zip(plans, sums, strict=True)), budget.delta, 4000) > 1.05
    with pytest.raises(ValueError, match="rounding"):
        calibrate_sums(Budget(1e-4, 1e-6), users=100, sums=(Sum(2000, (1.0,), 1.0, 1.0),))


def test_the_worst_pair_is_far_apart_in_both_and_farthest_in_neither():
    """What is saved by that: an eighth of the noise."""
    matrices, gradients = rounds.apart()
    loose = Sum(3, (math.sqrt(2),), 1.0, 0.5), Sum(2, (2.0,), 1.0, 0.5, 4)
    tight = Sum(3, matrices, 1.0, 0.5), Sum(2, gradients, 1.0, 0.5, 4)
    for parts in (loose, tight):
        assert calibrate_sums(Budget(1.0, 0.02), users=2000, sums=parts)
    one, two = (calibrate_sums(Budget(1.0, 0.02), users=2000, sums=parts)[0].scale for parts in (loose, tight))
    trials = [calibrate_sums(Budget(1.0, 0.02), users=2000, sums=parts)[0].trials for parts in (loose, tight)]
    assert two / one / math.sqrt(trials[1] / trials[0]) == pytest.approx(1 / math.sqrt(0.78125), rel=0.02)
