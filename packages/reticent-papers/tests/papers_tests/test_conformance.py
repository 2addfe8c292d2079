"""What holds for every bandit, on those of this package: the core's tests, run on what this package registers."""

import itertools

import numpy as np
import pytest

from devices_tests.bandits.test_defaults import test_defaults_work, test_one_seed_fixes_noise_and_policy
from devices_tests.bandits.test_propensity import (
    test_a_propensity_is_exact_or_states_its_error,
    test_stated_propensities_are_the_frequencies,
)
from papers_tests import boards
from reticent.testing import pairs, stage
from reticent_papers import AdaCGOPE, AdaCOFUL, AdaCUCB, JointGLMUCB, ShariffLinUCB
from tests.audit.test_pairs import BUDGET, LEAST, test_devices_move_what_they_send_by_no_more
from tests.bandits.test_warm_up import test_nothing_is_left_to_compile_for_any_bandit

__all__ = [
    "test_a_propensity_is_exact_or_states_its_error", "test_defaults_work",
    "test_devices_move_what_they_send_by_no_more", "test_nothing_is_left_to_compile_for_any_bandit",
    "test_one_seed_fixes_noise_and_policy", "test_stated_propensities_are_the_frequencies",
]  # fmt: skip
SERVERS = {name: make for name, make in boards.SERVERS.items() if not name.startswith(("shuffle-sblb", "shuffle-glm"))}


@pytest.mark.parametrize(
    "bandit",
    [
        JointGLMUCB(dim=2, budget=BUDGET, horizon=60),
        JointGLMUCB(dim=2, budget=BUDGET, horizon=60, link="probit", rewards=(-2.0, 0.5)),
        ShariffLinUCB(dim=2, budget=BUDGET, horizon=60),
        ShariffLinUCB(dim=2, budget=BUDGET, horizon=60, release="batched", rewards=(-2.0, 0.5)),
    ],
    ids=lambda bandit: type(bandit).__name__,
)
def test_nobody_moves_the_sums_by_more_than_the_ledger_has(bandit):
    (release,) = bandit.privacy.releases

    def add(datum):
        with np.errstate(all="ignore"):
            x, reward = datum.x / max(1.0, datum.length), np.nan_to_num(datum.reward)
        return bandit.mechanism.cell * stage.contribution(bandit, x, float(np.clip(reward, *bandit.rewards)))

    found = pairs.farthest(add, 2, 1, bandit.rewards, np.random.default_rng(2))
    assert LEAST < found / release.sensitivity <= 1


@pytest.mark.parametrize("kind", [AdaCGOPE, AdaCOFUL, AdaCUCB])
def test_a_reward_moves_the_sums_by_no_more_than_the_ledger_has_and_nearly(kind):
    """Through choose and observe: one or the other end of the range, or never."""
    sums = []
    for reward in (-2.0, 0.5, None):
        bandit = kind(dim=2, budget=BUDGET, horizon=60, rewards=(-2.0, 0.5))
        choice = bandit.choose(np.eye(2))
        if reward is not None:
            bandit.observe(choice, reward)
        sums.append(bandit.mechanism.cell * stage.open_step(bandit))
    found = max(np.linalg.norm(one - other) for one, other in itertools.combinations(sums, 2))
    assert LEAST < found / bandit.privacy.releases[0].sensitivity <= 1
