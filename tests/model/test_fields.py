"""Sums by fields: what one user can move, whatever comes in, and not less than is claimed."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from tacit.kernels.summing import Pooled, Tally, each_fields, sum_fields
from tacit.model import links
from tacit.model.fields import FieldContribution, add_fields
from tacit.model.vectors import packed_size, pair_size

CENTRES = [0.003, 0.01, 0.03, 0.1, 0.3, 0.45, 0.5]
NOWHERE = Tally(0, 0, 0, 0.0, 0.0, 1.0)
ACTIONS, P = 2, 3


def contribution(centre=0.5, *, signed=False, low=0.0, high=1.0):
    parts = {"dim": ACTIONS * P, "blocks": ACTIONS, "low": low, "high": high, "link": links.logistic}
    return FieldContribution.of(centre=centre, signed=signed, **parts)


def signs(c):
    """Of the features: the first is the constant, and some may be negative."""
    return np.arange(P) > 1 if c.signed else np.zeros(P, bool)


def vector(c, x, y, action, *, larger=1.0):
    """What such a user adds. larger: of alpha and a, for bounds that are wrong."""
    own, size = np.zeros(pair_size(P) + P), pair_size(P)
    x = np.asarray(x, np.float64)
    add_fields(x, float(y), signs(c), c.centre, larger * c.pooled, larger * c.scale, c.low, c.high, own)
    out = np.zeros(c.size)
    out[action * size : (action + 1) * size] = own[:size]
    out[-P:] = own[size:]
    return out


def slow(c, x, y):
    """The same from the module's text, of one action."""
    x = np.where(signs(c), x, np.maximum(x, 0.0))
    x = x / max(1.0, np.linalg.norm(x))
    r = (np.clip(y, c.low, c.high) - c.low) / (c.high - c.low)
    i, j = np.triu_indices(len(x))
    outer = np.outer(x, x)[i, j] * np.where(i == j, 1.0, np.sqrt(2.0))
    return np.concatenate([c.scale * outer, (r - c.centre) * x, c.pooled * np.where(signs(c), 0.0, x)])


def farthest(c, *, same, larger=1.0, starts=12):
    """By local ascent from random pairs of users: the largest distance, their rewards being at their ends."""
    rng, best = np.random.default_rng(round(1000 * c.centre)), 0.0
    least = np.where(signs(c), -1.0, 0.0)
    ends = [*zip(least, np.ones(P), strict=True)] * 2
    rewards = itertools.cycle(itertools.product((0, 1), repeat=2))
    for _, (one, other) in zip(range(starts), rewards, strict=False):

        def distance(z, one=one, other=other):
            v, w = vector(c, z[:P], one, 0, larger=larger), vector(c, z[P:], other, 0 if same else 1, larger=larger)
            return -np.linalg.norm(v - w)

        start = [rng.uniform(*end) for end in ends]
        best = max(best, -minimize(distance, start, bounds=ends, method="L-BFGS-B").fun)
    return best


@given(st.sampled_from(CENTRES), st.booleans(), st.booleans(), st.data())
@settings(max_examples=300, deadline=None)
def test_no_two_users_are_farther_apart(centre, signed, same, data):
    """Whatever numbers come in, far outside of their bounds, short or long; nor does a reward cost more that comes in
    another step, |v|^2 + |v'|^2."""
    c = contribution(0.5 if signed else centre, signed=signed)
    numbers = st.floats(-1.5, 1.5) | st.floats(-1e3, 1e3)
    x, other = (data.draw(st.lists(numbers, min_size=P, max_size=P)) for _ in range(2))
    v, w = vector(c, x, data.draw(numbers), 0), vector(c, other, data.draw(numbers), 0 if same else 1)
    most = c.sensitivity * (1 + 1e-12)
    assert np.linalg.norm(v - w) <= most and np.hypot(np.linalg.norm(v), np.linalg.norm(w)) <= most
    assert np.linalg.norm(v) <= c.norm * (1 + 1e-12)


@pytest.mark.parametrize(("centre", "signed"), [*((centre, False) for centre in CENTRES), (0.5, True)])
def test_a_search_attains_the_sensitivity_and_no_more(centre, signed):
    c = contribution(centre, signed=signed)
    best = max(farthest(c, same=same) for same in (True, False))
    assert 0.99 * c.sensitivity <= best <= c.sensitivity * (1 + 1e-9)


def test_a_random_search_finds_no_worse_pair():
    """200 000 pairs of users, of any length, at each centre: in numpy, from the formula of |v - v'|^2."""
    rng = np.random.default_rng(3)
    for centre, signed in [*((centre, False) for centre in CENTRES), (0.5, True)]:
        c, count = contribution(centre, signed=signed), 200_000
        x, w = (rng.normal(size=(count, P)) for _ in range(2))
        x, w = (np.where(signs(c), one, np.abs(one)) for one in (x, w))
        x, w = (
            one / np.linalg.norm(one, axis=1)[:, None] * rng.uniform(size=(count, 1)) ** rng.choice([0, 0.2, 1])
            for one in (x, w)
        )
        r, q = rng.integers(2, size=(2, count, 1)) - centre
        u = np.where(signs(c), 0.0, x - w)
        outer = (x**2).sum(1) ** 2 + (w**2).sum(1) ** 2 - 2 * (x * w).sum(1) ** 2
        one = c.scale**2 * outer + ((r * x - q * w) ** 2).sum(1) + c.pooled**2 * (u**2).sum(1)
        apart = c.scale**2 * (outer + 2 * (x * w).sum(1) ** 2) + (r**2 * x**2 + q**2 * w**2).sum(1)
        assert np.maximum(one, apart + c.pooled**2 * (u**2).sum(1)).max() <= c.sensitivity**2 * (1 + 1e-12)


def test_larger_numbers_would_exceed_it():
    """alpha and a 20 % larger, at the same D: the search would notice, for every centre."""
    for centre, signed in [*((centre, False) for centre in CENTRES), (0.5, True)]:
        c = contribution(centre, signed=signed)
        assert max(farthest(c, same=same, larger=1.2) for same in (True, False)) > 1.004 * c.sensitivity


@pytest.mark.parametrize("signed", [False, True])
def test_a_scale_of_ones_own_is_paid_for(signed):
    """With a larger a the bound grows, and a search does not exceed it."""
    c = dataclasses.replace(contribution(signed=signed), scale=0.8)
    best = max(farthest(c, same=same) for same in (True, False))
    assert 1.05 < best <= c.sensitivity * (1 + 1e-9)


def test_at_one_half_all_costs_what_the_moments_cost():
    assert contribution().sensitivity == pytest.approx(1.0, abs=1e-12)
    assert contribution(signed=True).sensitivity == pytest.approx(1.0, abs=1e-12)
    assert contribution(0.01).sensitivity == pytest.approx(np.sqrt(2 * (0.99**2 + 0.6 * 0.06 + 0.2 * 0.06)))


def test_what_goes_together():
    for centre in (0.0, 1.0, -0.1):
        with pytest.raises(ValueError, match="centre"):
            contribution(centre)
    with pytest.raises(ValueError, match="not negative"):
        contribution(0.1, signed=True)


# the kernel


def people(rng, count, *, longest=0.8):
    """Rows (x, action), and rewards of which some did not come."""
    rows = rng.uniform(-0.2, 1.0, (count, P + 1)) * longest
    rows[:, P] = rng.integers(ACTIONS, size=count)
    return rows, np.where(rng.random(count) < 0.2, np.nan, rng.uniform(-3, 3, count))


def numbers(c):
    size = pair_size(P)
    own = np.arange(ACTIONS * size).reshape(ACTIONS, size)
    places = np.column_stack([own, np.tile(ACTIONS * size + np.arange(P), (ACTIONS, 1))])
    return Pooled(signs(c), c.centre, c.pooled, c.scale, c.low, c.high), places


def expected(c, rows, rewards, cell=None):
    out, size = np.zeros(c.size), pair_size(P)
    for row, y in zip(rows, rewards, strict=True):
        if not np.isnan(y):
            v, a = slow(c, row[:P], y), int(row[P])
            v = v if cell is None else np.rint(v / cell)
            out[a * size : (a + 1) * size] += v[:size]
            out[ACTIONS * size :] += v[size:]
    return out


@pytest.mark.parametrize(("centre", "signed"), [(0.5, True), (0.5, False), (0.02, False)])
def test_sums_as_the_formula_says(centre, signed):
    """Among the rows are negative numbers where none are allowed, long vectors, rewards out of range and none."""
    c = contribution(centre, signed=signed, low=-1.0, high=2.0)
    rows, rewards = people(np.random.default_rng(1), 200, longest=2.0)
    at, places = numbers(c)
    out = np.zeros(c.size)
    each_fields(rows, rewards, at, places, NOWHERE, out)
    assert np.allclose(out, expected(c, rows, rewards), rtol=1e-12, atol=1e-12) and out.any()


def test_on_a_grid_each_row_is_whole_cells():
    c = contribution(0.02)
    cell = 2.0**-20
    rows, rewards = people(np.random.default_rng(2), 100, longest=2.0)
    at, places = numbers(c)
    whole, halves = np.zeros(c.size, np.int64), np.zeros(c.size, np.int64)
    sum_fields(rows, rewards, at, places, NOWHERE, cell, c.norm * (1 + 1e-9), whole)
    assert np.array_equal(whole, expected(c, rows, rewards, cell)) and whole.any()
    for half in (slice(50, None), slice(None, 50)):
        sum_fields(rows[half], rewards[half], at, places, NOWHERE, cell, c.norm * (1 + 1e-9), halves)
    assert np.array_equal(whole, halves)


def test_a_row_that_is_no_number_or_too_long_for_the_bound_adds_nothing_in_cells():
    c = contribution()
    at, places = numbers(c)
    for row, longest in (([np.nan, 0.5, 0.5, 0.0], c.norm), ([1.0, 0.0, 0.0, 0.0], 0.5 * c.norm)):
        out = np.zeros(c.size, np.int64)
        sum_fields(np.array([row]), np.ones(1), at, places, NOWHERE, 2.0**-20, longest, out)
        assert not out.any()


def test_sizes():
    c = contribution()
    assert c.size == ACTIONS * (packed_size(P) + P) + P and c.common == P
