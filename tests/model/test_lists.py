"""Lists: what one person can move, with all the places of a list, and not less than is claimed."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from tacit.kernels.formulas import add_list
from tacit.kernels.lists import Listed, best_first, each_lists, sum_lists
from tacit.kernels.summing import Tally
from tacit.model import links
from tacit.model.centred import CentredContribution
from tacit.model.lists import ListContribution, bits, check_positions, digit, packed

P, WEIGHTS = 3, (1.0, 0.7, 0.5)
K = len(WEIGHTS)
NOWHERE = Tally(0, 0, 0, 0.0, 0.0, 1.0)


def contribution(*, skip=0, positions=WEIGHTS, **options):
    longest = 0.8 if skip else 1.0
    parts = {"dim": P, "low": 0.0, "high": 1.0, "link": links.logistic, "skip": skip, "longest": longest}
    return ListContribution.of(positions=positions, **parts, **options)


def row(items, places=K):
    """What is kept of a list of so many items."""
    out = np.zeros((places, P + 1))
    for j, x in enumerate(items):
        out[j, 0], out[j, 1:] = 1.0, x
    return out.ravel()


def vector(c, items, rewards, *, bound=None):
    """What such a person adds. bound: another R."""
    out, code = np.zeros(c.size), packed(list(rewards), len(c.positions))
    kept = row(items, len(c.positions))
    add_list(kept, code, P, c.skip, c.longest, np.array(c.positions), bound or c.bound, c.scale, out)
    return out


def slow(c, items, rewards):
    """The same from the module's text, and whether it is cut."""
    total = np.zeros(c.size)
    for x, r, w in zip(items, rewards, c.positions, strict=False):
        rest = np.array(x[c.skip :], float)
        rest *= min(1.0, c.longest / max(np.linalg.norm(rest), 1e-300))
        y = np.append(1.0, rest / c.longest) / np.sqrt(2)
        i, j = np.triu_indices(len(y))
        outer = np.outer(y, y)[i, j] * np.where(i == j, 1.0, np.sqrt(2.0))
        total += np.concatenate([c.scale * w * outer, r * y])
    return total * min(1.0, c.bound / np.linalg.norm(total)), np.linalg.norm(total) > c.bound


numbers = st.floats(-1.5, 1.5) | st.floats(-1e3, 1e3)
people = st.tuples(
    st.lists(st.lists(numbers, min_size=P, max_size=P), min_size=1, max_size=K),
    st.lists(st.sampled_from([0.0, 1.0]) | st.floats(0, 1), min_size=K, max_size=K),
)


@given(people, people, st.sampled_from([0, 1]), st.sampled_from([0.3, 1.0, 2.0]))
@settings(max_examples=100, deadline=None)
def test_no_two_lists_are_farther_apart(one, other, skip, clicks):
    """Whatever is shown and clicked; nor does a reward cost more that comes in another step, |v|^2 + |v'|^2."""
    c = contribution(skip=skip, clicks=clicks)
    v, w = vector(c, *one), vector(c, *other)
    most = c.sensitivity * (1 + 1e-12)
    assert np.linalg.norm(v - w) <= most and np.hypot(np.linalg.norm(v), np.linalg.norm(w)) <= most
    assert np.linalg.norm(v) <= c.norm * (1 + 1e-12)


def farthest(c, *, bound=None, starts=6):
    """By local ascent from random pairs of lists: the largest distance, with so many clicks."""
    rng, best = np.random.default_rng(7), 0.0
    for clicks in range(starts):
        rewards = [np.arange(K) < n for n in (clicks % (K + 1), (clicks + 1 + clicks // 4) % (K + 1))]

        def distance(z, rewards=rewards):
            one, other = z.reshape(2, K, P)
            return -np.linalg.norm(vector(c, one, rewards[0], bound=bound) - vector(c, other, rewards[1], bound=bound))

        found = minimize(distance, rng.uniform(-1, 1, 2 * K * P), bounds=[(-1, 1)] * (2 * K * P), method="L-BFGS-B")
        best = max(best, -found.fun)
    return best


def test_a_search_attains_the_sensitivity_and_no_more():
    """And where nothing is cut, lists are farther apart than is claimed; so they are by the D of a single item."""
    c = contribution()
    assert 0.98 * c.sensitivity <= farthest(c) <= c.sensitivity * (1 + 1e-9)
    assert farthest(c, bound=1e9, starts=4) > 1.5 * c.sensitivity
    alone = CentredContribution(
        dim=P, low=0.0, high=1.0, link=links.logistic, scale=c.scale, centre=1e-9
    )  # rewards from 0
    assert farthest(c, bound=1e9, starts=4) > 1.5 * alone.sensitivity


def test_opposite_items_attain_it_exactly():
    c = contribution()
    one, other = (vector(c, [[sign, 0.0, 0.0]] * K, [1.0] * K) for sign in (1, -1))
    assert np.linalg.norm(one - other) == pytest.approx(c.sensitivity, rel=1e-12)


def test_rewards_of_both_signs_would_be_farther_apart():
    """Centred at one half, as a stack that is cut to R: up to 2 R, which D = sqrt 2 R does not cover."""
    c = contribution(curvature=0.05)
    found, _ = slow(c, [[0.5, 0.0, 0.0]] * K, [1.0] * K)
    signed = np.where(np.arange(c.size) < c.size - (P + 1), found, -found)
    assert np.linalg.norm(found - signed) > 1.3 * c.sensitivity


def test_a_list_with_one_click_is_not_cut_and_one_with_many_is():
    c = contribution()
    items = np.eye(P)
    for rewards, cut in (([0, 0, 0], False), ([0, 1, 0], False), ([1, 1, 1], True)):
        found, was = slow(c, items, rewards)
        assert was == cut and np.allclose(vector(c, items, rewards), found, atol=1e-15)


@pytest.mark.parametrize("skip", [0, 1])
def test_sums_as_the_formula_says(skip):
    """In floats and in whole cells of a grid, where halves of the rows add up to all of them, bit by bit."""
    rng, c, cell = np.random.default_rng(1), contribution(skip=skip), 2.0**-20
    lists = [rng.uniform(-1, 1, (rng.integers(1, K + 1), P)) for _ in range(150)]
    clicks = (rng.random((150, K)) < 0.3).astype(float)
    rows, codes = np.array([row(items) for items in lists]), np.array([packed(list(r), K) for r in clicks])
    codes[::7] = np.nan
    at = Listed(P, c.skip, c.longest, np.array(c.positions), c.bound, c.scale)
    given = at, np.arange(c.size)[None], NOWHERE
    each = [slow(c, *one)[0] for i, one in enumerate(zip(lists, clicks, strict=True)) if i % 7]
    out, whole, halves = np.zeros(c.size), np.zeros(c.size, np.int64), np.zeros(c.size, np.int64)
    each_lists(rows, codes, *given, out)
    assert np.allclose(out, np.sum(each, axis=0), rtol=1e-12, atol=1e-12)
    longest = c.norm * (1 + 1e-9)
    sum_lists(rows, codes, *given, cell, longest, whole)
    assert np.abs(whole - np.rint(np.array(each) / cell).sum(axis=0)).max() <= 1 and whole.any()
    for half in (slice(90, None), slice(None, 90)):
        sum_lists(rows[half], codes[half], *given, cell, longest, halves)
    assert np.array_equal(whole, halves)


@given(st.integers(1, 50), st.data())
@settings(max_examples=60, deadline=None)
def test_rewards_are_one_number_below_2_to_the_53(places, data):
    rewards = data.draw(st.lists(st.sampled_from([0, 1, True]) | st.floats(0, 1), max_size=places))
    code = packed(rewards, places)
    assert 0 <= code < 2**53 and code == int(code)
    found = [digit(code, j, places) for j in range(places)]
    step = 1 / (2 ** bits(places) - 1)
    assert np.abs(np.array(found[: len(rewards)]) - rewards).max(initial=0.0) <= step / 2 + 1e-12
    assert not any(found[len(rewards) :]) and all(found[j] == r for j, r in enumerate(rewards) if r in (0, 1))


@pytest.mark.parametrize(
    "wrong",
    [0.5, "11", {"a": 1.0}, [1.0] * 4, [2.0], [math.nan], [-0.1], ["1"], [None], [10**400], np.array(0.5)],
    ids=lambda wrong: str(wrong)[:10],
)
def test_other_rewards_are_refused_without_their_value(wrong):
    with pytest.raises(ValueError, match=r"^Expected") as caught:
        packed(wrong, 3)
    assert "0.5" not in str(caught.value) and "nan" not in str(caught.value)


@pytest.mark.parametrize("wrong", [(), (0.5,), (1.0, 0.0), (1.0, 1.1), (1.0, -0.5), (1, math.nan), "1", 3, [1.0] * 51])
def test_other_positions_are_refused(wrong):
    with pytest.raises(ValueError, match="Expected positions"):
        check_positions(wrong)


def test_the_best_come_first_and_of_equals_the_first():
    rng = np.random.default_rng(3)
    for size in (1, 5, 20):
        values, out = rng.integers(0, 6, 20).astype(float), np.empty(size, np.int64)
        best_first(values, out)
        assert out.tolist() == np.argsort(-values, kind="stable")[:size].tolist()
