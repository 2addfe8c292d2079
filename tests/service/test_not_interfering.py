"""One person replaced: what others see of the service is the same, character by character."""

import json
import time

import numpy as np
import pytest

from tacit.service import metrics
from tacit.service.served import Served
from tests.service.servers import application, call, lines

ARMS = np.eye(3).tolist()
OTHERS = {
    "as it was": ({"arms": ARMS}, [1.0]),
    "other arms": ({"arms": {"long name": [0.1, 0.2, 0.3], "b": [0, 0, -1]}, "available": ["b"]}, [1.0]),
    "another reward": ({"arms": ARMS}, [0.25]),
    "no reward": ({"arms": ARMS}, []),
    "cancelled": ({"arms": ARMS}, [None]),
    "reported three times": ({"arms": ARMS}, [1.0, 0.0, 1.0]),
    "bad rewards": ({"arms": ARMS}, [7.0, 1e300]),
    "never shown": ({"arms": ARMS, "deferred": True, "propensity": True}, [1.0]),
}


def shown(folder, person, rewards, more=0):
    """40 people, one of them that one; then everything that may be read and does not hold a release's noise."""
    folder.mkdir(exist_ok=True)
    app = application(folder)
    try:
        people = [person if i == 7 else {"arms": ARMS} for i in range(40 + more)]
        ((_, _, body),) = call(app, ("choose:batch", lines(*people)))
        ids = [json.loads(line)["id"] for line in body.splitlines()]
        reports = [(found, reward) for i, found in enumerate(ids) for reward in (rewards if i == 7 else [0.5])]
        call(app, ("reward:batch", lines(*({"id": found, "reward": reward} for found, reward in reports))))
        stored = app.served["messages"].stored
        until = time.monotonic() + 10
        while stored.version < stored.head.step and time.monotonic() < until:
            time.sleep(0.005)
        replies = call(app, ("status", None), ("certificate", None), ("/metrics", None), ("/readyz", None))
        assert stored.version >= 2
        return replies
    finally:
        app.close()


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    return shown(tmp_path_factory.mktemp("usual"), *OTHERS["as it was"])


@pytest.mark.parametrize("other", list(OTHERS))
def test_one_person_replaced_changes_nothing_that_is_shown(other, usual, tmp_path):
    assert shown(tmp_path, *OTHERS[other]) == usual


def test_that_a_difference_would_be_seen(usual, tmp_path):
    """One person more is public, and seen."""
    assert shown(tmp_path, *OTHERS["as it was"], more=1) != usual


@pytest.mark.parametrize("other", ["no reward", "cancelled"])
def test_that_a_planted_count_of_rewards_would_be_seen(other, usual, tmp_path, monkeypatch):
    """Rewards that came: in the usual world all 40, in the other 39 (or 40, one of them without a value)."""
    values = metrics.values

    def leaking(one):
        return values(one) | {"tacit_delta": one.came}

    def counting(self, reports):
        self.came = sum(report.reward is not None for report in reports)
        self.stored.observe_group(reports)
        return [None] * len(reports)

    monkeypatch.setattr(metrics, "values", leaking)
    monkeypatch.setattr(Served, "_observe", counting)
    honest = shown(tmp_path / "usual", *OTHERS["as it was"])
    assert honest[:2] == usual[:2]
    assert shown(tmp_path / "other", *OTHERS[other])[2] != honest[2]


def test_metrics_know_nothing_of_rewards_arms_or_the_process(usual):
    text = usual[2][2].decode()
    names = {line.split("{")[0] for line in text.splitlines() if not line.startswith("#")}
    assert names == {
        *("tacit_choices", "tacit_version", "tacit_next_release_after", "tacit_ready", "tacit_degraded"),
        *("tacit_epsilon", "tacit_epsilon_spent", "tacit_delta"),
    }
    assert all('{bandit="messages"}' in line for line in text.splitlines() if not line.startswith("#"))
