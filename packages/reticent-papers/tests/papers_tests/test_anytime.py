"""Doubling: bandits that need a horizon go on without one."""

import numpy as np
import pytest

from core_tests.made import joint
from lab_tests.raising import raised
from reticent import Budget, Simulated, environments
from reticent.errors import UnknownChoice
from reticent_papers import Anytime, ShariffLinUCB
from serve_tests.features.test_with_bandits import APART, BUDGET

ARMS = np.eye(3)


def make(horizon):
    return ShariffLinUCB(dim=3, horizon=horizon, budget=Budget(1.0, 1e-3), source=Simulated(horizon))


def test_it_goes_on_with_fresh_bandits_of_twice_the_horizon():
    bandit, made = Anytime(make, first=4), []
    for t in range(1, 30):
        choice = bandit.choose(ARMS)
        assert choice.id == t == bandit.choices
        bandit.observe(choice, 1.0)
        made.append(bandit._horizon)
    assert sorted(set(made)) == [4, 8, 16, 32] and bandit.privacy.epsilon == pytest.approx(1.0)
    assert bandit.privacy.bandit == "Anytime of ShariffLinUCB" and bandit.privacy.horizon is None
    assert "one after the other" in str(bandit.privacy) and "planned for 32 choices" in " ".join(bandit.privacy.caveats)


def test_what_is_spent_is_that_of_the_user_whom_it_cost_most():
    bandit = Anytime(make, first=64)
    assert bandit.privacy.spent == 0
    for _ in range(64):
        bandit.observe(bandit.choose(ARMS), 1.0)
    first = bandit.privacy.spent
    bandit.choose(ARMS)
    assert bandit._bandit.privacy.spent < first <= bandit.privacy.spent == bandit.privacy.epsilon


def test_rewards_of_a_bandit_that_was_replaced_are_refused():
    bandit = Anytime(make, first=4)
    choices = [bandit.choose(ARMS) for _ in range(5)]
    raised(UnknownChoice, bandit.observe, choices[3], 1.0).match("earlier bandit")
    bandit.observe(choices[4], 1.0)
    batch = bandit.choose_many(np.stack([ARMS] * 20))  # more than the next horizon
    assert bandit.choices == 25 and not bandit.observe_many(batch, [1.0] * 20)


def test_a_refused_request_replaces_no_bandit():
    bandit = Anytime(make, first=4)
    choices = [bandit.choose(ARMS) for _ in range(4)]
    for arms, mask in (([[9.0, 9.0, 9.0]], None), (ARMS, [True]), ("arms", None)):
        raised(ValueError, bandit.choose, arms, available=mask).match("Expected")
    raised(ValueError, bandit.choose_many, np.zeros((2, 2))).match("shape")
    bandit.observe(choices[3], 1.0)
    assert bandit.choose(ARMS).id == 5


def test_ids_are_judged_row_by_row():
    bandit = Anytime(make, first=4)
    choices = [bandit.choose(ARMS) for _ in range(7)]
    ids = ["x", choices[4].id, None, choices[0].id, True, 5.0, 0, np.int8(7), choices[5].id]
    refused = bandit.observe_many(ids, [1.0] * 9)
    assert set(refused) == {0, 2, 3, 4, 5, 6}
    for bad in ("1", None, 1.0, True):
        raised(ValueError, bandit.observe, bad, 1.0).match("a Choice or its id")
    raised(ValueError, bandit.observe_many, None, [1.0]).match("a sequence")


def test_blocks_equal_single_steps():
    world = environments.ball(dim=3, arms=4)
    block = world.block(50)
    world.start(np.random.default_rng(0), 50).fill(block)
    one, two = Anytime(make, first=7), Anytime(make, first=7)
    one.play(block)
    for t in range(50):
        choice = two.choose(block.arms[t])
        assert choice.index == block.index[t]
        two.observe(choice, block.reward[t])
    assert one.choices == two.choices == 50


def test_a_bandit_that_starts_anew_takes_fields():
    bandit = Anytime(lambda horizon: joint(features=APART, horizon=horizon, budget=BUDGET), first=4)
    for _ in range(6):
        assert bandit.choose({"age": 3}, actions=["walk"]).name == "walk"
    found = bandit.choose_many([{"age": 3}, {"age": "x"}], actions=["sleep"])
    assert found.index.tolist() == [0, -1] and bandit.choices == 8


def test_a_mix_up_is_named():
    raised(ValueError, Anytime, 3).match("function of a horizon that makes a bandit, got int")
