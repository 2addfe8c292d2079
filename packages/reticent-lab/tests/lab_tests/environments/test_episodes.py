"""Episodes: the rounds that a simulation has, one by one, with the interface of Gymnasium."""

import numpy as np
import pytest

from core_tests.made import joint
from lab_tests.raising import raised
from reticent import Budget, environments
from reticent_lab.environments.episodes import Episodes


@pytest.mark.parametrize("world", [environments.ball(dim=3, arms=4), environments.messages(), environments.disjoint()])
def test_its_people_and_rewards_are_those_of_the_environment(world):
    episodes, block = Episodes(environment=world, horizon=30), world.block(30)
    world.start(np.random.default_rng(7), 30).fill(block)
    seen, _ = episodes.reset(seed=7)
    actions = np.random.default_rng(1).integers(world.arms, size=30)
    for t, action in enumerate(actions):
        assert np.array_equal(seen, block.arms[t]) and seen.shape == episodes.observation_space.shape
        assert episodes.observation_space.low <= seen.min() and seen.max() <= episodes.observation_space.high
        seen, reward, terminated, truncated, info = episodes.step(action)
        assert (terminated, truncated) == (False, t == 29) and info["known"]
        assert info["regret"] == pytest.approx(block.means[t].max() - block.means[t, action])
        assert world.rewards[0] <= reward <= world.rewards[1]
    raised(ValueError, episodes.step, 0).match("Expected reset")


def test_a_seed_gives_the_same_episode_and_none_another():
    episodes = Episodes(environment=environments.ball(dim=3, arms=4), horizon=5)
    first, again = (episodes.reset(seed=1)[0] for _ in range(2))
    assert np.array_equal(first, again) and not np.array_equal(first, episodes.reset()[0])
    for wrong in (4, -1, True, 1.0):
        raised(ValueError, episodes.step, wrong).match("from 0 to 3")


def test_a_bandit_plays_it():
    episodes = Episodes(environment=environments.ball(dim=3, arms=4, link="logistic", radius=3.0), horizon=600)
    bandit = joint(features=3, budget=Budget(20.0, 1e-3))
    seen, _ = episodes.reset(seed=3)
    regret = []
    while True:
        choice = bandit.choose(seen)
        seen, reward, _, over, info = episodes.step(choice.index)
        bandit.observe(choice, reward)
        regret.append(info["regret"])
        if over:
            break
    assert len(regret) == 600 and np.mean(regret[300:]) < 0.5 * np.mean(regret[:50])
