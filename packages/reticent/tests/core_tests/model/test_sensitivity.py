"""Sensitivities: never exceeded, nearly attained."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from core_tests.reference import linear as reference
from reticent.mechanisms.discounted import Discounted
from reticent.model.linear import LinearContribution

REWARDS = [(-1.0, 1.0), (0.0, 1.0), (-2.0, 0.5), (0.0, 0.3)]
SCALES = [0.05, 0.4, 0.95, math.sqrt(2), 3.0]


def vector(contribution, x, y):
    out = np.zeros(contribution.size)
    contribution.add(np.asarray(x, np.float64), float(y), out)
    return out


@given(st.sampled_from(REWARDS), st.sampled_from(SCALES), st.integers(1, 4), st.data())
@settings(max_examples=300)
def test_never_exceeded(rewards, scale, dim, data):
    """Even for input far outside the bounds: contributions are clipped."""
    contribution = LinearContribution(dim=dim, scale=scale, low=rewards[0], high=rewards[1])
    numbers = st.floats(-1e3, 1e3)
    points = [data.draw(st.lists(numbers, min_size=dim, max_size=dim)) for _ in range(2)]
    a, b = (vector(contribution, x, y) for x, y in zip(points, [data.draw(numbers) for _ in range(2)], strict=True))
    tolerance = 1 + 1e-9
    assert np.linalg.norm(a - b) <= contribution.sensitivity * tolerance
    assert math.hypot(np.linalg.norm(a), np.linalg.norm(b)) <= contribution.sensitivity * tolerance


@pytest.mark.parametrize("rewards", REWARDS)
@pytest.mark.parametrize("scale", SCALES)
def test_search_finds_it_and_no_more(rewards, scale):
    """An optimiser over two users in the plane, from many starts, comes within 0.1 % of the bound and not above it."""
    contribution = LinearContribution(dim=2, scale=scale, low=rewards[0], high=rewards[1])
    rng = np.random.default_rng(0)

    def distance(p):
        a = vector(contribution, p[0] * np.array([1.0, 0.0]), p[3])
        b = vector(contribution, p[1] * np.array([math.cos(p[2]), math.sin(p[2])]), p[4])
        return -np.linalg.norm(a - b)

    ends, best = [(0, 1), (0, 1), (0, math.pi), rewards, rewards], 0.0
    for _ in range(40):
        best = max(best, -minimize(distance, [rng.uniform(*e) for e in ends], bounds=ends, method="Nelder-Mead").fun)
    assert 0.999 * contribution.sensitivity <= best <= contribution.sensitivity * (1 + 1e-9)


def test_halved_sensitivity_would_be_found_out():
    contribution = LinearContribution(dim=2, scale=1.0, low=-1, high=1)
    apart = vector(contribution, [1, 0], 1) - vector(contribution, [1 / 2, math.sqrt(3) / 2], -1)
    assert np.linalg.norm(apart) > contribution.sensitivity / 2


def test_contribution_kernel_against_reference():
    rng, contribution = np.random.default_rng(1), LinearContribution(dim=4, scale=0.7, low=-1, high=2)
    for _ in range(20):
        x, y = rng.standard_normal(4), 3 * rng.standard_normal()
        expected = reference.contribution(x, y, 0.7, -1, 2)
        assert np.allclose(vector(contribution, x, y), expected, atol=1e-14)


@pytest.mark.parametrize("discount", [0.9, 1.0])
@pytest.mark.parametrize("leaves", [1, 2, 7, 64, 300])
def test_column_norms_are_exact(leaves, discount):
    """And no entry is negative, which the rule for late rewards needs
    (packages/reticent/tests/core_tests/mechanisms/test_together.py)."""
    fading = discount ** np.maximum(0, np.subtract.outer(np.arange(leaves), np.arange(leaves)))
    encoder = reference.root_toeplitz(leaves) * fading
    assert np.allclose(encoder @ encoder, np.tril(fading)) and encoder.min() >= -1e-9
    norm = Discounted(leaves=leaves, size=1, sigma=1.0, discount=discount).column_norm
    assert norm == pytest.approx(np.linalg.norm(encoder, axis=0).max(), rel=1e-6)
