"""Kernels of worlds: also under NUMBA_BOUNDSCHECK=1."""

import numpy as np

from reticent.kernels.block import BERNOULLI, Block
from reticent_lab.environments import worlds_kernel as worlds


def test_rated_films_are_those_of_the_person_each_once():
    rng, start = np.random.default_rng(0), np.array([0, 4, 9])
    people, films = np.array([[1.0, 0.0], [0.0, 1.0]]), np.arange(1.0, 10.0)[:, None]
    arrays = np.zeros((50, 4, 2)), np.zeros((50, 4)), np.zeros(50)
    outs = np.zeros(50, int), np.zeros(50), np.zeros(50)
    block = Block(*arrays, np.full(50, -1), np.array([BERNOULLI]), np.array([1.0]), *outs)
    worlds.fill_ratings(rng, block, people, films, start, np.arange(9), np.arange(9.0), np.arange(9))
    for arms, means in zip(block.arms, block.means, strict=True):
        user = int(arms[0, 1] > 0)
        assert np.array_equal(arms[:, user], means + 1) and not arms[:, 1 - user].any()
        assert len(set(means)) == 4 and set(means) <= set(range(start[user], start[user + 1]))
    assert 10 < (block.arms[:, 0, 0] > 0).sum() < 40  # both come


def test_rows_of_a_table_have_one_class():
    arrays = np.full((9, 6, 6), np.nan), np.full((9, 6), np.nan), np.full(9, np.nan)
    outs = np.zeros(9, np.int64), np.zeros(9), np.zeros(9)
    rows = Block(*arrays, np.full(9, -1), np.array([BERNOULLI]), np.array([1.0]), *outs)
    worlds.fill_rows(np.random.default_rng(11), rows, np.full((3, 1), 0.5), np.array([0, 2, 3]))
    assert (rows.means.sum(axis=1) == 1).all() and np.isfinite(rows.arms).all()
