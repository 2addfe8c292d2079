"""Open Bandit Pipeline's dictionaries: what comes back is what went in, and estimates are those of the columns."""

import numpy as np
import pytest

from core_tests.made import joint
from lab_tests.raising import raised
from reticent import Budget
from reticent_lab.evaluation import evaluate
from reticent_lab.logs import obp


def feedback(count=200, actions=4):
    rng = np.random.default_rng(1)
    return {
        "n_rounds": count, "n_actions": actions, "context": rng.uniform(-1, 1, (count, 3)),
        "action_context": np.eye(actions),
        "action": rng.integers(actions - 1, size=count),  # the last one was never taken
        "position": None, "reward": rng.integers(2, size=count).astype(float), "expected_reward": None,
        "pi_b": None, "pscore": rng.uniform(0.1, 0.9, count),
    }  # fmt: skip


def test_there_and_back():
    given = feedback()
    found = obp.feedback(obp.columns(given), actions=range(4))
    assert found.keys() == given.keys()
    for name, value in given.items():
        assert np.array_equal(found[name], value), name
    halved = obp.columns(given, bound=2.0)
    assert np.array_equal(np.stack([halved[f"x{i}"] for i in range(3)], axis=1), given["context"] / 2.0)


def test_it_is_learnt_and_evaluated():
    given = feedback()
    table = obp.columns(given, bound=2.0)
    assert joint(features=12, budget=Budget(1.0, 1e-6)).learn_log(table, actions=range(4)) == {}
    target = np.random.default_rng(2).dirichlet(np.ones(4), 200)
    ips = next(one for one in evaluate(table, target, actions=range(4)) if one.name == "ips")
    weights = target[np.arange(200), given["action"]] / given["pscore"]  # as OBP's InverseProbabilityWeighting has it
    assert ips.value == pytest.approx((weights * given["reward"]).mean(), rel=1e-12)


def test_what_it_does_not_take():
    raised(ValueError, obp.columns, {"n_actions": 2, "action": [0, 1]}).match("got none named reward")
    raised(ValueError, obp.columns, feedback() | {"position": np.arange(200) % 3}).match("one position")
    bare = obp.columns({"n_actions": 2, "action": [0, 1], "reward": [1.0, 0.0]})
    assert obp.feedback(bare)["pscore"] is None and obp.feedback(bare)["context"].shape == (2, 1)
