"""Discounted sums from ten buffers: the matrices in use, the rounding's bound, a store's leaves."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_tests.made import joint
from core_tests.mechanisms.test_grid import Given, run
from core_tests.mechanisms.test_window import leaf_by_leaf
from reticent import Bandit, Budget, Simulated
from reticent.errors import BadState
from reticent.kernels.recursive import DECAY_BITS
from reticent.mechanisms.discounted import Discounted
from reticent.mechanisms.opening import opened
from reticent.mechanisms.recursive import Recursive, discounted
from reticent.mechanisms.recursive_grid import RecursiveGrid, on_integers
from reticent.testing.canary import released, responses, worst_canary

LEAVES = 60


def mechanism(discount=0.95, leaves=LEAVES, size=2, **columns):
    return Recursive(leaves=leaves, size=size, sigma=0.0, discount=discount, **columns)


def grid_for(discount=0.95, leaves=LEAVES, size=2, **columns):
    return on_integers(mechanism(discount, leaves, size, **columns), sensitivity=2.0, mu=1.0)


def recursion(grid, x):
    """C x with the coefficients of the grid in exact arithmetic of Python, (leaves, size), in cells."""
    weights, first, decay = ([int(one) for one in np.atleast_1d(part)] for part in grid.coefficients)
    sums, out = [0] * len(decay), []
    for row in x:
        sums = [s * r / 2**DECAY_BITS + row for s, r in zip(sums, decay, strict=True)]
        out.append((sum(v * s for v, s in zip(weights, sums, strict=True)) + first[0] * row) / 2**16)
    return np.array(out)


@pytest.mark.parametrize(("discount", "leaves"), [(0.995, 729), (0.99, 300), (0.5, 50), (0.999, 5000)])
def test_the_noise_is_that_of_the_square_root(discount, leaves):
    buffered, root = mechanism(discount, leaves), Discounted(leaves=leaves, size=2, sigma=0.0, discount=discount)
    last = np.array([float(leaves)])
    ratio = buffered.column_norm * buffered.gain(last) / (root.column_norm * root.gain(last))
    assert 1 - 1e-9 < ratio[0] < 1.0005
    assert 0.99 < buffered.column_norm / root.column_norm < 1.02  # sigma grows by that, and the decoder's gain falls
    grid = grid_for(discount, leaves)
    assert grid.column_norm == pytest.approx(buffered.column_norm, rel=3e-4)  # rounded weights
    assert grid.sigma < 1.0005 * buffered.column_norm * 2.0


def test_in_floats_it_releases_faded_sums_with_the_noise_it_says():
    made = dataclasses.replace(mechanism(), sigma=1.0)
    noise, data = responses(made)
    faded = np.tril(0.95 ** np.subtract.outer(np.arange(LEAVES), np.arange(LEAVES)))
    assert np.allclose(data, faded, atol=1e-12)
    assert np.allclose(np.linalg.norm(noise, axis=1), made.gain(np.arange(1.0, LEAVES + 1)))
    encoder = np.linalg.solve(noise, faded)
    assert encoder.min() > -1e-9 and (np.diff(encoder[:, 0]) < 1e-9).all()
    assert np.linalg.norm(encoder, axis=0).max() == pytest.approx(made.column_norm, rel=1e-6)
    assert worst_canary(made).mu == pytest.approx(made.column_norm, rel=1e-6)
    assert np.isfinite(released(made, Simulated(0), np.zeros((LEAVES, 2)))).all()


@pytest.mark.parametrize("discount", [0.5, 0.95, 0.995])
def test_on_integers_it_is_the_matrix_up_to_its_roundings(discount):
    """Y without noise is C X less what the floors take, at most e; B undoes it."""
    grid, rng = grid_for(discount), np.random.default_rng(0)
    x = rng.integers(-(10**7), 10**7, (LEAVES, 2))
    state, expected = grid.init(Given()), recursion(grid, x)
    error = math.ldexp(grid._error, -grid.fraction)
    total, largest = np.zeros(2), 0.0
    for t in range(LEAVES):
        noisy = grid.measure(state, x[t], Given()) / grid.cell
        grid.close(state, t, x[t])
        lost = expected[t] - noisy
        largest = max(largest, lost.max() / error)
        assert (lost > -1e-6).all() and (lost < error * (1 + 1e-6)).all()
    assert largest > 0.2  # the bound is not idle
    state = grid.init(Given())
    for t in range(LEAVES):
        state.open[:] = x[t]
        total = grid.fading * total + x[t] * grid.cell
        assert np.allclose(grid.release(state, Given()), total, atol=grid.cell * 3 * error)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.3, 0.9, 0.98]))
@settings(max_examples=60, deadline=None)
def test_two_runs_differ_by_no_more_than_is_claimed(seed, discount):
    """A user in one leaf or in another, the worst ones too, among others' sums: the shift of all leaves."""
    rng, grid = np.random.default_rng(seed), grid_for(discount, leaves=30)
    x, v = rng.integers(-(10**6), 10**6, (30, 2)), rng.standard_normal(2)
    v /= np.linalg.norm(v)
    w = -v if rng.random() < 0.5 else np.roll(v, 1)
    places = rng.integers(0, 30, 2) if rng.random() < 0.5 else [0, 0]
    runs = []
    for place, one in zip(places, (v, w), strict=True):
        state, mine, out = grid.init(Given()), x.copy(), []
        mine[place] += grid.encode(one)
        for t in range(30):
            out.append(grid.measure(state, mine[t], Given()))
            grid.close(state, t, mine[t])
        runs.append(np.array(out))
    moved = np.linalg.norm(runs[0] - runs[1])
    assert moved <= grid.column_norm * grid.sensitivity(2.0)
    if np.array_equal(places, [0, 0]) and w is not v and np.allclose(w, -v):
        assert moved > 0.999 * grid.column_norm * 2.0


def test_noise_column_norm_and_decoder_from_the_matrices_in_use():
    """Each unit of noise by itself gives B, and B C = P gives C: its column norm is the one that is claimed."""
    grid, columns = grid_for(), []
    for which in range(LEAVES):
        step = iter(range(LEAVES))
        unit = Given(lambda count, size, step=step, which=which: np.full((1, size), int(next(step) == which)))
        columns.append(run(grid, np.zeros((LEAVES, 1, 2)), unit)[:, 0] / grid.step)
    B = np.array(columns).T
    assert np.allclose(np.linalg.norm(B, axis=1), grid.gain(np.arange(1.0, LEAVES + 1)), rtol=1e-4)
    prefix = np.tril(grid.fading ** np.subtract.outer(np.arange(LEAVES), np.arange(LEAVES)))
    C = np.linalg.solve(B, prefix)
    assert C.min() > -1e-9 and np.linalg.norm(C[:, 0]) == pytest.approx(grid.column_norm, rel=1e-9)
    assert np.allclose(C[:, 0], grid._series.terms(LEAVES), atol=1e-9)
    several = grid_for(spacing=5).sum_norm_after(LEAVES, 3)
    assert several >= np.linalg.norm(C[:, [0, 6, 12]].sum(axis=1)) > 0.8 * several


def test_sums_of_many_bits_have_room():
    """As many choices as there may be, all of them the longest: nothing overflows, and the releases are right."""
    grid = grid_for(0.995, leaves=729)
    x = np.full(2, grid.capacity // 3 * (grid._most - 1))
    state, total = grid.init(Given()), 0.0
    for sign in (1, -1, 1, 1, 1):
        state.open[:] = sign * x
        total = grid.fading * total + sign * float(x[0]) * grid.cell
        assert np.allclose(grid.release(state, Given()), total, rtol=1e-9)
    assert grid.capacity > 10**9


def test_leaf_by_leaf_as_a_store_does_it():
    grid = grid_for()
    leaf_by_leaf(grid, LEAVES, lambda t: 0 if t == LEAVES - 1 else None)
    with pytest.raises(BadState, match="one step after the other"):
        grid.close(grid.init(Given()), 3, np.ones(2, int))


def test_long_vectors_have_buffers_and_short_ones_the_square_root(tmp_path):
    assert isinstance(discounted(leaves=700, size=500, discount=0.995), Discounted)
    assert isinstance(discounted(leaves=700, size=1000, discount=0.995), Recursive)
    assert isinstance(discounted(leaves=10**6, size=4000, discount=0.995), Discounted)
    assert isinstance(discounted(leaves=700, size=4000, discount=1.0), Discounted)
    assert isinstance(discounted(leaves=700, size=4000, discount=0.95), Discounted)  # leaves leave its window
    with pytest.raises(ValueError, match="discount"):
        mechanism(1.0)
    bandit = joint(features=45, budget=Budget(1.0, 1e-6), first=2, pending=10)
    assert isinstance(bandit.plan.mechanism, RecursiveGrid)
    sums = opened(bandit.sums.state.prefix)
    assert sums.closed.shape == sums.noise.levels.shape == (10, 45 * 46 // 2 + 45)
    for _ in range(5):
        bandit.observe(bandit.choose(np.eye(45)[:2]), 1.0)
    assert bandit.sums.steps == 2 and 0 < bandit.privacy.spent <= 1 + 1e-9 and bandit.privacy.private
    bandit.save(tmp_path / "b.json")
    again = Bandit.load(tmp_path / "b.json")
    assert np.array_equal(again.theta, bandit.theta) and again.sums.steps == 2
