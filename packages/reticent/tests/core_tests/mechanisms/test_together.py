"""One person in several weeks: the bound on the sum of encoder columns, against all placements and attempts."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_tests.reference import discounted, together
from reticent.mechanisms.discounted import Discounted, coefficients
from reticent.mechanisms.recursive_grid import on_integers
from reticent.mechanisms.together import sum_norm
from reticent.model.glm import glm_sensitivity

LEAVES = 12


def matrix(a):
    place = np.subtract.outer(np.arange(len(a)), np.arange(len(a)))
    return np.where(place >= 0, a[np.maximum(place, 0)], 0.0)


@pytest.mark.parametrize("discount", [0.5, 0.8, 0.95, 1.0])
@pytest.mark.parametrize(
    ("spacing", "weeks"), [(1, 1), (1, 3), (1, 12), (2, 4), (3, 2), (3, 4), (4, 3), (6, 2), (12, 1)]
)
def test_no_placement_exceeds_the_bound(discount, spacing, weeks):
    """By brute force: attained where a week is a leaf, and within a quarter of it elsewhere."""
    a = coefficients(LEAVES) * discount ** np.arange(LEAVES)
    C, bound = matrix(a), sum_norm(a, weeks, spacing)
    largest = together.largest_sum(C, weeks, spacing)
    assert largest <= bound * (1 + 1e-12) and bound <= weeks * np.linalg.norm(a) * (1 + 1e-12)
    if weeks == 1:
        assert bound == pytest.approx(np.linalg.norm(a), rel=1e-12)
    assert bound <= 1.3 * largest or (spacing == 1 and weeks == LEAVES)  # columns at the end are cut


def test_a_square_root_would_be_wrong():
    """Columns overlap: 8 successive leaves move more than sqrt 8 times one leaf, by a factor that no slack explains."""
    (_, C), window = discounted.matrices(60, 0.95)
    one, eight = np.linalg.norm(C[:, 0]), np.linalg.norm(C[:, :8].sum(axis=1))
    grid = on_integers(Discounted(leaves=60, size=1, sigma=0.0, discount=0.95), sensitivity=1.0, mu=1.0)
    assert eight > 1.6 * math.sqrt(8) * one and window <= 60
    assert eight <= grid.sum_norm_after(60, 8) * (1 + 1e-12) and grid.sum_norm_after(60, 8) <= 1.01 * eight


def contribution(rng, weight):
    """One that GLMContribution allows in two dimensions, as (svec of the curvature, moment), mostly an extreme one."""
    angle = rng.choice([0.0, math.pi / 2, rng.uniform(0, math.pi)])
    w, b = rng.choice([0.0, weight, rng.uniform(0, weight)]), rng.choice([-1.0, 1.0, rng.uniform(-1, 1)])
    x = np.array([math.cos(angle), math.sin(angle)])
    return np.array([w * x[0] ** 2, w * x[1] ** 2, math.sqrt(2) * w * x[0] * x[1], *(b * x)])


@given(
    seed=st.integers(0, 2**32),
    spacing=st.integers(1, 4),
    weeks=st.integers(1, 5),
    rounds=st.integers(1, 3),
    discount=st.floats(0.3, 1.0),
    weight=st.sampled_from([0.1, 0.5, 1.0, 1.3, 2.0, 4.0]),
    same=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_nobody_moves_more_whenever_answers_come(seed, spacing, weeks, rounds, discount, weight, same):
    """In each of `weeks` weeks, the same ones in both worlds or others, up to `rounds` contributions, at leaves that
    differ between the worlds; each is then improved by trying others in its place."""
    rng, leaves = np.random.default_rng(seed), 16
    a = coefficients(leaves) * discount ** np.arange(leaves)
    C, one = matrix(a), glm_sensitivity(weight)
    bound = rounds * one * sum_norm(a, weeks, spacing)
    groups = [range(start, min(start + spacing, leaves)) for start in range(0, leaves, spacing)]
    chosen, others = (rng.choice(len(groups), min(weeks, len(groups)), replace=False) for _ in range(2))
    parts = [
        (sign, groups[i], [int(rng.choice(groups[i])), contribution(rng, weight)])
        for sign, those in ((1, chosen), (-1, chosen if same else others))
        for i in those
        for _ in range(rounds)
    ]

    def norm():
        x = np.zeros((leaves, 5))
        for sign, _, (leaf, v) in parts:
            x[leaf] += sign * v
        return np.linalg.norm(C @ x)

    best = norm()
    for _ in range(60):
        _, group, one = parts[rng.integers(len(parts))]
        before = list(one)
        one[:] = int(rng.choice(group)), contribution(rng, weight)
        found = norm()
        if found >= best:
            best = found
        else:
            one[:] = before
    assert best <= bound * (1 + 1e-12)


def falling(rng, count):
    """Numbers that do not rise, of several shapes."""
    shapes = rng.uniform(0, 1, count), rng.choice([0.0, 1.0], count), rng.exponential(1, count) ** 3
    return np.sort(shapes[rng.integers(3)])[::-1]


def test_a_part_of_the_columns_leaves_room_for_the_others():
    """The lemma of mechanisms.together, over all pairs of sets of weeks; equality for one and for all of them."""
    rng, most, ratio = np.random.default_rng(0), 7, 0.0
    sets = [[i for i in range(most) if number >> i & 1] for number in range(1, 1 << most)]
    apart = np.abs(np.subtract.outer(np.arange(most), np.arange(most)))
    shapes = [falling(rng, most) + 1e-9 for _ in range(12)]
    square = [[float(f[apart][:n, :n].sum()) for n in range(most + 1)] for f in shapes]
    inner = np.array([f[apart] for f in shapes])
    for one in sets:
        rows = inner[:, one].sum(axis=1)
        for other in sets:
            if len(one) > len(other):
                continue
            n, p = len(other), len(one)
            found, room = rows[:, other].sum(axis=1), np.array([s[n] - s[n - p] for s in square])
            assert (found <= room * (1 + 1e-12)).all()
            ratio = max(ratio, float((found / room).max()))
    assert ratio == pytest.approx(1, rel=1e-12)


def pairs(weight):
    """Of GLMContribution, by who has the largest weight: |v| |v~| in one world, - 2 <v, v'> between worlds, at most."""
    q, c = weight * weight, np.linspace(0, 1, 4001)
    between = [[float(np.max(2 * c - 2 * q * heavy * other * c * c)) for other in (0, 1)] for heavy in (0, 1)]
    return np.array([[1.0, 1.0], [1.0, 1 + q]]), np.array(between)


@pytest.mark.parametrize("weight", [0.3, 0.7, 0.95, 1.2, math.sqrt(1 + math.sqrt(0.5)), 1.6, 3.0])
def test_other_weeks_cost_no_more_than_the_same(weight):
    """All sets of leaves in both worlds, all kinds of contributions, each pair of them at its own worst, which is more
    than vectors can do: D is attained by the same leaves, and never exceeded by others. What bounds any contribution,
    sqrt(2 M + H) = sqrt(4 + 2 q), would be 5 to 14 % more for q from .5 to 1.7."""
    within, between, bound = *pairs(weight), glm_sensitivity(weight)
    leaves, worst = 6, {True: 0.0, False: 0.0}
    for weeks in (1, 2, 3):
        sets = [list(s) for s in itertools.combinations(range(leaves), weeks)]
        kinds = [list(k) for k in itertools.product((0, 1), repeat=weeks)]
        for discount in (0.2, 0.6, 1.0):
            a = np.concatenate([coefficients(leaves), np.zeros(leaves)]) * discount ** np.arange(2 * leaves)
            columns = matrix(a)[:, :leaves]
            inner, most = columns.T @ columns, sum_norm(a, weeks, 1)
            own = {(*s, *k): (inner[np.ix_(s, s)] * within[np.ix_(k, k)]).sum() for s in sets for k in kinds}
            for s, t in itertools.combinations_with_replacement(sets, 2):
                cross = inner[np.ix_(s, t)]
                for j, k in itertools.product(kinds, kinds):
                    found = own[*s, *j] + own[*t, *k] + (cross * between[np.ix_(j, k)]).sum()
                    worst[s == t] = max(worst[s == t], math.sqrt(found) / (bound * most))
    assert worst[True] == pytest.approx(1, abs=1e-6) and worst[False] <= 1 + 1e-12 and worst[False] > 0.9
    q = weight * weight
    if 0.5 <= q <= 1.71:
        assert 1.05 < math.sqrt(4 + 2 * q) / bound < 1.15


@pytest.mark.parametrize("made", [Discounted(leaves=32, size=2, sigma=1.0, spacing=2, discount=f) for f in (0.9, 1.0)])
def test_every_mechanism_has_a_bound_and_the_grid_that_of_its_rounded_numbers(made):
    grid = on_integers(made, sensitivity=2.0, mu=1.0)
    for mechanism in (made, grid):
        one = mechanism.sum_norm_after(32, 1)
        assert one == mechanism.column_norm < mechanism.sum_norm_after(32, 3) <= 3 * one
        norms = [mechanism.column_norm_after(steps) for steps in range(1, 33)]
        assert norms == sorted(norms)
    assert grid.column_norm == pytest.approx(made.column_norm, rel=1e-4)
    assert grid.sum_norm_after(32, 3) == pytest.approx(made.sum_norm_after(32, 3), rel=1e-4)
