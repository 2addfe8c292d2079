"""Trees, the square root and its buffers on integers: the core's own tests, and what is a tree's alone."""

import numpy as np
import pytest

import core_tests.mechanisms.test_grid as core
from core_tests.mechanisms.test_grid import LEAVES, Given
from core_tests.mechanisms.test_together import (
    test_every_mechanism_has_a_bound_and_the_grid_that_of_its_rounded_numbers as bounded,
)
from reticent import Secure
from reticent.mechanisms.recursive_grid import on_integers
from reticent_lab.mechanisms.buffered import Buffered
from reticent_lab.mechanisms.toeplitz import Toeplitz
from reticent_lab.mechanisms.tree import Tree
from tests.whole import test_interrupted as interrupted

TREES = {
    "tree": lambda n=LEAVES, size=3: Tree(leaves=n, size=size, sigma=0.0),
    "consistent": lambda n=LEAVES, size=3: Tree(leaves=n, size=size, sigma=0.0, consistent=True),
}
OTHERS = {
    "toeplitz": lambda n=LEAVES, size=3: Toeplitz(leaves=n, size=size, sigma=0.0),
    "buffered": lambda n=LEAVES, size=3: Buffered(leaves=n, size=size, sigma=0.0),
}
CHECKS = [
    core.test_without_noise_it_is_the_sum_of_what_was_rounded,
    core.test_noise_and_column_norm_from_the_matrices_in_use,
    core.test_the_noise_has_the_law_that_is_claimed,
]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("name", OTHERS)
def test_it_is_one_on_the_grid(check, name, monkeypatch):
    monkeypatch.setitem(core.MECHANISMS, name, OTHERS[name])
    check(name)


@pytest.mark.parametrize("check", CHECKS[::2])
@pytest.mark.parametrize("name", TREES)
def test_so_is_a_tree(check, name, monkeypatch):
    monkeypatch.setitem(core.MECHANISMS, name, TREES[name])
    check(name)


@pytest.mark.parametrize("name", TREES)
def test_a_trees_noise_is_in_whole_cells_and_as_large_as_is_claimed(name):
    grid = on_integers(TREES[name](), sensitivity=2.0, mu=1.0)
    B = core.decoder(grid)
    assert np.allclose(np.sqrt((B**2).sum(axis=1)), grid.gain(np.arange(1.0, LEAVES + 1)))
    if name == "consistent":
        return  # B is no square matrix there; its columns are those of the tree
    C = np.linalg.solve(B, np.tril(np.ones((LEAVES, LEAVES))))
    assert np.linalg.norm(C, axis=0).max() <= grid.column_norm * (1 + 1e-9)
    assert C.min() > -1e-9  # late contributions need that
    out = core.run(grid, np.zeros((LEAVES, 1, 3)), Secure())
    assert grid.step == grid.cell and (np.rint(out / grid.step) == out / grid.step).all()


def test_nodes_as_large_as_can_be_are_exact():
    rng, grid = np.random.default_rng(3), on_integers(TREES["tree"](), sensitivity=2.0, mu=1.0)
    state, noise = grid.init(Given()), rng.integers(-(2**45), 2**45, (LEAVES, 3))
    rows, sums = iter(noise), rng.integers(-(2**61) // LEAVES, 2**61 // LEAVES, (LEAVES, 3))
    source = Given(lambda count, size: next(rows)[None])
    for t in range(LEAVES):
        state.open[:] = sums[t]
        grid.release(state, source)
        length = (t + 1) & -(t + 1)
        node = (sums[t + 1 - length : t + 1].sum(axis=0) + noise[t]).astype(float)
        assert np.allclose(state.noise.levels[length.bit_length() - 1] / grid.step, node, rtol=1e-15, atol=0)


def test_a_tree_has_any_number_of_leaves():
    state = on_integers(Tree(leaves=10**12, size=2, sigma=0.0), sensitivity=2.0, mu=1.0).init(Given())
    assert state.closed.shape == (40, 2)


@pytest.mark.parametrize("kind", [Toeplitz, Tree])
def test_several_weeks_have_a_bound(kind):
    bounded(kind(leaves=32, size=2, sigma=1.0, spacing=2))


@pytest.mark.parametrize("consistent", [False, True])
def test_a_step_closes_once(consistent, monkeypatch):
    made = on_integers(Tree(**interrupted.SHAPE, consistent=consistent), sensitivity=2.0, mu=1.0)
    monkeypatch.setitem(interrupted.MADE, "tree", lambda: made)
    interrupted.test_a_step_closes_once("tree")
