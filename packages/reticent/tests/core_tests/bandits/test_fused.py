"""What we measure is what we serve: the fused loop and the step-by-step calls give identical results."""

import numpy as np
import pytest
from numpy.random import SeedSequence

from reticent import Budget, JointGLM, LinUCB, Spec, Uniform, environments
from reticent.kernels.block import Block, reward
from reticent.mechanisms.saving import arrays

BUDGET = Budget(1.0, 1e-3)
SPECS = [
    Spec(LinUCB),
    Spec(JointGLM, budget=BUDGET),
    Spec(JointGLM, budget=Budget(float("inf"), 0.1)),
    Spec(JointGLM, budget=Budget(8.0, 0.1), first=2, forget=20),  # more steps than its window
    Spec(JointGLM, budget=BUDGET, model="scores"),
    Spec(JointGLM, budget=BUDGET, base_rate=0.2),
    Spec(Uniform),
]
WORLDS = [
    *(environments.ball(dim=5, arms=20), environments.gap(dim=3, arms=9), environments.basis(dim=4, arms=4)),
    *(environments.tail(dim=5, arms=30), environments.sphere(dim=12, arms=40), environments.skewed()),
    environments.rare(link="probit", radius=3.0),
]


def stepwise(bandit, block):
    """The same rounds through choose and observe."""
    if getattr(bandit, "features", None) is not None:
        block = Block(*(part.copy() for part in block))
        bandit._one_by_one(block)  # without its loop
        return block.index, block.reward, block.regret
    out = []
    for t in range(len(block.noise)):
        choice = bandit.choose(block.arms[t])
        value = reward(block.kind[0], block.scale[0], block.means[t, choice.index], block.noise[t])
        bandit.observe(choice, value)
        out.append((choice.index, value, block.means[t].max() - block.means[t, choice.index]))
    return [np.array(column) for column in zip(*out, strict=True)]


@pytest.mark.parametrize("world", WORLDS, ids=lambda w: w.name)
@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.label)
def test_identical_arms_rewards_regret_and_state(spec, world):
    compare(spec, world)


def test_identical_for_blocks():
    world = environments.disjoint(dim=12, arms=4, radius=3.0, link="logistic", disjoint=True)
    for budget in (BUDGET, Budget(8.0, 1e-2)):
        for model in ("curvature", "scores"):
            compare(Spec(JointGLM, budget=budget, model=model), world)


def compare(spec, world, horizon=300, *, close=False):
    """close: devices multiply by matrices in another order of addition; what is played is the same all the same."""
    one, two = (spec.build(world, horizon, SeedSequence(1)) for _ in range(2))
    fill, block = world.start(np.random.default_rng(2), horizon).fill, world.block(100)
    for _ in range(3):
        fill(block)
        one.play(block)
        index, rewards, regret = stepwise(two, block)
        assert np.array_equal(block.index, index) and np.array_equal(block.reward, rewards)
        assert np.array_equal(block.regret, regret)
    for a, b in zip(*(arrays(each.memory.learner.state) for each in (one, two)), strict=True):
        assert np.allclose(a, b, rtol=1e-9, atol=1e-9) if close else np.array_equal(a, b)


def test_how_rounds_are_cut_into_blocks_changes_nothing():
    world = environments.ball(dim=3, arms=4)
    spec, results = Spec(JointGLM, budget=BUDGET), []
    for size in (1, 7, 84):
        bandit = spec.build(world, 84, SeedSequence(3))
        fill = world.start(np.random.default_rng(4), 84).fill
        block, regret = world.block(size), []
        for _ in range(84 // size):
            fill(block)
            bandit.play(block)
            regret.extend(block.regret)
        results.append(regret)
    assert results[0] == results[1] == results[2]
