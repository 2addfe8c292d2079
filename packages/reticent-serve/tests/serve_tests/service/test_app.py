"""The application: one answer for each request, batches whose bad lines fall alone, limits, roles, and poison."""

import hashlib
import itertools
import json
import types

import numpy as np
import pytest

from reticent.errors import BadState
from reticent_serve import Stored
from reticent_serve.service import bodies, hot, served
from serve_tests.service.servers import (
    LINEAR,
    application,
    askers,
    bearer,
    call,
    each_reply,
    lines,
    reply,
    statuses,
    stored,
)
from serve_tests.store.places import LASTS, contribution, linear, settle, total

EYE = np.eye(3).tolist()
NAMED = {"left": EYE[0], "right": EYE[1], "neither ü": EYE[2]}


@pytest.fixture
def app(tmp_path):
    return application(tmp_path)


def state(app):
    """A hash of every row of every table."""
    found = hashlib.sha256()
    with stored(app)._database.transaction() as run:
        for table in ("bandit", "choice", "waiting", "written", "open_step", "drawn", "leaf", "person", "event"):
            found.update(repr(sorted(run(f"SELECT * FROM {table}"))).encode())
    return found.hexdigest()


def test_many_at_once_have_one_answer_each_and_count_once(app):
    asks = [("choose", {"arms": EYE, "request": f"r{i % 20}"}) for i in range(60)]
    found = [json.loads(body) for _, _, body in call(app, *asks)]
    assert stored(app).head.choices == len({each["id"] for each in found}) == 20
    assert all(found[i] == found[i % 20] for i in range(60))
    rewards = [("reward", {"id": each["id"], "reward": 0.5}) for each in found]
    assert {(status, body) for status, _, body in call(app, *rewards)} == {(200, b'{"acknowledged":true}')}
    expected = sum(contribution(linear(horizon=5000), np.eye(3)[each["index"]], 0.5) for each in found[:20])
    assert not total(stored(app)).any()
    settle(stored(app))
    assert np.array_equal(total(stored(app)), expected)


def test_names_masks_and_propensities(app):
    masked, named, again = (
        reply(app, "choose", {"arms": NAMED, "available": available, "request": "a", "propensity": True})
        for available in ([False, False, True], ["neither ü"], ["left"])
    )
    assert masked["name"] == "neither ü" and masked["propensity"] == 1.0 and named == again == masked
    asks = [{"arms": EYE, "request": f"{i}"} for i in range(4)]
    assert not any("propensity" in one for one in each_reply(app, "choose:batch", *asks[:2]))
    found = each_reply(app, "choose:batch", *(ask | {"propensity": True} for ask in asks))
    assert [one["propensity"] for one in found] == [None, None, 1 / 3, 1 / 3]
    assert [one["propensity_error"] for one in found] == [None, None, 0.0, 0.0]
    for available in (["up"], ["left", True], [True], [], [False] * 3):
        assert statuses(app, ("choose", {"arms": NAMED, "available": available})) == [422]
    assert stored(app).head.choices == 5


def test_a_bad_line_of_a_batch_is_refused_alone(app):
    good = [{"arms": EYE, "request": f"{i}"} for i in range(3)]
    bad = [b"{", b'{"arms": [[NaN, 0, 0]]}', b"\xff\xfe", b"", b'{"arms": [[9, 0, 0]]}', b"[" * 100_000]
    found = each_reply(app, "choose:batch", good[0], *bad, *good[1:])
    assert ["error" in each for each in found] == [False, *[True] * 6, False, False] and stored(app).head.choices == 3
    ids = [each["id"] for each in found if "id" in each]
    rewards = {"id": ids[0], "reward": 1}, {"id": ids[1], "reward": 7}, {"id": "?", "reward": 1}, {"id": ids[2]}
    assert ["error" in each for each in each_reply(app, "reward:batch", *rewards)] == [False, True, True, True]
    (_, _, cancelled), (_, _, late) = (call(app, ("reward", {"id": ids[1], "reward": y}))[0] for y in (None, 1.0))
    assert cancelled == late == b'{"acknowledged":true}'
    index = found[0]["index"]
    settle(stored(app))
    assert np.array_equal(total(stored(app)), contribution(linear(horizon=5000), np.eye(3)[index], 1.0))


POISON = [
    *(b"", b"{}", b"[]", b"null", b"1", b'"', b"\x00", b"\xff\xfe\xfd", b'{"arms":', b"NaN"),
    *(b'{"arms":[[NaN,0,0]]}', b'{"arms":[[1e999,0,0]]}', b'{"arms":[[Infinity,0,0]]}', b'{"arms":[["1",0,0]]}'),
    *(b'{"arms":[[null,0,0]]}', b'{"arms":[[1,0]]}', b'{"arms":[]}', b'{"arms":{}}', b'{"arms":[[1,0,0],[1]]}'),
    *(b'{"arms":[[1,1,1]]}', b'{"arms":[[1e308,1e308,1e308]]}', b'{"arms":[[true,0,0]]}', b'{"arms":"x"}'),
    *(b'{"arms":[[1,0,0]],"arms":[[0,1,0]]}', b'{"arms":{"a":[1,0,0],"a":[0,1,0]}}', b'{"arms":[[1,0,0]],"x":1}'),
    b'{"arms":[[1,0,0]],"request":"a","\\u0072equest":"a"}',
    *(b'{"arms":[[1,0,0]],"request":""}', b'{"arms":[[1,0,0]],"request":1}', b'{"arms":[[1,0,0]],"request":null}'),
    *(b'{"arms":[[1,0,0]],"person":"x"}', b'{"arms":[[1,0,0]],"person":1.5}', b'{"arms":[[1,0,0]],"person":true}'),
    b'{"arms":[[1,0,0]],"request":"%s"}' % (b"r" * 256),
    b'{"arms":{"%s":[1,0,0]}}' % (b"n" * 256),
    b'{"arms":{"\\ud800":[1,0,0]}}',
    b'{"arms":[[1,0,0]],"request":"\xc3"}',
    b'{"arms":%s1%s}' % (b"[" * 200_000, b"]" * 200_000),
    b'{"arms":[%s[1,0,0]]}' % (b"[1,0,0]," * 1001),
    b'{"arms":[[1,0,0]],"request":"%s"}' % (b"x" * 10_000_000),
    b"[" * 10_000_000,
    *(b'{"arms":[[1,0,0]],"person":%s}' % (b"9" * n) for n in (20, 5000)),
    *(b'{"arms":[[%s,0,0]]}' % (b"9" * n) for n in (400, 5000)),
    *(b'{"id":"00","reward":%s}' % (b"9" * n) for n in (400, 5000)),
    *(b'{"id":"x","reward":1}', b'{"id":"00","reward":1e999}', b'{"id":"00","reward":NaN}', b'{"id":1,"reward":1}'),
    *(b'{"id":"x"}', b'{"id":1}', b'{"id":"%s"}' % (b"0" * 48), b'{"id":"x","id":"x"}'),
    *(b'{"arms":[[1,0,0]],"propensity":1}', b'{"arms":[[1,0,0]],"propensity":null}', b'{"arms":[[1,0,0]],"other":1}'),
    *(b'{"id":"%s","reward":1}' % (b"0" * 48), b'{"id":"x","id":"x","reward":1}', b'{"id":"\xff","reward":1}'),
]


def check_refused(app, bodies, routes):
    """And that they change nothing."""
    before = state(app)
    for body, route in itertools.product(bodies, routes):
        ((status, _, text),) = call(app, (route, body))
        refused = [json.loads(line) for line in text.splitlines()]
        assert 400 <= status < 500 or (":" in route and status == 200), (body[:80], status)
        assert all(set(each) == {"error"} for each in refused), body[:80]
    assert state(app) == before


def test_poison_is_refused_and_changes_nothing(app):
    call(app, ("choose", {"arms": EYE, "request": "first"}))
    before = state(app)
    check_refused(app, POISON, hot.ROUTES)
    call(app, ("choose", {"arms": EYE, "request": "second"}))
    assert state(app) != before


def test_what_comes_after_the_deadline_is_answered_and_late(app):
    """Whatever was written before, whoever it is of, and whether or not the choice has entered by then."""
    asks = [{"arms": EYE, "request": f"{i}"} for i in range(3)]
    ids = [one["id"] for one in each_reply(app, "choose:batch", *asks)]
    reports = [("reward", {"id": ids[0], "reward": 1.0}), ("reward", {"id": ids[1], "reward": None})]
    stored(app)._clock.now += LASTS  # the last moment
    assert {body for _, _, body in call(app, *reports)} == {b'{"acknowledged":true}'}
    late = b'{"acknowledged":true,"late":true}'
    for _ in range(2):  # before and after they enter
        stored(app)._clock.now += 0.01
        assert {(status, body) for status, _, body in call(app, *reports)} == {(200, late)}
        batch = lines({"id": ids[0], "reward": 1.0}, {"id": "?", "reward": 1.0}, {"id": ids[2], "reward": 7.0})
        ((status, _, body),) = call(app, ("reward:batch", batch))
        assert status == 200 and [b"error" in line for line in body.splitlines()] == [False, True, True]
        assert body.splitlines()[0] == late
        settle(stored(app))
    assert stored(app).entered == 3
    x = np.eye(3)[reply(app, "choose", asks[0])["index"]]
    assert np.array_equal(total(stored(app)), contribution(linear(horizon=5000), x, 1.0))


def test_the_status_says_what_counts_by_now_and_when(app):
    def said():
        found = reply(app, "status")
        return [found[name] for name in ("choices", "entered", "window", "next_release_after", "version")]

    call(app, ("choose:batch", lines(*[{"arms": EYE}] * 59)))
    assert said() == [59, 0, LASTS, 59, 0]
    settle(stored(app))
    assert said()[:3] == [59, 59, LASTS] and said()[4] == 1 and said()[3] > 59


def test_a_server_whose_choices_do_not_enter_is_not_ready(app, monkeypatch):
    """As where the folder of keys cannot be written: choices are answered, and nothing more is learnt."""
    one, now = app.served["messages"], [0.0]
    monkeypatch.setattr(served, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(stored(app)._steps, "run", lambda: None)
    call(app, ("choose:batch", lines(*[{"arms": EYE}] * 60)))
    one.ready()
    now[0] += 100.0
    one.ready()  # none is due
    stored(app)._clock.now += LASTS + 0.01
    one.ready()
    now[0] += 4.0
    one.ready()  # for a moment
    now[0] += 2.0
    with pytest.raises(BadState, match="the last release"):
        one.ready()
    monkeypatch.undo()
    stored(app).tend()
    one.ready()
    assert stored(app).version == 1 and stored(app).entered == 60


def test_errors_name_the_rule_and_not_the_value(app):
    assert reply(app, "choose", {"arms": [[0.5, 0.25]]}) == {"error": "Expected arms of shape (K, 3)."}
    ((status, _, body),) = call(app, ("reward", {"id": "canary", "reward": 0.123}))
    assert status == 404 and b"canary" not in body and b"0.123" not in body
    assert bodies.expected(ValueError("Expected X, got 7: do Y.")) == "Expected X."


def test_an_unexpected_error_tells_its_place_and_not_its_words(app, caplog, monkeypatch):
    def broken(body, most, fields):
        raise RuntimeError("canary")

    monkeypatch.setattr(bodies, "choose", broken)
    for status, _, body in call(app, *[("choose", {"arms": EYE})] * 3):
        assert status == 500 and b"canary" not in body
    assert "RuntimeError in broken" in caplog.text and "canary" not in caplog.text
    assert len(caplog.records) == 1  # how often it happens is not logged


def test_an_estimate_is_of_one_version(app, monkeypatch):
    """A release becomes visible while the estimate is read."""
    theta, looks = Stored.theta.fget, []

    def interrupted(self):
        found = theta(self)
        looks.append(found)
        if len(looks) == 1:
            for _ in range(self.head.boundary):
                self.choose(EYE)
            settle(self)
        return found

    monkeypatch.setattr(Stored, "theta", property(interrupted))
    found = reply(app, "estimate")
    assert found["version"] == 1 and np.array(found["theta"]).any()


def test_limits_ask_to_come_again(tmp_path):
    """One key's rate is so low that no machine is slow enough for it, and the other's so high that none reaches it."""
    keys = [
        {"name": name, "role": "app", "hash": hashlib.sha256(name.encode()).hexdigest(), "rate": rate}
        for name, rate in (("seldom", 1e-3), ("often", 1e6))
    ]
    app = application(tmp_path, server={"waiting": 2, "body": 2000}, askers=keys)
    seldom, often = map(bearer, ("seldom", "often"))
    batch = ("choose:batch", lines(*[{"arms": EYE}] * 3), often)
    (first, _, _), (status, headers, _) = call(app, batch, batch)
    assert first == 200  # three at once, where nobody waits
    assert status == 503 and int(headers[b"retry-after"]) >= 1  # and as many again, of whom two may wait
    assert statuses(app, ("choose", {"arms": EYE}, seldom)) == [200]
    ((status, headers, _),) = call(app, ("choose", {"arms": EYE}, seldom))
    assert status == 429 and int(headers[b"retry-after"]) > 100
    assert statuses(app, ("reward", {"id": "?", "reward": 1}, seldom)) == [404]  # rewards have a rate of their own
    assert statuses(app, ("choose", b" " * 2001, often)) == [413] and stored(app).head.choices == 4


def test_without_keys_a_web_page_of_another_name_is_not_let_in(app):
    """Its name may point to this machine: then the browser of whoever looks at it would ask for it."""
    ours = (b"localhost", b"127.0.0.1:8321", b"[::1]:8321", b"LOCALHOST:1")
    for host in (*ours, b"evil.example:8321", b"127.0.0.1.evil.example", b"", b"10.0.0.1", b"[::1"):
        for ask in (("choose", {"arms": EYE}), ("status", None), ("/metrics", None)):
            (status,) = statuses(app, (*ask, ((b"host", host),)))
            assert (status == 200) == (host in ours) and status < 500, (host, ask)
    assert stored(app).head.choices == 4


def test_epsilon_is_shown_with_its_neighbours(tmp_path):
    app = application(tmp_path, bandits={name: LINEAR | {"database": f"{name}.db"} for name in ("one", "two")})
    assert reply(app, "/v1/bandits/one/status")["privacy"]["neighbours"] == "replace"
    ((_, _, metrics),) = call(app, ("/metrics", None))
    for name in ("reticent_epsilon", "reticent_epsilon_spent"):
        assert f'\n{name}{{bandit="one",neighbours="replace"}} ' in metrics.decode()


def test_beyond_the_rounds_of_a_person_choices_are_served_and_not_learnt_from(tmp_path):
    app = application(tmp_path, budget={"unit": {"rounds": 2}})
    for i in range(4):
        choice, before = reply(app, "choose", {"arms": EYE, "person": "p"})["id"], total(stored(app))
        call(app, ("reward", {"id": choice, "reward": 1.0}))
        settle(stored(app))
        assert np.array_equal(total(stored(app)), before) == (i >= 2)
    assert stored(app).head.choices == 4


def test_rounds_of_a_person_by_the_week_are_settings(tmp_path):
    week = {"budget": {"unit": {"rounds": 2, "per": "7 days"}}, "per_day": 20}
    with pytest.raises(ValueError, match="Expected per to be a number of rounds"):
        application(tmp_path, **week | {"per_day": None})
    app = application(tmp_path, **week)
    limits, certificate = stored(app).one_pass.plan.limits, stored(app).privacy
    assert (limits.week, limits.most) == (140.0, 2)
    assert "one person in one week of 140 choices or more" in certificate.unit
    assert statuses(app, ("choose", {"arms": EYE, "person": "p"})) == [200]


def test_bodies_at_the_same_time_have_so_much_memory_and_no_more(tmp_path):
    """Also those that only come slowly; what is answered makes room again."""
    app = application(tmp_path, server={"body": 2000, "bodies": 3000, "patience": 5.0})
    small = {"arms": EYE, "request": "a"}
    long = {"arms": {"x" * 200: EYE[0], "y" * 200: EYE[1]}, "available": ["x" * 200] * 6}  # about 1700 bytes
    for _ in range(5):
        replies = call(app, *[("choose", long)] * 4)
        assert sorted(status for status, _, _ in replies) == [200, 503, 503, 503]
        assert all(headers[b"retry-after"] == b"1" for status, headers, _ in replies if status == 503)
    for _ in range(5):
        assert statuses(app, ("choose", long), ("choose", small)) == [200, 200]
    with app._rooms["reward"].held() as hold:
        hold(3000)  # as many rewards keep out no choice
        assert statuses(app, ("choose", long)) == [200] and statuses(app, ("reward", {"id": "x", "reward": 1})) == [503]
    for _ in range(5):  # refused ones, too, make room again
        assert statuses(app, ("choose", {"arms": "x" * 1800})) == [422]
        assert statuses(app, ("choose", {"arms": "x" * 3800})) == [413]


def test_a_long_batch_is_read_while_others_get_their_turn(app, monkeypatch):
    one, came = app.served["messages"], []
    prepare = one.prepare
    monkeypatch.setattr(one, "prepare", lambda body, asker: came.append(len(body.arms)) or prepare(body, asker))
    assert statuses(app, ("choose:batch", lines(*[{"arms": EYE}] * 1000)), ("choose", {"arms": EYE[:2]})) == [200, 200]
    assert len(came) == 1001 and came.index(2) < 100


def test_the_first_address_and_the_names_of_bandits(tmp_path):
    app = application(tmp_path, askers=askers())
    names, none, wrong = call(app, *(("/v1/bandits", None, key) for key in (bearer("auditor"), (), bearer("canary"))))
    start, nowhere, method = call(app, ("/", None), ("/v2", None), ("/healthz", {}))
    assert start[0] == 303 and start[1][b"location"] == b"/dashboard"
    assert names[0] == 200 and json.loads(names[2]) == {"bandits": ["messages"]}
    assert none[0] == wrong[0] == 401 and b"Bearer KEY" in none[2] and b"a known key" in wrong[2]
    assert nowhere[0] == 404 and b"/docs" in nowhere[2] and method[0] == 405 and b"another method" in method[2]
