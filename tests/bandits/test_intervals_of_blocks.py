"""Intervals where each user is in one block: they hold the means, and say something."""

import math

import numpy as np
import pytest

from tacit import Budget, JointGLM, Spec, environments

BUDGET = Budget(1.0, 1e-6)


@pytest.mark.full
@pytest.mark.parametrize(
    "world",
    [
        environments.disjoint(dim=54, arms=6, radius=3.0, link="logistic", apart=True),
    ],
    ids=lambda world: world.name,
)
def test_intervals_of_blocks_cover(world):
    """90 % intervals hold the means of the arms of the last round, best and others, in at least 90 % of runs each,
    within three standard errors; and they say something: on average they are shorter than two thirds of all."""
    runs, rounds, held, wide = 60, 5000, [], []
    for seed in range(runs):
        spec = Spec(JointGLM, budget=BUDGET, curvature="released")
        bandit = spec.build(world, rounds, np.random.SeedSequence([seed, 1]))
        started, block = world.start(np.random.default_rng([seed, 2]), rounds), world.block(500)
        for _ in range(rounds // 500):
            started.fill(block)
            bandit.play(block)
        low, high = np.array(bandit.interval(block.arms[-1])).T
        order = block.means[-1].argsort()
        held.append(((low <= block.means[-1]) & (block.means[-1] <= high))[order])
        wide.append((high - low).mean())
    assert np.mean(held, axis=0).min() >= 0.9 - 3 * math.sqrt(0.09 / runs)
    assert np.mean(wide) < 2 / 3
