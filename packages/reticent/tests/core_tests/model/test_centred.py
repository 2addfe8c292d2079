"""Vectors around a usual reward: what one user can move, whatever comes in, and not less than is claimed."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from reticent.model.vectors import pair_size
from reticent.models.centred import CentredContribution, add_centred

CENTRES = [0.003, 0.01, 0.03, 0.1, 0.3, 0.45, 0.5, 0.9]
P = 3


def contribution(centre=0.01, *, skip=0, low=0.0, high=1.0):
    return CentredContribution.of(centre=centre, dim=P, low=low, high=high, skip=skip, longest=0.8 if skip else 1.0)


def vector(c, x, y, *, larger=1.0):
    """What such a user adds. larger: of a, for bounds that are wrong."""
    out, scale = np.zeros(c.size), larger * c.scale
    add_centred(np.asarray(x, np.float64), float(y), c.skip, c.longest, c.centre, scale, c.low, c.high, out)
    return out


def slow(c, x, y):
    """The same from the module's text."""
    rest = np.array(x[c.skip :], float)
    rest *= min(1.0, c.longest / max(np.linalg.norm(rest), 1e-300))
    lifted = np.append(1.0, rest / c.longest) / np.sqrt(2)
    r = (np.clip(y, c.low, c.high) - c.low) / (c.high - c.low)
    i, j = np.triu_indices(len(lifted))
    outer = np.outer(lifted, lifted)[i, j] * np.where(i == j, 1.0, np.sqrt(2.0))
    return np.concatenate([c.scale * outer, (r - c.centre) * lifted])


def farthest(c, *, larger=1.0, starts=12, enough=math.inf):
    """By local ascent from random pairs of users: the largest distance, or one of `enough`, rewards being at their
    ends."""
    rng, best = np.random.default_rng(round(1000 * c.centre)), 0.0
    rewards = itertools.cycle(itertools.product((0, 1), repeat=2))
    for _, (one, other) in zip(range(starts), rewards, strict=False):

        def distance(z, one=one, other=other):
            return -np.linalg.norm(vector(c, z[:P], one, larger=larger) - vector(c, z[P:], other, larger=larger))

        found = minimize(distance, rng.uniform(-1, 1, 2 * P), bounds=[(-1, 1)] * (2 * P), method="L-BFGS-B")
        best = max(best, -found.fun)
        if best > enough:
            break
    return best


@given(st.sampled_from(CENTRES), st.sampled_from([0, 1]), st.data())
@settings(max_examples=300, deadline=None)
def test_no_two_users_are_farther_apart(centre, skip, data):
    """Whatever numbers come in; nor does a reward cost more that comes in another step, |v|^2 + |v'|^2."""
    c, numbers = contribution(centre, skip=skip), st.floats(-1.5, 1.5) | st.floats(-1e3, 1e3)
    x, other = (data.draw(st.lists(numbers, min_size=P, max_size=P)) for _ in range(2))
    v, w = vector(c, x, data.draw(numbers)), vector(c, other, data.draw(numbers))
    most = c.sensitivity * (1 + 1e-12)
    assert np.linalg.norm(v - w) <= most and np.hypot(np.linalg.norm(v), np.linalg.norm(w)) <= most
    assert np.linalg.norm(v) <= c.norm * (1 + 1e-12)


@pytest.mark.parametrize("skip", [0, 1])
@pytest.mark.parametrize("centre", CENTRES)
def test_a_search_attains_the_sensitivity_and_no_more(centre, skip):
    c = contribution(centre, skip=skip)
    assert 0.99 * c.sensitivity <= farthest(c) <= c.sensitivity * (1 + 1e-9)


def test_a_larger_scale_would_exceed_it():
    """a 20 % larger, at the same D: the search would notice, for every centre."""
    for centre in CENTRES:
        c = contribution(centre)
        much = 1.003 * c.sensitivity
        assert farthest(c, larger=1.2, enough=much) > much


def test_what_the_products_cost():
    """Next to nothing: at one half nothing at all, at 1 % a hundredth."""
    assert contribution(0.5).sensitivity == pytest.approx(1.0, abs=1e-12)
    assert math.sqrt(2) * 0.99 < contribution(0.01).sensitivity < 1.02 * math.sqrt(2) * 0.99


@pytest.mark.parametrize("skip", [0, 1])
def test_numbers_as_the_formula_says(skip):
    """Also of long vectors and rewards out of range. Sums of rows:
    packages/reticent/tests/core_tests/algorithms/test_onepass.py."""
    c, rng = contribution(0.02, skip=skip, low=-1.0, high=2.0), np.random.default_rng(1)
    for _ in range(200):
        x, y = rng.uniform(0.1, 2.0) * rng.uniform(-1.0, 1.0, P), rng.uniform(-3, 3)
        assert np.allclose(vector(c, x, y), slow(c, x, y), rtol=1e-12, atol=1e-12)


def test_sizes_and_centres():
    assert contribution().size == pair_size(P + 1) and contribution(skip=1).size == pair_size(P)
    for centre in (0.0, 1.0, -0.1):
        with pytest.raises(ValueError, match="centre"):
            contribution(centre)
