"""The world with few features that matter."""

import numpy as np
import pytest

from reticent_lab.environments import sparse


def test_theta_has_as_many_entries_as_it_says_at_random_places():
    world = sparse(dim=30, nonzero=4, radius=0.8)
    thetas = np.array([world.start(np.random.default_rng(seed), 10).theta for seed in range(200)])
    assert ((thetas != 0).sum(axis=1) == 4).all() and np.allclose(np.linalg.norm(thetas, axis=1), 0.8)
    assert (thetas > 0).any(axis=0).all() and (thetas < 0).any(axis=0).all()
    block = world.block(50)
    world.start(np.random.default_rng(1), 50).fill(block)
    assert np.allclose(np.linalg.norm(block.arms, axis=2), 1.0)


@pytest.mark.parametrize("nonzero", [0, 6])
def test_settings_are_checked(nonzero):
    with pytest.raises(ValueError, match="Expected"):
        sparse(dim=5, nonzero=nonzero)
