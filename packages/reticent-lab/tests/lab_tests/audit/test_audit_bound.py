"""The bounds of the audit: they hold as often as they say, they are not idle, and exact ones are exact."""

import math

import numpy as np
import pytest
from scipy import stats

from lab_tests.raising import raised
from reticent import Budget
from reticent.privacy import gaussian
from reticent_lab.audit.attacks.discrete import discrete_gaussian, integer_attack
from reticent_lab.audit.bound import (
    clopper_pearson,
    discrete_curve,
    exact_bound,
    gaussian_bound,
    gdp_bound,
    general_bound,
    ratio_bound,
)


def test_clopper_pearson_is_scipys():
    for hits in (0, 1, 17, 99, 100):
        interval = stats.binomtest(hits, 100).proportion_ci(0.98, method="exact")
        low, high = clopper_pearson(np.array([hits]), 100, 0.01)
        assert low[0] == pytest.approx(interval.low) and high[0] == pytest.approx(interval.high)


def exceeded(bound, draw, truth, runs=300):
    """How often a bound at 90 % is above the truth."""
    count = 0
    for seed in range(runs):
        rng = np.random.default_rng([7, seed])
        count += bound(draw(0, rng), draw(1, rng)) > truth
    return count / runs


def test_the_gaussian_bound_is_above_the_truth_as_often_as_it_says():
    """300 audits at 90 %: 17 % above the truth is 4 standard errors (false alarm 1e-4); above mu / 1.25 most are."""

    def bound(zero, one):
        return gdp_bound(zero, one, 0.9)

    def draw(world, rng):
        return rng.standard_normal(1000) + 0.6 * world

    assert 0.02 < exceeded(bound, draw, 0.6) < 0.17 and exceeded(bound, draw, 0.6 / 1.25) > 0.5


def test_the_general_bound_holds_for_asymmetric_discrete_laws():
    """As above, for a law whose two directions differ: epsilon at delta .05 is computed exactly from it."""
    zero, one = np.array([0.5, 0.4, 0.1]), np.array([0.15, 0.25, 0.6])
    truth = exact_bound(discrete_curve(zero, one), 0.05)

    def bound(a, b):
        return general_bound(a, b, 0.05, 0.9)

    def draw(world, rng):
        return rng.choice(3, size=400, p=one if world else zero).astype(float)

    assert exceeded(bound, draw, truth) < 0.17 and exceeded(bound, draw, truth / 2) > 0.5


def test_at_epsilon_one_the_gaussian_bound_is_near():
    """3e4 runs of each world at delta .02: above .8 (here 20 of 20), never above 1 (false alarm .001 each)."""
    mu = gaussian.mu(Budget(1.0, 0.02))
    for seed in range(20):
        rng = np.random.default_rng(seed)
        lower = gaussian_bound(rng.standard_normal(30_000), mu + rng.standard_normal(30_000), 0.02)
        assert 0.8 < lower <= 1.0


def test_either_direction_either_sign():
    rng = np.random.default_rng(0)
    rare, never = (rng.random(4000) < 0.3).astype(float), np.zeros(4000)
    for zero, one in ((rare, never), (never, rare), (-rare, never), (never, -rare)):
        assert general_bound(zero, one, 0.02) > 4.0
    assert general_bound(never, never, 0.02) == 0.0 and gaussian_bound(never, never, 0.02) == 0.0


def test_ratios():
    def one(a, b, runs):
        return float(ratio_bound(np.array([a]), np.array([b]), runs, 0.02)[0])

    assert one(0, 0, 100) == 0.0 and one(50, 50, 100) == 0.0 and 2.0 < one(100, 0, 100) < 3.0


def test_bad_scores_are_refused():
    good = np.zeros(100)
    for zero, one in ((good, np.zeros(99)), (np.zeros(3), np.zeros(3)), (good, np.full(100, np.nan))):
        raised(ValueError, gdp_bound, zero, one).match("Expected")


def test_exact_bounds():
    """Randomised response by its definition; infinite epsilon where an event is impossible in one world."""
    keep = math.exp(2) / (1 + math.exp(2))
    curve = discrete_curve(np.array([keep, 1 - keep]), np.array([1 - keep, keep]))
    assert exact_bound(curve, 0.0) == pytest.approx(2.0, abs=1e-8)
    assert exact_bound(discrete_curve(np.array([1.0, 0.0]), np.array([0.0, 1.0])), 0.1) == 200.0
    assert exact_bound(curve, 0.999) == 0.0
    raised(ValueError, discrete_curve, np.array([0.5, 0.4]), np.array([0.5, 0.5])).match("Expected two laws")


def test_both_directions_are_enumerated():
    zero, one = np.array([0.9, 0.1, 0.0]), np.array([0.9, 0.05, 0.05])
    for a, b in ((zero, one), (one, zero)):
        assert discrete_curve(a, b)(5.0) == pytest.approx(0.05)


def test_the_law_of_the_likelihood_ratio_is_the_law_of_the_vector():
    """Two coordinates, slowly: every pair of integers, in both worlds."""
    points, law = discrete_gaussian(2.0)
    joint, k = np.outer(law, law).ravel(), np.array([(a, b) for a in points for b in points])
    shifts = np.array([2, 1])

    def density(shifted):
        inside = np.all(np.abs(shifted) <= points[-1], axis=1)
        index = (shifted + points[-1]).astype(int)
        return np.where(inside, law[np.clip(index[:, 0], 0, 48)] * law[np.clip(index[:, 1], 0, 48)], 0.0)

    attack = integer_attack("pair", cells=2.0, shifts=[2, 1], epsilon=1.0, delta=0.02)
    for epsilon in (0.3, 1.0, 2.0):
        slow = np.maximum(joint - math.exp(epsilon) * density(k - shifts), 0).sum()
        assert attack.exact(epsilon) == pytest.approx(slow, abs=1e-12)


def test_a_fine_grid_is_the_gaussian_curve():
    attack = integer_attack("fine", cells=5000.0, shifts=[3000], epsilon=1.0, delta=0.02)
    assert exact_bound(attack.exact, 0.02) == pytest.approx(gaussian.epsilon(0.6, 0.02), rel=1e-3)


def test_samples_agree_with_the_enumeration():
    """The estimated bound from draws of the law is below the exact one, and near (false alarm .001)."""
    attack = integer_attack("sampled", cells=5.0, shifts=[4], epsilon=1.0, delta=0.02)
    rng = np.random.default_rng(3)
    estimated = general_bound(attack.scores(0, 30_000, rng), attack.scores(1, 30_000, rng), 0.02)
    exact = exact_bound(attack.exact, 0.02)
    assert 0.7 * exact < estimated <= exact
