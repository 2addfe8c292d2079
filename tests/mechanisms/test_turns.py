"""One person in turns that are so many leaves apart: the bound, against all placements in both worlds, and attempts to
exceed it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.mechanisms.discounted import Discounted
from tacit.mechanisms.grid import on_grid
from tacit.mechanisms.toeplitz import Toeplitz, coefficients
from tacit.mechanisms.turns import Separated, turns_norm
from tacit.model.glm import glm_sensitivity
from tacit.privacy.noise import Simulated
from tests.mechanisms.test_together import contribution, matrix
from tests.reference import together

LEAVES = 9


def series(bands, discount, leaves=LEAVES):
    a = coefficients(leaves) * discount ** np.arange(leaves)
    a[bands:] = 0.0
    return a


@pytest.mark.parametrize("discount", [0.5, 0.95, 1.0])
@pytest.mark.parametrize("bands", [1, 2, 3, LEAVES])
@pytest.mark.parametrize(("apart", "turns"), [(1, 1), (1, 3), (2, 2), (2, 3), (3, 3), (4, 2)])
def test_no_placement_in_two_worlds_exceeds_the_bound(discount, bands, apart, turns):
    """Attained where columns of one world do not overlap, and are not cut at the end."""
    a = series(bands, discount)
    bound, largest = turns_norm(a, turns, apart), together.largest_difference(matrix(a), turns, apart)
    assert largest <= bound * (1 + 1e-12)
    if bands <= apart:
        assert bound == pytest.approx(math.sqrt(turns) * np.linalg.norm(a), rel=1e-12)
        assert (turns - 1) * apart + bands > LEAVES or largest == pytest.approx(bound, rel=1e-12)
    assert bound <= 1.4 * largest


@given(
    seed=st.integers(0, 2**32),
    apart=st.integers(1, 5),
    turns=st.integers(1, 5),
    rounds=st.integers(1, 3),
    bands=st.integers(1, 16),
    discount=st.floats(0.3, 1.0),
    weight=st.sampled_from([0.1, 0.5, 1.0, 1.3, 2.0, 4.0]),
)
@settings(max_examples=200, deadline=None)
def test_nobody_moves_more_whatever_turns_the_worlds_have(seed, apart, turns, rounds, bands, discount, weight):
    """In either world `rounds` rows of up to `turns` turns, at leaves of their own; each contribution, and each row's
    leaves, are then improved by trying others."""
    rng, leaves = np.random.default_rng(seed), 16
    a = series(bands, discount, leaves)
    C, bound = matrix(a), rounds * glm_sensitivity(weight) * turns_norm(a, turns, apart)

    def row():
        leaf, out = int(rng.integers(0, apart + 1)), []
        while leaf < leaves and len(out) < turns:
            out.append(leaf)
            leaf += apart + int(rng.choice([0, 0, 0, 1, 2]))
        return out, [contribution(rng, weight) for _ in range(turns)]

    rows = [(sign, *row()) for sign in (1, -1) for _ in range(rounds)]

    def norm():
        x = np.zeros((leaves, 5))
        for sign, placed, vectors in rows:
            for leaf, v in zip(placed, vectors, strict=False):
                x[leaf] += sign * v
        return np.linalg.norm(C @ x)

    best = norm()
    for _ in range(60):
        i = int(rng.integers(len(rows)))
        before, (sign, placed, vectors) = rows[i], rows[i]
        if rng.random() < 0.3:
            rows[i] = (sign, row()[0], vectors)
        else:
            one = int(rng.integers(turns))
            rows[i] = (sign, placed, [contribution(rng, weight) if j == one else v for j, v in enumerate(vectors)])
        found = norm()
        if found >= best:
            best = found
        else:
            rows[i] = before
    assert best <= bound * (1 + 1e-12)


@pytest.mark.parametrize("discount", [0.9, 1.0])
@pytest.mark.parametrize("real", [True, False])
def test_it_releases_the_discounted_sums_with_the_noise_it_says(discount, real):
    made = Separated(leaves=40, size=1, sigma=2.0, apart=4, discount=discount, turns=5)
    one = Discounted(leaves=40, size=1, sigma=2.0, discount=discount) if discount < 1 else None
    mechanism = made if real else on_grid(made, sensitivity=1.0, mu=1.0)
    C, B = matrix(made.encoder()), matrix(made._design[1])
    expected = discount ** np.maximum(np.subtract.outer(np.arange(40), np.arange(40)), 0)
    assert np.allclose(B @ C, np.tril(expected), atol=1e-9)
    assert mechanism.gain(np.array([40.0]))[0] == pytest.approx(np.linalg.norm(B[-1]), rel=1e-3)
    norm = turns_norm(made.encoder(), 5, 4)
    assert mechanism.column_norm == pytest.approx(norm, rel=1e-4)
    assert np.diff([mechanism.column_norm_after(t) for t in range(1, 41)]).min() > -1e-12  # but for rounding
    if one is not None:  # better than the noise that is made for one week
        assert norm * np.linalg.norm(B[-1]) < one.sum_norm_after(40, 5) * one.gain(np.array([40.0]))[0]


def test_a_grid_takes_the_norm_of_its_rounded_numbers():
    made = Separated(leaves=60, size=2, sigma=0.0, apart=3, discount=0.95, turns=4)
    grid = on_grid(made, sensitivity=1.0, mu=1.0)
    rounded = np.ldexp(grid.encoder_cells.astype(float), -16)
    assert grid.column_norm == turns_norm(rounded, 4, 3)


def test_the_separation_is_worth_what_was_computed_and_more_turns_cost_a_root():
    """Weeks of 14 000 choices, forget=60_000: five steps of discount e^-0.05."""
    one = Separated(leaves=400, size=1, sigma=1.0, apart=5, discount=math.exp(-0.05), turns=1)

    def noise(turns, apart=5):
        made = Separated(leaves=400, size=1, sigma=1.0, apart=apart, discount=math.exp(-0.05), turns=turns)
        return made.column_norm * made.gain(np.array([400.0]))[0]

    unit = noise(1)
    assert one.encoder()[1] == pytest.approx(0.5 * math.exp(-0.05))  # the square root, in full
    assert [round(noise(turns) / unit, 2) for turns in (4, 10, 52)] == [2.35, 3.71, 8.46]
    assert noise(52, 1) / unit < 14.2


def test_turns_beyond_the_leaves_cost_nothing():
    few, many = (
        Separated(leaves=9, size=1, sigma=1.0, apart=4, discount=0.9, turns=turns).column_norm for turns in (3, 99)
    )
    assert few == many  # leaves 0, 4 and 8
    assert turns_norm(np.array([1.0, 1.0, 0.5]), 2, 2) == pytest.approx(math.sqrt(6))  # one leaf between two turns


def test_misuse():
    with pytest.raises(ValueError, match="Expected discount"):
        Separated(leaves=4, size=1, sigma=1.0, discount=1.1, turns=2)
    with pytest.raises(ValueError, match="Expected turns"):
        Separated(leaves=4, size=1, sigma=1.0, discount=0.9, turns=0)
    for wrong in ([1.0, 0.5, 0.6], [1.0, -0.1]):
        with pytest.raises(ValueError, match="do not rise"):
            turns_norm(np.array(wrong), 2, 1)
    taken = Separated.of(Toeplitz(leaves=8, size=3, sigma=0.0, apart=2), 3)
    assert (taken.leaves, taken.size, taken.apart, taken.discount, taken.turns) == (8, 3, 2, 1.0, 3)
    assert taken.init(Simulated(0)).noise.table.shape == (8, 3)
