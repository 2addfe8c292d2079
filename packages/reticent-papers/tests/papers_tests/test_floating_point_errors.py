"""In a program that raises floating-point errors, no person's features fail in another person's choice."""

import numpy as np
import pytest

from reticent import Budget
from reticent_papers import AdaCOFUL, Fliphat, JointGLMUCB, JointReweighted, JointSquareCB, ShariffLinUCB


@pytest.mark.parametrize("size", [0.5, 1e-160, 5e-324, 0.0])
@pytest.mark.parametrize("kind", [Fliphat, JointReweighted, JointSquareCB])
def test_an_epoch_of_tiny_arms_is_released(kind, size):
    bandit = kind(dim=3, horizon=400, budget=Budget(4.0, 1e-3), first=20)
    with np.errstate(all="raise"):
        for t in range(20):
            bandit.observe(bandit.choose(size * np.eye(3)), float(t % 2))
        assert bandit.choose(0.5 * np.eye(3)).index in (0, 1, 2) and bandit.closed == 1


@pytest.mark.parametrize("kind", [AdaCOFUL, JointGLMUCB, ShariffLinUCB])
def test_tiny_arms_are_learnt(kind):
    bandit = kind(dim=3, horizon=400, budget=Budget(4.0, 1e-3))
    with np.errstate(all="raise"):
        for size in (0.5, 1e-150, 1e-160, 5e-324, 0.5):
            assert bandit.observe(bandit.choose(size * np.eye(3)), 1.0)
