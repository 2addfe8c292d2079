"""Scores: of length at most 1, whatever comes in."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from reticent.model import links
from reticent.model.glm import linearize
from reticent.model.scores import ScoreContribution

CLOGLOG = links.given(
    mean=lambda z: -np.expm1(-np.exp(z)), slope=lambda z: np.exp(z - np.exp(z)), steepest=math.exp(-1), reach=4
)
LINKS = [*links.BUILT_IN.values(), CLOGLOG]
RANGES = [(0.0, 1.0), (-1.0, 1.0), (-2.0, 0.5), (3.0, 3.1)]


def vector(contribution, x, y, theta):
    out = np.zeros(contribution.size)
    contribution.add(np.asarray(x, np.float64), float(y), np.asarray(theta, np.float64), out)
    return out


@given(st.sampled_from(LINKS), st.sampled_from(RANGES), st.integers(1, 4), st.data())
@settings(max_examples=300, deadline=None)
def test_never_longer_than_one(link, rewards, dim, data):
    """Even for features, rewards and estimates far outside of their bounds."""
    contribution = ScoreContribution(dim=dim, link=link, low=rewards[0], high=rewards[1])
    numbers = st.floats(-1e3, 1e3)
    theta, x, other = (data.draw(st.lists(numbers, min_size=dim, max_size=dim)) for _ in range(3))
    one, two = (vector(contribution, v, data.draw(numbers), theta) for v in (x, other))
    assert np.linalg.norm(one) <= contribution.norm * (1 + 1e-9)
    assert np.linalg.norm(one - two) <= contribution.sensitivity * (1 + 1e-9)
    assert math.hypot(np.linalg.norm(one), np.linalg.norm(two)) <= contribution.sensitivity


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
def test_a_search_attains_the_sensitivity_and_no_more(link):
    """Over two users in the plane and the estimate that both meet."""
    contribution = ScoreContribution(dim=2, link=link, low=0.0, high=1.0)
    rng, ends = np.random.default_rng(0), [(-1, 1)] * 4 + [(0, 1)] * 2 + [(-3, 3)] * 2

    def distance(p):
        return -np.linalg.norm(vector(contribution, p[:2], p[4], p[6:]) - vector(contribution, p[2:4], p[5], p[6:]))

    best = 0.0
    for _ in range(8):
        best = max(best, -minimize(distance, [rng.uniform(*end) for end in ends], bounds=ends, method="L-BFGS-B").fun)
    assert 0.99 * contribution.sensitivity <= best <= contribution.sensitivity * (1 + 1e-9)


def test_the_score_by_other_weights_is_longer():
    """b - A theta of a one-pass step, at the same estimate: the weights that bound b do not bound it, so a test that
    would pass for it would tell nothing."""
    theta, x = np.array([1.5]), np.array([1.0])
    weight, response = linearize(x, 0.0, theta, np.zeros((1, 1)), links.LOGISTIC, 0.0)
    assert abs(response - weight * theta[0]) > 1.3
    assert abs(vector(ScoreContribution(dim=1, link=links.logistic, low=0.0, high=1.0), x, 0.0, theta)[0]) <= 1


def test_the_direction_is_that_of_the_gradient():
    """Of the log-likelihood, at any estimate: a smaller step never points elsewhere."""
    rng = np.random.default_rng(1)
    for link in (links.logistic, links.probit):
        contribution = ScoreContribution(dim=3, link=link, low=0.0, high=1.0)
        x, theta = rng.uniform(-0.5, 0.5, 3), rng.normal(size=3)
        mean = float(link.mean(x @ theta))
        for y in (0.0, 0.4, 1.0):
            expected = (y - mean) * x / (max(mean, 1 - mean) * np.linalg.norm(x))
            assert np.allclose(vector(contribution, x, y, theta), expected, rtol=1e-12)


def test_no_features_no_score():
    for link in LINKS:
        contribution = ScoreContribution(dim=2, link=link, low=0.0, high=1.0)
        for x in ([0.0, 0.0], [1e-200, 0.0]):
            assert not vector(contribution, x, 1.0, [1.0, 1.0]).any()
