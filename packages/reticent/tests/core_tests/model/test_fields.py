"""Sums by fields: what one user can move, whatever comes in, and not less than is claimed."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from reticent.model.vectors import packed_size, pair_size
from reticent.models.fields import FieldContribution, add_fields

CENTRES = [0.003, 0.01, 0.03, 0.1, 0.3, 0.45, 0.5, 0.9]
ACTIONS, P = 2, 4
CASES = [(centre, signed) for centre in CENTRES for signed in (False, True)]


def contribution(centre=0.5, *, signed=False, low=0.0, high=1.0):
    """Of a constant and two fields of the same weight, one of two numbers, one of one, which may be negative."""
    parts = {"dim": ACTIONS * P, "blocks": ACTIONS, "low": low, "high": high}
    part = math.sqrt(1 / 3)
    return FieldContribution.of(centre=centre, constant=part, swing=part if signed else 0.0, **parts)


def signs(c):
    return np.arange(P) > 2 if c.swing else np.zeros(P, bool)


def vector(c, x, y, action, *, larger=1.0):
    """What such a user adds. larger: of alpha and a, for bounds that are wrong."""
    out, size = np.zeros(c.size), c.size // ACTIONS
    part = out[action * size : (action + 1) * size]
    count, scale = larger * c.count, larger * c.scale
    x = np.asarray(x, np.float64)
    add_fields(x, float(y), signs(c), c.constant, c.swing, c.centre, count, scale, c.low, c.high, part)
    return out


def slow(c, x, y):
    """The same from the module's text, of one action."""
    signed, x = signs(c), np.array(x, float)
    x[0] = c.constant
    x[signed] *= min(1.0, c.swing / max(np.linalg.norm(x[signed]), 1e-300))
    rest = ~signed & (np.arange(len(x)) > 0)
    x[rest] = np.maximum(x[rest], 0.0)
    room = math.sqrt(max(0.0, 1 - c.constant**2 - np.sum(x[signed] ** 2)))
    x[rest] *= min(1.0, room / max(np.linalg.norm(x[rest]), 1e-300))
    r = (np.clip(y, c.low, c.high) - c.low) / (c.high - c.low)
    i, j = np.triu_indices(len(x))
    outer = np.outer(x, x)[i, j] * np.where(i == j, 1.0, np.sqrt(2.0))
    return np.concatenate([c.scale * outer, (r - c.centre) * x, c.count * np.where(signed, 0.0, x)])


def farthest(c, *, same, larger=1.0, starts=24, enough=math.inf):
    """By local ascent from random pairs of users: the largest distance, or one of `enough`, rewards being at their
    ends."""
    rng, best = np.random.default_rng(round(1000 * c.centre)), 0.0
    ends = [*zip(np.where(signs(c), -1.0, 0.0), np.ones(P), strict=True)] * 2
    rewards = itertools.cycle(itertools.product((0, 1), repeat=2))
    for k, (one, other) in zip(range(starts), rewards, strict=False):

        def distance(z, one=one, other=other):
            v, w = vector(c, z[:P], one, 0, larger=larger), vector(c, z[P:], other, 0 if same else 1, larger=larger)
            return -np.linalg.norm(v - w)

        start = np.array([rng.uniform(*end) for end in ends])
        if k % 8 > 3:
            start[np.tile(signs(c), 2)] = 0.0  # a ridge of its own
        best = max(best, -minimize(distance, start, bounds=ends, method="L-BFGS-B").fun)
        if best > enough:
            break
    return best


@given(st.sampled_from(CENTRES), st.booleans(), st.booleans(), st.data())
@settings(max_examples=300, deadline=None)
def test_no_two_users_are_farther_apart(centre, signed, same, data):
    """Whatever numbers come in, far outside of their bounds, short or long; nor does a reward cost more that comes in
    another step, |v|^2 + |v'|^2."""
    c, numbers = contribution(centre, signed=signed), st.floats(-1.5, 1.5) | st.floats(-1e3, 1e3)
    x, other = (data.draw(st.lists(numbers, min_size=P, max_size=P)) for _ in range(2))
    v, w = vector(c, x, data.draw(numbers), 0), vector(c, other, data.draw(numbers), 0 if same else 1)
    most = c.sensitivity * (1 + 1e-12)
    assert np.linalg.norm(v - w) <= most and np.hypot(np.linalg.norm(v), np.linalg.norm(w)) <= most
    assert np.linalg.norm(v) <= c.norm * (1 + 1e-12)


@pytest.mark.parametrize(("centre", "signed"), CASES)
def test_a_search_attains_the_sensitivity_and_no_more(centre, signed):
    c = contribution(centre, signed=signed)
    best = max(farthest(c, same=same) for same in (True, False))
    assert 0.99 * c.sensitivity <= best <= c.sensitivity * (1 + 1e-9)


def test_larger_numbers_would_exceed_it():
    """alpha and a 20 % larger, at the same D: the search would notice, for every centre."""
    for centre, signed in CASES:
        c = contribution(centre, signed=signed)
        much = 1.004 * c.sensitivity
        assert any(farthest(c, same=same, larger=1.2, enough=much) > much for same in (False, True))


@pytest.mark.parametrize(("centre", "signed"), [(0.5, False), (0.5, True), (0.1, True)])
def test_a_scale_of_ones_own_is_paid_for(centre, signed):
    """With a larger a the bound grows, and a search does not exceed it."""
    c = dataclasses.replace(contribution(centre, signed=signed), scale=0.8)
    assert 1.05 < max(farthest(c, same=same) for same in (True, False)) <= c.sensitivity * (1 + 1e-9)


def test_more_that_may_be_negative_is_paid_for():
    """A small constant and a large swing, at a small base rate: opposite people are farther apart than two actions."""
    parts = {"dim": ACTIONS * P, "blocks": ACTIONS, "low": 0.0, "high": 1.0}
    c = FieldContribution.of(centre=0.02, constant=0.3, swing=0.9, **parts)
    assert c.sensitivity > 1.2 * contribution(0.02).sensitivity
    best = max(farthest(c, same=same) for same in (True, False))
    assert 0.97 * c.sensitivity <= best <= c.sensitivity * (1 + 1e-9)


def test_at_one_half_all_costs_what_the_moments_cost():
    assert contribution().sensitivity == pytest.approx(1.0, abs=1e-12)
    assert contribution(signed=True).sensitivity == pytest.approx(1.0, abs=1e-12)
    assert contribution(0.01).sensitivity == pytest.approx(np.sqrt(2 * (0.99**2 + 0.6 * 0.06 + 0.2 * 0.06)))


@pytest.mark.parametrize(("centre", "signed"), [(0.5, True), (0.5, False), (0.02, False), (0.02, True)])
def test_numbers_as_the_formula_says(centre, signed):
    """Also of negative numbers where none are allowed, long vectors, and rewards out of range. Sums of rows:
    packages/reticent/tests/core_tests/algorithms/test_onepass.py."""
    c, rng = contribution(centre, signed=signed, low=-1.0, high=2.0), np.random.default_rng(1)
    for action in rng.integers(ACTIONS, size=200):
        x, y, expected = 2.0 * rng.uniform(-0.2, 1.0, P), rng.uniform(-3, 3), np.zeros((ACTIONS, c.size // ACTIONS))
        expected[action] = slow(c, x, y)
        assert np.allclose(vector(c, x, y, action), expected.ravel(), rtol=1e-12, atol=1e-12)


def test_sizes_and_centres():
    assert contribution().size == ACTIONS * (packed_size(P) + 2 * P) == ACTIONS * (pair_size(P) + P)
    for centre in (0.0, 1.0, -0.1):
        with pytest.raises(ValueError, match="centre"):
            contribution(centre)
