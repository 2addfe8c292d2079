"""A new bandit is one file: it defines what it chooses and learns, and is simulated without a kernel of its own."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest
from numpy.random import Generator, SeedSequence, default_rng

from core_tests.bandits.test_fused import compare
from reticent import Budget, JointGLM, LinUCB, Spec, Uniform, environments, simulate
from reticent.core.live import Live
from reticent.mechanisms.saving import arrays
from reticent.privacy.certificate import plain_certificate


class Sums(NamedTuple):
    counts: np.ndarray  # choices
    gram: np.ndarray
    moment: np.ndarray


@dataclass(kw_only=True, eq=False)
class ExploreThenCommit(Live):
    """Random arms for the first `explore` users, then the best by least squares."""

    explore: int = 100
    policy: Generator = field(default_factory=default_rng, repr=False)

    def init(self):
        return Sums(np.zeros(1, np.int64), np.eye(self.dim), np.zeros(self.dim))

    def _pick(self, features):
        if self.choices < self.explore:
            return self.policy.integers(features.shape[1], size=len(features))
        return np.argmax(features @ np.linalg.solve(self._state.gram, self._state.moment), axis=1)

    def _propensity(self, features, index):
        return lambda: 1 / len(features) if self.choices <= self.explore else 1.0

    def _learn(self, x, reward):
        if self.choices <= self.explore:
            self._state.gram[:] += np.outer(x, x)
            self._state.moment[:] += reward * x

    @property
    def privacy(self):
        return plain_certificate("ExploreThenCommit", "Not private.")


def test_a_bandit_without_a_kernel_is_simulated():
    """By the rounds of choose and observe."""
    world = environments.ball(dim=3, arms=5)
    kinds = [Spec(ExploreThenCommit, explore=200), Spec(Uniform)]
    learnt, random = (r.regret for r in simulate(kinds, [world], horizon=1000, runs=1, seed=0).runs)
    assert learnt < 0.4 * random
    compare(Spec(ExploreThenCommit), world)


BUDGET = Budget(1.0, 1e-3)


@pytest.mark.parametrize("logged", [False, True])
@pytest.mark.parametrize("spec", [Spec(JointGLM, budget=BUDGET), Spec(LinUCB)], ids=lambda spec: spec.label)
def test_a_compiled_loop_is_the_default_loop_only_faster(spec, logged):
    """Also where logs are replayed, and rounds whose reward is not known are skipped."""
    world = environments.ball(link="logistic", dim=3, arms=4)
    compiled, plain = (spec.build(world, 300, SeedSequence(1)) for _ in range(2))
    blocks = world.block(300), world.block(300)
    for block in blocks:
        world.start(default_rng(2), 300).fill(block)
        if logged:
            block.logged[:] = default_rng(3).integers(4, size=300)
    compiled.play(blocks[0])
    plain._one_by_one(blocks[1])
    assert np.array_equal(blocks[0].index, blocks[1].index) and np.array_equal(blocks[0].regret, blocks[1].regret)
    assert (logged and 0 < compiled.choices < 200) or compiled.choices == 300
    for a, b in zip(*(arrays(each.memory.learner.state) for each in (compiled, plain)), strict=True):
        assert np.array_equal(a, b)
