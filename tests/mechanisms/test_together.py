"""One person in several weeks: the bound on the sum of encoder columns, against all placements, and attempts to exceed
it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.mechanisms.alone import Alone
from tacit.mechanisms.discounted import Discounted
from tacit.mechanisms.grid import on_grid
from tacit.mechanisms.toeplitz import Toeplitz, coefficients
from tacit.mechanisms.together import sum_norm
from tacit.mechanisms.tree import Tree
from tacit.model.glm import glm_sensitivity
from tests.reference import discounted, together

LEAVES = 12


def matrix(a):
    place = np.subtract.outer(np.arange(len(a)), np.arange(len(a)))
    return np.where(place >= 0, a[np.maximum(place, 0)], 0.0)


@pytest.mark.parametrize("discount", [0.5, 0.8, 0.95, 1.0])
@pytest.mark.parametrize(("apart", "weeks"), [(1, 1), (1, 3), (1, 12), (2, 4), (3, 2), (3, 4), (4, 3), (6, 2), (12, 1)])
def test_no_placement_exceeds_the_bound(discount, apart, weeks):
    """By brute force: attained where a week is a leaf, and within a quarter of it elsewhere."""
    a = coefficients(LEAVES) * discount ** np.arange(LEAVES)
    C, bound = matrix(a), sum_norm(a, weeks, apart)
    largest = together.largest_sum(C, weeks, apart)
    assert largest <= bound * (1 + 1e-12) and bound <= weeks * np.linalg.norm(a) * (1 + 1e-12)
    if weeks == 1:
        assert bound == pytest.approx(np.linalg.norm(a), rel=1e-12)
    assert bound <= 1.3 * largest or (apart == 1 and weeks == LEAVES)  # columns at the end are cut


def test_a_square_root_would_be_wrong():
    """Columns overlap: 8 successive leaves move more than sqrt 8 times one leaf, by a factor that no slack explains."""
    (_, C), window = discounted.matrices(60, 0.95)
    one, eight = np.linalg.norm(C[:, 0]), np.linalg.norm(C[:, :8].sum(axis=1))
    grid = on_grid(Discounted(leaves=60, size=1, sigma=0.0, discount=0.95), sensitivity=1.0, mu=1.0)
    assert eight > 1.6 * math.sqrt(8) * one and window <= 60
    assert eight <= grid.sum_norm_after(60, 8) * (1 + 1e-12)
    assert grid.sum_norm_after(60, 8) <= 1.01 * eight


def contribution(rng, weight):
    """One that GLMContribution allows in two dimensions, as (svec of the curvature, moment), mostly an extreme one."""
    angle = rng.choice([0.0, math.pi / 2, rng.uniform(0, math.pi)])
    w, b = rng.choice([0.0, weight, rng.uniform(0, weight)]), rng.choice([-1.0, 1.0, rng.uniform(-1, 1)])
    x = np.array([math.cos(angle), math.sin(angle)])
    return np.array([w * x[0] ** 2, w * x[1] ** 2, math.sqrt(2) * w * x[0] * x[1], *(b * x)])


@given(
    seed=st.integers(0, 2**32),
    apart=st.integers(1, 4),
    weeks=st.integers(1, 5),
    rounds=st.integers(1, 3),
    discount=st.floats(0.3, 1.0),
    weight=st.sampled_from([0.1, 0.5, 1.0, 1.3, 2.0, 4.0]),
)
@settings(max_examples=200, deadline=None)
def test_nobody_moves_more_whenever_answers_come(seed, apart, weeks, rounds, discount, weight):
    """In each of `weeks` weeks, the same ones in both worlds, up to `rounds` contributions, at leaves that differ
    between the worlds; each is then improved by trying others in its place."""
    rng, leaves = np.random.default_rng(seed), 16
    a = coefficients(leaves) * discount ** np.arange(leaves)
    C, one = matrix(a), glm_sensitivity(weight)
    bound = rounds * one * sum_norm(a, weeks, apart)
    groups = [range(start, min(start + apart, leaves)) for start in range(0, leaves, apart)]
    chosen = rng.choice(len(groups), min(weeks, len(groups)), replace=False)
    parts = [
        (sign, groups[i], [int(rng.choice(groups[i])), contribution(rng, weight)])
        for sign in (1, -1)
        for i in chosen
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


def test_every_mechanism_has_a_bound_and_the_grid_that_of_its_rounded_numbers():
    for made in (
        Toeplitz(leaves=32, size=2, sigma=1.0, apart=2),
        Tree(leaves=32, size=2, sigma=1.0, apart=2),
        Discounted(leaves=32, size=2, sigma=1.0, apart=2, discount=0.9),
        Alone(leaves=32, size=2, sigma=1.0, apart=2),
    ):
        grid = on_grid(made, sensitivity=2.0, mu=1.0)
        for mechanism in (made, grid):
            one = mechanism.sum_norm_after(32, 1)
            assert one == mechanism.column_norm < mechanism.sum_norm_after(32, 3) <= 3 * one
            norms = [mechanism.column_norm_after(steps) for steps in range(1, 33)]
            assert norms == sorted(norms)
        assert grid.column_norm == pytest.approx(made.column_norm, rel=1e-4)
        assert grid.sum_norm_after(32, 3) == pytest.approx(made.sum_norm_after(32, 3), rel=1e-4)
