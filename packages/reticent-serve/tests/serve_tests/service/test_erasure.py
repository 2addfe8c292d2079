"""Erasing a person over HTTP and by the command: the same words whoever it was, and their rewards count no more."""

import io
import json
import sys
import time

import numpy as np

from reticent_serve.holders.retirement import ERASED
from serve_tests.service.servers import KEYS, TOML, application, askers, bearer, call, reply, statuses, stored
from serve_tests.store.places import contribution, linear, settle, table, total

EYE = np.eye(3).tolist()


def test_the_reply_is_the_same_and_a_reward_counts_no_more(tmp_path):
    app, bandit = application(tmp_path, budget={"unit": {"rounds": 3}}), linear(horizon=5000, rounds=3)
    asks = [("choose", {"arms": EYE, "person": person}) for person in ("ada", "ada", 17, "18")]
    found = [json.loads(body) for _, _, body in call(app, *asks)]
    ids = [each["id"] for each in found]
    replies = call(app, *(("erase", {"person": person}) for person in ("ada", "nobody", "17")))
    (erased,) = {body for _, _, body in replies}
    assert json.loads(erased) == {"remains": ERASED, "acknowledged": True}
    for choice in ids[:3]:
        assert reply(app, "reward", {"id": choice, "reward": 1.0}) == {"acknowledged": True}
    call(app, ("reward", {"id": ids[3], "reward": 1.0}))  # another person
    settle(stored(app))
    expected = contribution(bandit, np.eye(3)[found[3]["index"]], 1.0)
    assert stored(app).entered == 4 and np.array_equal(total(stored(app)), expected)
    assert table(stored(app), "SELECT sum(rounds) FROM person") == [(1,)]  # what is erased enters as nothing
    for wrong in ({}, {"person": None}, {"person": ""}, {"person": True}, {"person": 1.5}, {"person": "a", "x": 1}):
        assert statuses(app, ("erase", wrong)) == [422]
    assert statuses(app, ("erase", b'{"person":"a","person":"b"}')) == [422]


def test_the_command_and_the_roles(tmp_path, monkeypatch, reticent):
    (tmp_path / "serve.toml").write_text(TOML.replace("1e-5}", "1e-5, unit = {rounds = 2}}"))
    app = application(tmp_path, budget={"unit": {"rounds": 2}}, askers=askers())
    assert statuses(app, *(("erase", {"person": "x"}, bearer(role)) for role in KEYS)) == [200, 200, 403]
    chosen = reply(app, "choose", {"arms": EYE, "person": 17}, bearer("app"))["id"]
    app.close()

    def run(text):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        return reticent("erase", tmp_path / "serve.toml", "messages")[:2]

    assert run("17\n") == run("nobody") == (0, ERASED + "\n") and run("")[0] == 1
    app = application(tmp_path, budget={"unit": {"rounds": 2}})
    call(app, ("reward", {"id": chosen, "reward": 1.0}))
    settle(stored(app))
    assert not total(stored(app)).any() and table(stored(app), "SELECT count(*) FROM choice") == [(0,)]


def test_erasures_take_turns_and_leave_threads_to_others(tmp_path, monkeypatch):
    """Each looks at all choices: several at once, in the threads that others need, would hold up everyone."""
    app = application(tmp_path, budget={"unit": {"rounds": 1}}, askers=askers(rate=100.0))
    one, busy, most = stored(app), [], []

    def erase(person, usual=one.erase):
        busy.append(person)
        most.append(len(busy))
        time.sleep(0.02)
        busy.remove(person)
        return usual(person)

    monkeypatch.setattr(one, "erase", erase)
    replies = statuses(app, *(("erase", {"person": i}, bearer("app")) for i in range(30)))
    assert set(replies) == {200, 429} and replies.count(200) >= 20 and max(most) == 1
