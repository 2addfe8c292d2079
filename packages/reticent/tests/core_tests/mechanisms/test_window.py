"""Discounted sums for ever: a window of leaves is all that is kept, and the bound is that of the infinite matrix."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_tests.mechanisms.test_grid import Given, run
from core_tests.reference import discounted as reference
from reticent import Simulated
from reticent.mechanisms import leaves as one_by_one
from reticent.mechanisms.discounted import Discounted
from reticent.mechanisms.grid import on_grid
from reticent.testing.canary import worst_canary

EVER = 10**12


def grid_for(discount, leaves=EVER, size=2, mu=1.0):
    return on_grid(Discounted(leaves=leaves, size=size, sigma=0.0, discount=discount), sensitivity=2.0, mu=mu)


@pytest.mark.parametrize("discount", [0.3, 0.6, 0.9])
def test_against_the_matrices_written_out(discount):
    """Four windows of leaves with data and noise: what is released, the column norm, the noise of each release."""
    grid, rng = grid_for(discount), np.random.default_rng(0)
    (B, C), window = reference.matrices(4 * grid.window, discount)
    count = len(B)
    assert grid.window == window < count
    x, z = rng.uniform(-0.7, 0.7, (count, 2)), rng.integers(-(10**6), 10**6, (count, 2))
    rows = iter(z)
    released = run(grid, x[:, None], Given(lambda draws, size: next(rows)[None]))
    assert np.allclose(released, B @ (C @ (np.rint(x / grid.cell) * grid.cell) + z * grid.step), rtol=0, atol=1e-10)
    norms = np.linalg.norm(C, axis=0)
    assert norms.max() <= grid.column_norm * (1 + 1e-12) and norms[0] == pytest.approx(grid.column_norm, rel=1e-12)
    assert C.min() == 0  # non-negative: late contributions need that
    assert np.allclose(grid.gain(np.arange(1.0, count + 1)), np.linalg.norm(B, axis=1), rtol=1e-12)
    weights = (B @ C)[:, 0]  # of the first leaf, release by release
    assert np.allclose(weights[:window], discount ** np.arange(window), atol=1e-12)
    assert np.abs(weights[window:]).max() <= discount**window and not weights[2 * window :].any()


def test_nothing_grows_with_the_number_of_leaves():
    short, ever = grid_for(0.9, 1000), grid_for(0.9)
    assert short.column_norm == ever.column_norm and short.sigma == ever.sigma and ever.window == ever.real.window < 100
    assert ever.column_norm < 1 / math.sqrt(1 - 0.9**2)
    state = ever.init(Given())
    assert state.closed.shape == state.noise.table.shape == (ever.window, 2)
    kept, rng = [], np.random.default_rng(1)
    for t in range(3 * ever.window):
        state.open[:] = 1 if t == 0 else 0
        ever.release(state, Given(lambda draws, size: rng.integers(-5, 5, (draws, size))))
        kept.append(int(state.closed.sum()))
    assert kept == [2 * (t < ever.window) for t in range(3 * ever.window)]  # the first leaf's sum is dropped in time
    state.noise.step[0] = 10**11
    assert np.isfinite(ever.release(state, Given())).all()


class Counted(Given):
    """Remembers how much noise it was asked for, and how often."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def integers(self, count, size, cells):
        self.asked.append((count, size, cells))
        return super().integers(count, size, cells)


def test_every_step_has_the_noise_of_the_first():
    """Asked for once a step, for all numbers, with the claimed deviation: in the first window and far beyond it."""
    grid, source = grid_for(0.9), Counted()
    state = grid.init(source)
    for _ in range(3 * grid.window):
        grid.release(state, source)
    state.noise.step[0] = 10**11
    grid.release(state, source)
    assert source.asked == [(1, 2, grid.sigma / grid.step)] * (3 * grid.window + 1)


def test_without_a_discount_all_leaves_are_kept():
    assert Discounted(leaves=5000, size=1, sigma=1.0, discount=1.0).window == 5000
    assert Discounted(leaves=30, size=1, sigma=1.0, discount=0.9).window == 30


@given(
    discount=st.floats(0.05, 0.97),
    places=st.tuples(st.integers(0, 80), st.integers(0, 80)),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=60, deadline=None)
def test_a_contribution_at_any_time_moves_no_more_than_is_claimed(discount, places, seed):
    """v in one leaf, or v' in another, among 200 leaves of an endless run: |C x - C x'| <= (column norm) D, with
    D^2 = |v|^2 + |v'|^2 or more; equal where v' = -v comes in the same leaf."""
    v, w = (u / np.linalg.norm(u) for u in np.random.default_rng(seed).standard_normal((2, 3)))
    grid, moved = grid_for(discount, size=3), np.zeros((200, 3))
    for place, vector in zip(places, (v, -w), strict=True):
        length = min(grid.window, 200 - place)
        moved[place : place + length] += np.outer(np.ldexp(grid.encoder_cells[:length].astype(float), -16), vector)
    bound = max(np.linalg.norm(v - w), math.sqrt(2))
    assert np.linalg.norm(moved) <= grid.column_norm * bound * (1 + 1e-12)


def leaf_by_leaf(grid, count, gone):
    """One party measures, the other shows: the same releases as at one place. gone(t): whose sum nobody needs then."""
    rng = np.random.default_rng(2)
    sums, noise = rng.integers(-(10**6), 10**6, (count, 2)), rng.integers(-(10**9), 10**9, (count, 2))
    whole, releasing, serving = grid.init(Given()), grid.init(Given()), one_by_one.Prefixes(grid)
    for t, (x, z) in enumerate(zip(sums, noise, strict=True)):
        source = Given(lambda draws, size, z=z: z[None])
        whole.open[:] = x
        expected = grid.release(whole, source).copy()
        for _ in range(2):  # a leaf that was not committed is measured anew
            noisy = grid.measure(releasing, x, source)
        grid.close(releasing, t, x)
        left = one_by_one.left(grid, t)
        assert left == gone(t)
        if left is not None and t + 1 < count:
            releasing.closed[left % grid.window] = 10**9  # nobody looks at it any more
        assert np.array_equal(serving.following(noisy), expected)


def test_leaf_by_leaf_as_a_store_does_it_beyond_the_window_too():
    grid = grid_for(0.5)
    leaf_by_leaf(grid, 3 * grid.window, lambda t: t + 1 - grid.window if t + 1 >= grid.window else None)


def test_what_is_seen_of_any_user_in_floats_is_what_is_claimed():
    """The best linear test of every leaf: mu = column norm / sigma, and no more, but for B's cut in floats."""
    mechanism = Discounted(leaves=70, size=1, sigma=1.0, discount=0.5)
    assert mechanism.window < 20
    seen = [worst_canary(mechanism, leaf=leaf).mu for leaf in range(0, 70, 3)]
    assert max(seen) == pytest.approx(mechanism.column_norm, rel=1e-6)
    assert min(seen[:15]) > 0.999 * mechanism.column_norm


def test_the_noise_of_a_release_in_the_steady_state():
    """20 000 coordinates after three windows: the std that `gain` says within 2.5 % (5 standard errors)."""
    mechanism = Discounted(leaves=EVER, size=20_000, sigma=2.0, discount=0.6)
    source = Simulated(3)
    state = mechanism.init(source)
    for _ in range(3 * mechanism.window):
        released = mechanism.release(state, source)
    expected = 2.0 * mechanism.gain(np.array([1e9]))[0]
    assert released.std() == pytest.approx(expected, rel=0.025)
    assert expected == 2.0 * mechanism.gain(np.array([float(mechanism.window)]))[0]
    assert dataclasses.replace(mechanism, leaves=10).gain(np.array([10.0]))[0] < expected
