"""Requests with people's fields: the same choices as with vectors, poison, canaries, both clients, the dashboard."""

import asyncio
import json
import logging
import math

import numpy as np
import pytest

from core_tests.canaries import Canaries
from reticent.errors import BadState
from reticent.features import Schema
from reticent_serve.service import AsyncClient, Client
from reticent_serve.service.calls import Caller
from serve_tests.service.servers import Running, application, call, each_reply, lines, page_of, reply, statuses, stored
from serve_tests.service.test_app import check_refused
from serve_tests.store.places import contribution, linear, settle, total

FEATURES = {
    "context": {
        "age": {"kind": "Number", "low": 0, "high": 100, "bins": 3},
        "sex": {"kind": "Category", "values": ["F", "M"]},
        "city": {"kind": "Hashed", "slots": 4},
    },
    "action": {"tags": {"kind": "Tags", "values": ["short", "loud"]}},
    "cross": [["tags", "age"]],
}
SCHEMA, PERSON = Schema.from_dict(FEATURES), {"age": 31, "sex": "F", "city": "Oslo"}
ACTIONS = {"walk": {"tags": ["short"]}, "ü": {}}
PROFILES = {"somebody": {"context": PERSON, "actions": ACTIONS}}
TOML = """
[bandits.messages]
kind = "joint-glm"
horizon = 5000
budget = {epsilon = 1.0, delta = 1e-5}
database = "bandit.db"
delay = 0.0
reward = {window = "1 minute"}
[bandits.messages.features]
arms = "disjoint"
actions = ["walk", "sleep"]
context.age = {kind = "Number", low = 0, high = 100}
context.likes = {kind = "Tags", values = ["music"]}
"""


@pytest.fixture
def app(tmp_path):
    return application(tmp_path, features=FEATURES, profiles=PROFILES)


def test_fields_are_learnt_from_as_their_vectors(app):
    asks = [{"context": {"age": 9 * i, "sex": "FMX"[i % 3]}, "actions": ACTIONS, "request": f"{i}"} for i in range(6)]
    found = each_reply(app, "choose:batch", *asks)
    assert [each["name"] in ACTIONS for each in found] == [True] * 6
    assert [reply(app, "choose", ask) for ask in asks] == found
    call(app, *(("reward", {"id": each["id"], "reward": 0.5}) for each in found))
    settle(stored(app))
    bandit = linear(features=SCHEMA, horizon=5000)
    vectors = [SCHEMA.vectors(ask["context"], ACTIONS)[each["name"]] for ask, each in zip(asks, found, strict=True)]
    assert np.array_equal(total(stored(app)), sum(contribution(bandit, x, 0.5) for x in vectors))
    masked = reply(app, "choose", asks[0] | {"available": ["ü"], "request": "x", "propensity": True})
    assert masked["name"] == "ü" and masked["index"] == 1 and stored(app).head.choices == 7


GOOD = '{"context":{"age":3},"actions":{"walk":{}}%s}'
POISON = [
    *(b'{"context":{}}', b'{"actions":{"walk":{}}}', b'{"arms":[[1]]}', b'{"context":[],"actions":{"walk":{}}}'),
    *(b'{"context":{},"actions":{}}', b'{"context":{"age":3,"age":3},"actions":{"walk":{}}}'),
    b'{"context":{"age":3,"\\u0061ge":3},"actions":{"walk":{}}}',
    *(b'{"context":{},"actions":{"walk":{},"walk":{}}}', b'{"context":{},"actions":{"walk":{"tags":[],"tags":[]}}}'),
    b'{"context":{},"context":{},"actions":{"walk":{}}}',
    *(
        b'{"context":{"age":%s},"actions":{"walk":{}}}' % age
        for age in (b"NaN", b"Infinity", b"1e999", b'"31"', b"true", b"[31]", b'["x"]', b"{}", b"-", b"9" * 5000)
    ),
    *(b'{"context":{"sex":%s},"actions":{"walk":{}}}' % sex for sex in (b"1", b"true", b'["F"]', b"1.5", b'"\\ud800')),
    *(b'{"context":{"city":%s},"actions":{"walk":{}}}' % city for city in (b"1.5", b"false", b"[]", b'"\xff"')),
    *(
        b'{"context":{},"actions":{"walk":{"tags":%s}}}' % tags
        for tags in (b'"short"', b"1", b"[1]", b"[null]", b"[[]]")
    ),
    *(b'{"context":{"old":1},"actions":{"walk":{}}}', b'{"context":{},"actions":{"walk":{"old":1}}}'),
    *(b'{"context":{"tags":[]},"actions":{"walk":{}}}', b'{"context":{},"actions":{"walk":{"age":3}}}'),
    *(b'{"context":{},"actions":["walk"]}', b'{"context":{},"actions":"walk"}', b'{"context":{},"actions":null}'),
    *(b'{"context":{},"actions":{"walk":null}}', b'{"context":null,"actions":["walk"]}'),
    *((GOOD % more).encode() for more in (',"arms":[[1]]', ',"available":["sleep"]', ',"available":[]', ',"x":1')),
    b'{"context":%s1%s,"actions":{"walk":{}}}' % (b'{"a":' * 100_000, b"}" * 100_000),
    b'{"context":{"city":"%s"},"actions":{"walk":{}}}' % (b"x" * 2_000_000),
]


def test_poison_in_fields_is_refused_and_changes_nothing(app):
    call(app, ("choose", (GOOD % ',"request":"first"').encode()))
    check_refused(app, POISON, ("choose", "choose:batch"))
    odd = {"age": 10**400, "sex": None, "city": -(2**70)}  # no poison: cut, none, any whole number
    assert statuses(app, ("choose", {"context": odd, "actions": ACTIONS})) == [200] and stored(app).head.choices == 2


def test_a_bandit_without_a_schema_takes_no_fields(tmp_path):
    app, arms = application(tmp_path), np.eye(3).tolist()
    for body in ({"context": {}}, {"arms": arms, "context": {}}, {"arms": arms, "actions": ["a"]}, {"actions": ["a"]}):
        assert reply(app, "choose", body) == {"error": "Expected arms, and no context or actions, for this bandit."}


def test_canaries_in_fields_are_in_no_reply_log_or_row(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    app = application(tmp_path, features=FEATURES, profiles=PROFILES, budget={"unit": {"rounds": 9}})
    canaries = Canaries(5)
    text, number, replies = canaries.texts, canaries.reward, []
    good = {"context": {"city": text["arm"], "age": number}, "actions": {"walk": {"tags": [text["field"]]}}}
    good |= {"person": text["person"]}
    replies += call(app, ("choose", good | {"request": text["request"]}))
    assert replies[0][0] == 200
    for change in (
        *({"context": {text["field"]: number}}, {"context": {"age": text["arm"]}}, {"context": {"sex": number}}),
        *({"context": {"city": [text["arm"]]}}, {"actions": {"walk": {text["field"]: 1}}}),
        *({"actions": {"walk": {"tags": text["arm"]}}}, {"actions": [text["arm"]]}, {"available": [text["available"]]}),
    ):
        found = call(app, ("choose", good | change), ("choose:batch", lines(good | change)))
        assert all(status == 422 or b"error" in body for status, _, body in found)
        replies += found
    replies += call(app, *((route, None) for route in ("status", "certificate", "history", "estimate", "/metrics")))
    with stored(app)._database.transaction() as run:
        found = [run(f"SELECT * FROM {name}") for name in ("choice", "waiting", "person", "event", "bandit")]
    values = [value for rows in found for row in rows for value in row]
    kept = [value if isinstance(value, bytes) else repr(value).encode() for value in values]
    log = [logging.Formatter().format(record).encode() for record in caplog.records]
    seen = [repr(headers).encode() + body for _, headers, body in replies]
    assert len(kept) > 20 and canaries.found_in([("all", b"\n".join([*kept, *log, *seen]))]) == []


def test_a_schema_that_changed_is_refused_when_the_server_starts(tmp_path):
    application(tmp_path, features=FEATURES).close()
    other = FEATURES | {"context": FEATURES["context"] | {"age": {"kind": "Number", "low": 0, "high": 99, "bins": 3}}}
    for change in ({"features": other}, {"features": SCHEMA.dim}):
        with pytest.raises(BadState, match="got another features: what was learnt belongs to the numbers"):
            application(tmp_path, **change)


BY_FIELDS = {
    "context": {name: one for name, one in FEATURES["context"].items() if name != "city"},
    "arms": "disjoint",
    "actions": ["walk", "sleep", "read"],
}
ARMS = {"walk": [0.6, 0.1, 0.0], "sleep": [0.1, 0.7, 0.0]}


@pytest.mark.parametrize(
    ("options", "ask", "said"),
    [
        ({"features": BY_FIELDS}, {"context": {"age": 9, "sex": "F"}}, "by fields"),
        ({}, {"arms": ARMS}, "centred rewards"),
    ],
    ids=["fields", "vectors"],
)
def test_rare_rewards_are_served_with_a_declared_base_rate(tmp_path, options, ask, said):
    """A click in thirty, silence otherwise: every choice enters, and the certificate says what was declared."""
    app = application(tmp_path, horizon=None, reward={"base_rate": 0.03, "default": 0.0}, **options)
    found = each_reply(app, "choose:batch", *[ask] * 10)
    call(app, ("reward", {"id": found[0]["id"], "reward": 1.0}))
    settle(stored(app))
    assert stored(app).entered == 10 and {each["name"] for each in found} <= {"walk", "sleep", "read"}
    told, contribution = reply(app, "certificate"), stored(app).one_pass.learnt.contribution
    assert said in json.dumps(told) and "base_rate" in json.dumps(told) and told["private"]
    assert contribution.centre == 0.03 and 1.3 < contribution.sensitivity < 1.5


def test_the_dashboard_has_the_names_of_the_schema_and_offers_by_fields(app):
    named, page = [one["name"] for one in reply(app, "history")["features"]], page_of(app)
    assert len(named) == 8 and set(named) <= set(SCHEMA.labels)
    assert "somebody" in page and "walk" in page and "ü" in page
    assert reply(app, "certificate")["features"] == str(SCHEMA)


def test_both_clients_send_fields(tmp_path):
    server, person = Running(tmp_path, TOML), {"age": np.float64(31), "likes": {"music"}}

    async def ask():
        async with AsyncClient(server.address, "messages") as client:
            choice = await client.choose(context=person, actions=("sleep",), request="one")
            assert await client.reward(choice, 1.0) and "cannot be undone" in await client.erase("ada")
            return choice

    with Client(server.address, "messages") as client:
        first = client.choose(context=person, actions=["sleep"], request="one")
        assert first.name == "sleep" and asyncio.run(ask()).id == first.id
        assert client.choose(context={}, available=["walk"]).name == "walk" and client.erase(17) == client.erase("ada")
        assert client.status()["choices"] == 2 and "disjoint arms (2 actions)" in client.certificate()["features"]
    assert server.stop() == 0


def test_what_a_client_sends_is_what_the_schema_would_take():
    caller = Caller("http://localhost", "messages", key=None, patience=0.0)

    def sent(*given):
        return json.loads(caller.choose(*given, "r", None, None, None, False).body)

    odd = {"a": np.int32(3), "b": math.nan, "c": np.array(["x", "y"]), "d": ("x",), "e": None}
    assert sent(None, odd, {"f": {"g": {"x"}}}) == {
        "request": "r",
        "context": {"a": 3, "b": None, "c": ["x", "y"], "d": ["x"], "e": None},
        "actions": {"f": {"g": ["x"]}},
    }
    for wrong in ((None, None, None), (np.eye(2), {}, None), (np.eye(2), None, ["a"]), (None, {"a": object()}, None)):
        with pytest.raises(ValueError, match="^Expected "):
            sent(*wrong)
    with pytest.raises(ValueError, match="finite"):
        sent(None, {"a": math.inf}, None)
