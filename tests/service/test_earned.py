"""What is earned, on routes and on the dashboard: as the bandit has it, where the settings ask for it."""

import json

import numpy as np
import pytest

from tacit.algorithms.earnings import Earned, Earning
from tacit.service import config as configs
from tacit.service import earned
from tests.service.servers import LINEAR, application, call, lines, stored
from tests.store.places import Clock, settle

GLM = {name: value for name, value in LINEAR.items() if name != "horizon"} | {
    "kind": "joint-glm",
    "budget": {"epsilon": 20.0, "delta": 1e-5},
}
NAMES = ["a <b>", "b"]


def play(app, rounds):
    rng = np.random.default_rng(0)
    asks = [{"arms": {name: rng.uniform(-0.5, 0.5, 3).tolist() for name in NAMES}} for _ in range(rounds)]
    ((_, _, text),) = call(app, ("choose:batch", lines(*asks)))
    ids = [json.loads(line)["id"] for line in text.splitlines()]
    call(app, ("reward:batch", lines(*({"id": one, "reward": float(i % 4 > 0)} for i, one in enumerate(ids)))))
    settle(stored(app))


def test_status_history_and_dashboard_have_the_same(tmp_path):
    profiles = {"somebody": {"arms": {"another": [1, 0, 0]}}}  # made up: it need not be declared
    app = application(tmp_path, **GLM, earnings={"share": 0.5, "clip": 4, "arms": NAMES}, profiles=profiles)
    try:
        ((_, _, before),) = call(app, ("status", None))
        ((_, _, page),) = call(app, ("/dashboard/messages", None))
        assert json.loads(before)["earned"] is None and b"Nothing has been released so far" in page
        for _ in range(8):
            play(app, 40)
        ((_, _, status),) = call(app, ("status", None))
        ((_, _, past),) = call(app, ("history", None))
        ((_, _, page),) = call(app, ("/dashboard/messages", None))
        found, curve = json.loads(status)["earned"], json.loads(past)["earned"]
        now = stored(app).earned
        assert found == earned.written(now) and found.keys() == {"level", "average"}  # of single arms nothing
        assert curve["value"][0] is None and curve["high"][-1] == round(now.average.high, 5)
        assert abs(now.average.value - 0.75) < 0.15  # the noise has a standard deviation of .005
        text = page.decode()
        assert "somebody" in text and "another" in text
        assert f"On average {now.average.value:.2f} for a choice" in text
        assert "a &lt;b&gt;" not in text and "If everybody got it" not in text and "earned-arms" not in text
        assert "weights of at most 4" in text  # the ledger's words
        ((status, _, _),) = call(app, ("choose", {"arms": {"c": [1, 0, 0]}}))
        assert status == 422
    finally:
        app.close()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"missing_as": 0.0}, (": the reward that came within 10 seconds, or 0 without one;", "and 0 where none did")),
        ({}, (" that had a reward within 10 seconds;", "those without are left out")),
    ],
)
def test_the_page_says_what_the_average_is_of(tmp_path, given, words):
    """One in four clicks, half of them in time; silence counts or does not."""
    clock = Clock()
    app = application(tmp_path, **GLM, earnings={"share": 0.5}, clock=clock, **given)
    try:
        ((_, _, text),) = call(app, ("choose:batch", lines(*[{"arms": np.eye(3).tolist()}] * 400)))
        ids = [json.loads(line)["id"] for line in text.splitlines()]
        for in_time in (True, False):
            clicks = [{"id": one, "reward": 1.0} for one in ids[:: 8 if in_time else 4]]
            ((_, _, replies),) = call(app, ("reward:batch", lines(*clicks)))
            assert replies.count(b"late") == (0 if in_time else len(clicks))
            clock.now += stored(app).hold + 0.01
        settle(stored(app))
        ((_, _, page),) = call(app, ("/dashboard/messages", None))
        average = stored(app).earned.average
    finally:
        app.close()
    assert f"On average {average.value:.2f} for a choice{words[0]}" in page.decode() and words[1] in page.decode()
    assert abs(average.value - (0.125 if given else 1.0)) < 0.2  # the noise has a standard deviation of at most .03


def test_without_the_setting_there_is_nothing_of_it(tmp_path):
    app = application(tmp_path, **GLM)
    try:
        ((_, _, status),) = call(app, ("status", None))
        ((_, _, page),) = call(app, ("/dashboard/messages", None))
        assert json.loads(status)["earned"] is None and b"What does it earn" not in page
    finally:
        app.close()


@pytest.mark.parametrize("wrong", [{"share": 1.5}, {"clip": 0.5}, {"arms": -1}, {"arms": ["a", "a"]}])
def test_what_is_wrong_is_said_before_it_is_served(wrong, tmp_path):
    setting = configs.convert({"bandits": {"messages": GLM | {"earnings": wrong}}}).bandits["messages"]
    with pytest.raises(ValueError, match=r"^\[bandits.messages\]: Expected"):
        configs.build(setting, "messages")


def test_what_is_not_known_is_called_so():
    """Where an interval is all that there is, the middle of it says nothing."""
    unknown, known = Earning(2.0, -1.0, 4.0), Earning(2.0, 1.0, 3.0)
    assert "Not known yet" in earned.section(Earned(unknown), (-1.0, 4.0), share=0.1, wait="1 day", silence=None)
    assert earned.curve([None, Earned(unknown), Earned(known)], (-1.0, 4.0)) == {
        "value": [None, None, 2.0], "low": [None, None, 1.0], "high": [None, None, 3.0],
    }  # fmt: skip
    assert earned.curve([None, None], (0.0, 1.0)) is None and earned.written(None) is None
