"""The dashboard's routes: who may see what, and the headers and texts of pages. A browser looks at them elsewhere."""

import json
import re

import numpy as np
import pytest

from reticent.errors import Unavailable
from reticent_serve.holders.retirement import retire
from reticent_serve.service import config as configs
from reticent_serve.service import dashboard, page, words
from reticent_serve.service import history as histories
from serve_tests.service.servers import KEYS, LINEAR, application, askers, call, lines, page_of, reply, statuses, stored
from serve_tests.store.places import LASTS, Clock, Place, glm, play, restored, settle

EYE = np.eye(3).tolist()


@pytest.fixture
def now():
    return Clock()


@pytest.fixture
def keyed(tmp_path, now):
    return application(tmp_path, askers=askers(), clock=now)


def log_in(app, key, *headers):
    ((status, found, _),) = call(app, ("/login", {"key": key}, headers))
    return status, found.get(b"set-cookie", b"")


def cookie(app, role):
    status, given = log_in(app, KEYS[role])
    assert status == 204
    return ((b"cookie", given.partition(b";")[0]),)


def test_pages_have_headers_that_keep_others_out(keyed):
    may = cookie(keyed, "operator")
    paths = ("/dashboard", "/dashboard/messages", "/dashboard/other", "/assets/dashboard.js", "/assets/none", "/login")
    for status, headers, body in call(keyed, *((path, None, may) for path in paths)):
        assert status in (200, 303, 404) and headers[b"content-security-policy"].startswith(b"default-src 'self';")
        assert b"frame-ancestors 'none'" in headers[b"content-security-policy"]
        assert headers[b"x-content-type-options"] == b"nosniff" and headers[b"referrer-policy"] == b"no-referrer"
        assert not re.search(rb"<script>|<style|\sstyle=|\son[a-z]+=", body)  # nothing that this policy would stop


def test_nobody_is_sent_to_another_host(keyed):
    """A path with one slash too many is unknown: a redirect would name the host that the request names, over http."""
    for path in ("/dashboard/", "/metrics/", "/login/", "/v1/bandits/messages/status/", "/docs/"):
        ((status, headers, _),) = call(keyed, (path, None, ((b"host", b"elsewhere"),)))
        assert status == 404 and b"location" not in headers


def test_without_a_key_there_is_a_page_to_log_in(keyed):
    for path in ("/dashboard", "/dashboard/messages"):
        ((status, headers, _),) = call(keyed, (path, None))
        assert status == 303 and headers[b"location"] == b"/login"
    for key in ("", "wrong", KEYS["app"]):
        assert log_in(keyed, key) == (401, b"")
    assert call(keyed, ("/login", b"key=x"))[0][0] == 422 and call(keyed, ("/login", b"x" * 5000))[0][0] == 413


def test_whoever_tries_many_keys_has_to_wait(keyed):
    replies = [log_in(keyed, "wrong")[0] for _ in range(10)]
    assert replies[0] == 401 and replies[-1] == 429
    assert log_in(keyed, KEYS["operator"])[0] == 204  # nobody is locked out by them


def test_nothing_that_needs_a_key_is_kept_on_the_way_or_taken_for_another_kind(keyed):
    for may in (cookie(keyed, "operator"), ()):
        routes = ("status", "certificate", "estimate", "history", "none", "/metrics", "/readyz", "/dashboard/messages")
        for _, headers, _ in call(keyed, *((route, None, may) for route in routes)):
            assert headers[b"cache-control"] == b"no-store" and headers[b"x-content-type-options"] == b"nosniff"


def test_a_cookie_is_for_this_site_alone_and_holds_no_key(keyed):
    _, given = log_in(keyed, KEYS["operator"])
    assert b"; HttpOnly; SameSite=Strict" in given and b"Secure" not in given and KEYS["operator"].encode() not in given
    _, given = log_in(keyed, KEYS["operator"], (b"x-forwarded-proto", b"https"))
    assert given.endswith(b"; Secure")
    ((status, headers, _),) = call(keyed, ("/logout", {}))
    assert status == 204 and headers[b"set-cookie"].startswith(b"reticent=; Path=/; Max-Age=0;")


def test_a_cookie_ends_by_time_and_cannot_be_made_up(tmp_path, keyed, now):
    ((name, value),) = may = cookie(keyed, "auditor")
    who, until, code = value.removeprefix(b"reticent=").split(b".")
    operator = b"b3BlcmF0b3I="  # "operator"
    later = str(int(until) + 1).encode()
    forged = [(operator, until, code), (who, later, code), (who, until, b"0" * 64), (who, until), (b"", until, code)]
    for parts in forged:
        assert statuses(keyed, ("/dashboard/messages", None, ((name, b"reticent=" + b".".join(parts)),))) == [303]
    look = ("/dashboard/messages", None, may)
    assert statuses(keyed, look) == [200]
    keyed.close()
    again = application(tmp_path, askers=askers(), clock=now)  # after a restart, or at another worker
    assert statuses(again, look) == [200]
    now.now += 13 * 3600
    assert statuses(again, look) == [303]
    now.now -= 13 * 3600
    again.close()
    gone = application(tmp_path, askers=[one for one in askers() if one["name"] != "auditor"], clock=now)
    assert statuses(gone, look) == [303]


def test_an_auditor_sees_certificate_and_status_alone(keyed):
    seen = {role: page_of(keyed, *cookie(keyed, role)) for role in ("operator", "auditor")}
    assert "Is it learning?" in seen["operator"] and "Is it learning?" not in seen["auditor"]
    for text in ("What is promised", "Choices so far", "Events", "Privacy certificate"):
        assert text in seen["operator"] and text in seen["auditor"]
    for role, status in (("operator", 200), ("auditor", 403)):
        assert statuses(keyed, ("history", None, cookie(keyed, role))) == [status]
    for route, body in (("choose", {"arms": EYE}), ("erase", {"person": "ada"})):  # a cookie is for looking
        assert statuses(keyed, (route, body, cookie(keyed, "operator"))) == [401]


def test_names_are_escaped(tmp_path):
    bad = "<script>alert(1)</script>\"'&"
    profiles = {bad: {"arms": {f"a{bad}": EYE[0], f"b{bad}": EYE[1]}}}
    app = application(tmp_path, coordinates=[f"{i}{bad}" for i in range(3)], profiles=profiles)
    assert page_of(app).count("<script") == 2 and page_of(app).count("&lt;script&gt;") >= 6


def test_several_bandits_have_a_list_and_one_is_shown_at_once(tmp_path):
    bandits = {name: LINEAR | {"database": f"{name}.db"} for name in ("first", "second")}
    ((status, _, body),) = call(application(tmp_path, bandits=bandits), ("/dashboard", None))
    assert status == 200 and b'href="/dashboard/first"' in body and b'href="/dashboard/second"' in body
    ((status, headers, _),) = call(application(tmp_path), ("/dashboard", None))
    assert status == 303 and headers[b"location"] == b"/dashboard/messages"


def test_a_database_that_is_away_is_said(tmp_path, monkeypatch):
    app = application(tmp_path)

    def away(*_):
        raise Unavailable("canary")

    monkeypatch.setattr(app.served["messages"], "status", away)
    body = page_of(app)
    assert "Needs attention" in body and "Expected a database that can be written" in body
    assert "canary" not in body and "tiles" not in body


def test_assets_are_sent_once_and_nothing_else_is(tmp_path):
    app = application(tmp_path)
    ((status, headers, body),) = call(app, ("/assets/uPlot.iife.min.js", None))
    assert status == 200 and b"1.6.32" in body[:100] and headers[b"content-type"].startswith(b"text/javascript")
    assert call(app, ("/assets/uPlot.iife.min.js", None, ((b"if-none-match", headers[b"etag"]),)))[0][::2] == (304, b"")
    for path in ("/assets/../app.py", "/assets/%2e%2e/app.py", "/assets/app.py", "/assets/"):
        assert statuses(app, (path, None)) == [404]
    assert {"dashboard.js", "dashboard.css", "icon.svg", "uPlot.min.css", "uPlot.LICENSE"} <= set(dashboard.assets())


def served_setting(**options):
    return configs.convert({"bandits": {"a": LINEAR | options}}).bandits["a"]


def test_history_is_thinned_and_keeps_the_largest_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(histories, "MOST_POINTS", 10)
    with Place(str(tmp_path / "bandit.db"), None).open(glm(features=10, first=1)) as stored:
        for i in range(30):
            stored.choose(np.eye(10)[:4], request=f"{i}")
            settle(stored)
        history = histories.History(stored, served_setting(features=10))
        found, summary, past = history.shown(), history.summary(), stored.history
    assert len(past) > 20 and len(found["releases"]) == len(found["choices"]) == len(found["features"][0]["low"]) == 10
    assert found["releases"][0] == 0 and found["releases"][-1] == len(past) - 1 == summary.version
    kept = [int(one["name"].removeprefix("feature ")) - 1 for one in found["features"]]
    assert kept == sorted(np.argsort(-np.abs(past[-1].estimate))[:8]) and found["left_out"] == 2


def test_history_is_computed_once_for_each_release(tmp_path, monkeypatch):
    with Place(str(tmp_path / "bandit.db"), None).open(glm()) as stored:
        setting = served_setting(profiles={"p": {"arms": {"x": EYE[0]}}})
        history, calls, offers = histories.History(stored, setting), [], stored.offers
        monkeypatch.setattr(stored, "offers", lambda arms, **more: calls.append(1) or offers(arms, **more))
        for _ in range(5):
            history.shown(), history.summary()
        assert len(calls) == 1
        play(stored, np.random.default_rng(0), 12)
        assert history.shown()["version"] == 1 and len(calls) == 2


def test_what_a_page_says_is_what_the_status_says(tmp_path, now):
    app = application(tmp_path, clock=now)
    call(app, ("choose:batch", lines(*[{"arms": EYE}] * 8)))
    settle(stored(app))
    call(app, ("choose:batch", lines(*[{"arms": EYE}] * 4)))
    body = page_of(app)
    assert "in 47 choices" in body and "a choice counts 10 seconds after it was made" in body
    assert "People get random arms until the first step of 59 choices counts. Made so far" in body
    assert "12; counted so far: 8. A choice counts 10 seconds after it was made" in body
    assert '<progress value="8" max="59" aria-label="Next release">' in body and "8 counted so far" in body
    call(app, ("choose:batch", lines(*[{"arms": EYE}] * 47)))
    body = page_of(app)
    assert "in 10\u202fs" in body  # nobody more has to come
    assert f"until about {words.date(now.now + LASTS)}, when the first step of 59 choices counts" in body
    before = now.now
    settle(stored(app))
    now.now = before + LASTS + 30
    found, body = reply(app, "status"), page_of(app)
    assert found["released_at"] == before + LASTS and found["last_release_after"] == 59
    assert f"the last one {words.ago(30)}" in body and "30\u202fs ago" in body


def test_numbers_as_people_read_them():
    assert [words.ago(s) for s in (0.5, 12, 300, 7200, 1e6)] == [
        "just now",
        *(text.replace(" ", words.SPACE, 1) for text in ("12 s ago", "5 min ago", "2 h ago", "12 days ago")),
    ]
    assert [words.span(s).replace(words.SPACE, " ") for s in (0.05, 10, 90.5, 3600, 86400, 172800, 6e5)] == [
        *("0.05 s", "10 s", "90.5 s", "60 min", "24 h", "2 days", "6.94 days")
    ]
    assert words.count(1234567) == "1\u202f234\u202f567" and words.counted(1, "choice") == "1 choice"
    assert [words.percent(p)[:-2] for p in (0, 1e-4, 0.42, 0.9999, 1)] == ["0", "under 1", "42", "over 99", "100"]
    assert words.signed(-0.5) == "\u22120.50" and words.signed(-0.001) == "0.00"


def test_the_same_event_again_and_again_is_one_line():
    events = [{"at": 0.0, "what": "a"}, *[{"at": float(i), "what": "b"} for i in range(3)], {"at": 9.0, "what": "a"}]
    assert re.findall("<span>(.*?)</span>", page.events(events)) == ["a", "b (3 times)", "a"]


def test_a_bandit_that_is_used_up_is_said_to_be(tmp_path):
    app = application(tmp_path, horizon=60)
    ((_, _, before),) = call(app, ("/metrics", None))
    call(app, ("choose:batch", lines(*[{"arms": EYE}] * 61)))
    (_, _, after), (_, _, status), (refused, _, _) = call(
        app, ("/metrics", None), ("status", None), ("choose", {"arms": EYE})
    )
    assert "in 10\u202fs" in page_of(app)  # a release is still to come
    settle(stored(app))
    body = page_of(app)
    app.close()
    assert b'reticent_choices_left{bandit="messages"} 60.0' in before and refused == 410
    assert b'reticent_choices_left{bandit="messages"} 0.0' in after and json.loads(status)["choices_left"] == 0
    assert ">Used up<" in body and "Learnt what to offer" in body and "another name" in body
    assert "Healthy" not in body and "a choice counts" not in body and ">none<" in body


def test_a_retired_bandit_is_said_to_be(tmp_path):
    application(tmp_path).close()
    retire(tmp_path / "bandit.db", name="messages")
    body = page_of(application(tmp_path))
    assert ">Retired<" in body and "No: nothing has been released so far." in body
    assert "Healthy" not in body and "a choice counts" not in body and ">none<" in body


def test_what_is_counted_since_a_restore_is_said_to_be(tmp_path):
    app = application(tmp_path)
    call(app, ("choose:batch", lines(*[{"arms": EYE}] * 20)))
    assert "since the restore" not in page_of(app)
    app.close()
    place = Place(str(tmp_path / "bandit.db"), tmp_path / "bandit.db.keys")
    restored(place, configs.build(served_setting(), "messages"), "messages")
    app = application(tmp_path)
    body = page_of(app)
    assert "Choices so far since the restore" in body and ">Healthy<" in body
    assert "a choice counts 10 seconds after it was made" in body
    assert "Nothing has been released since the restore. People get arms by what was released before it until" in body
