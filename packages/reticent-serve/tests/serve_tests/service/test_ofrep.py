"""OpenFeature's protocol: flags are bandits, evaluations choices, and how many there are tells of nobody's fields."""

import json

import numpy as np
import pytest

from core_tests.canaries import Canaries
from reticent_serve import retire
from reticent_serve.service import ofrep
from serve_tests.service.servers import FIELDS, LINEAR, application, askers, bearer, call, reply, statuses, stored
from serve_tests.service.test_openapi import fits
from serve_tests.store.places import Clock, settle, total

ADA = {"targetingKey": "ada", "age": 40, "theme": {"dark": [{"deep": True}]}}  # a theme is for other flags
FLAG = f"{ofrep.START}messages"


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def app(tmp_path, clock):
    return application(tmp_path, features=FIELDS["features"], budget={"unit": {"rounds": 9}}, clock=clock)


def evaluate(app, path, context, headers=()):
    body = context if isinstance(context, bytes) else {"context": context}
    ((status, given, reply),) = call(app, (path, body, headers))
    assert given[b"cache-control"] == b"no-store" and b"etag" not in given
    return status, json.loads(reply)


def expected(folder, context, name, reward):
    """The sums after one choice of that action, asked for in the usual way."""
    folder.mkdir()
    app = application(folder, features=FIELDS["features"], budget={"unit": {"rounds": 9}})
    ask = {"context": {"age": context["age"]}, "actions": [name], "person": context["targetingKey"]}
    call(app, ("reward", {"id": reply(app, "choose", ask)["id"], "reward": reward}))
    settle(stored(app))
    found = total(stored(app))
    app.close()
    assert found.any()
    return found


def test_a_single_evaluation_is_a_choice(app, tmp_path):
    status, first = evaluate(app, FLAG, ADA)
    assert status == 200 and first["value"] == first["variant"] in ("walk", "sleep") and first["key"] == "messages"
    assert first["reason"] == "SPLIT" and set(first["metadata"]) == {"id", "propensity"}
    assert 0 < first["metadata"]["propensity"] <= 1
    named = [evaluate(app, FLAG, ADA | {"requestId": "visit-17", "age": age})[1] for age in (40, 41)]
    assert named[0] == named[1] and stored(app).head.choices == 2
    evaluate(app, FLAG, ADA | {"requestId": "visit-17", "targetingKey": "bob"})
    assert stored(app).head.choices == 3  # another person's request is another one
    call(app, ("reward", {"id": first["metadata"]["id"], "reward": 1.0}))
    settle(stored(app))
    assert np.array_equal(total(stored(app)), expected(tmp_path / "other", ADA, first["value"], 1.0))


def test_a_bandit_without_named_actions_is_no_flag(tmp_path):
    others = {"health": FIELDS, "plain": LINEAR, "shared": SHARED, "reserved": RESERVED}
    bandits = {name: one | {"database": f"{i}.db"} for i, (name, one) in enumerate(others.items())}
    app = application(tmp_path, bandits=bandits)
    for name in ("plain", "shared", "reserved", "nobody", ""):
        status, reply = evaluate(app, f"{ofrep.START}{name}", ADA)
        assert status == 404 and reply["errorCode"] == "FLAG_NOT_FOUND" and reply["key"] == name
    _, without = evaluate(app, f"{ofrep.START}health", {"age": 3})  # nobody's rounds are limited
    assert without["value"] in ("walk", "sleep")


PLAN = {"plan": {"kind": "Category", "values": ["free", "paid"]}}
SHARED = FIELDS | {"features": {"context": PLAN, "action": {"minutes": {"kind": "Number", "low": 0, "high": 9}}}}
RESERVED = FIELDS | {"features": FIELDS["features"] | {"context": {"requestId": PLAN["plan"]}}}
WRONG = [
    *((b"{", "PARSE_ERROR"), (b"[]", "PARSE_ERROR"), (b'{"context":[]}', "PARSE_ERROR")),
    (b'{"context":{"age":1,"age":2}}', "PARSE_ERROR"),
    *((b'{"context":{"other":[{"a":1,"\\u0061":2}]}}', "PARSE_ERROR"), (b"{}", "TARGETING_KEY_MISSING")),
    *(({"age": 3}, "TARGETING_KEY_MISSING"), ({"targetingKey": "", "age": 3}, "TARGETING_KEY_MISSING")),
    *(({"targetingKey": 17}, "INVALID_CONTEXT"), ({"targetingKey": "a" * 256}, "INVALID_CONTEXT")),
    *((ADA | {"requestId": 17}, "INVALID_CONTEXT"), (ADA | {"age": "forty"}, "INVALID_CONTEXT")),
    (ADA | {"age": True}, "INVALID_CONTEXT"),
]


@pytest.mark.parametrize(("context", "code"), WRONG)
def test_what_is_wrong_has_a_code_and_takes_no_number(app, context, code):
    status, reply = evaluate(app, FLAG, context)
    assert status == 400 and reply["errorCode"] == code and reply["key"] == "messages"
    assert reply["errorDetails"].startswith("Expected ")
    assert set(reply) == {"key", "errorCode", "errorDetails"} and stored(app).head.choices == 0


HOLDOUT = {"holdout": {"share": 0.5, "action": "walk"}, "reward": {"default": 0.0}, "horizon": None}


@pytest.mark.parametrize("age", [40, True, {"a": 1}])
def test_with_a_holdout_a_person_has_as_many_numbers_whatever_the_fields_are(tmp_path, clock, age):
    app = application(tmp_path, features=FIELDS["features"], clock=clock, **HOLDOUT)
    for _ in range(3):
        evaluate(app, FLAG, ADA | {"age": age, "requestId": "visit-17"})
    assert stored(app).head.choices == 1
    for body in (b"{}", b'{"context": {}}'):
        for _ in range(3):
            evaluate(app, FLAG, body)
    assert stored(app).head.choices == 7  # they name nobody, and may be of different people


def test_refusals_do_not_echo(app):
    canaries = Canaries(5)
    texts, number = canaries.texts, canaries.numbers[0]
    contexts = [
        {"targetingKey": texts["person"] * 20},
        {"targetingKey": texts["person"], "age": texts["field"]},
        {"targetingKey": [texts["person"]], "age": number},
        {"targetingKey": texts["person"], "requestId": [texts["request"], number]},
    ]
    replies = [call(app, (FLAG, {"context": context}))[0] for context in contexts]
    assert {status for status, _, _ in replies} == {400}
    assert canaries.found_in([("replies", repr(replies).encode())], np.ones(3)) == []


def test_roles_rates_and_methods(tmp_path):
    app = application(tmp_path, features=FIELDS["features"], askers=askers(rate=2.0))
    assert evaluate(app, FLAG, ADA)[0] == 401
    for role, expected_status in (("operator", 403), ("app", 200)):
        status, told = evaluate(app, FLAG, ADA, bearer(role))
        assert status == expected_status and (status == 200) == ("value" in told)
    found = [call(app, (FLAG, {"context": ADA}, bearer("app")))[0] for _ in range(3)]
    assert found[-1][0] == 429 and int(found[-1][1][b"retry-after"]) >= 1
    assert json.loads(found[-1][2])["errorCode"] == "GENERAL" and statuses(app, (FLAG, None)) == [405]


def test_a_retired_bandit_is_a_flag_that_fails(tmp_path):
    options = {"features": FIELDS["features"]}
    app = application(tmp_path, **options)
    evaluate(app, FLAG, ADA)
    app.close()
    retire(tmp_path / "bandit.db", name="messages")
    app = application(tmp_path, **options)
    status, reply = evaluate(app, FLAG, ADA)
    assert status == 400 and reply["errorCode"] == "GENERAL" and "retired" in reply["errorDetails"]


def test_what_is_described_is_taken_and_given(app):
    document = reply(app, "/openapi.json")
    about = document["paths"][ofrep.START + "{flag}"]["post"]
    given = about["requestBody"]["content"]["application/json"]
    example = given["examples"]["a person"]["value"]
    _, told = evaluate(app, FLAG, example["context"])
    _, failed = evaluate(app, FLAG, b"{}")
    said = {status: one["content"]["application/json"]["schema"] for status, one in about["responses"].items()}
    assert fits(example, given["schema"], document) and fits(told, said["200"], document)
    assert fits(failed, said["400"], document) and not fits(failed, said["200"], document)


def test_the_key_is_the_person(app):
    assert evaluate(app, FLAG, ADA)[0] == evaluate(app, FLAG, ADA | {"targetingKey": "bob"})[0] == 200
    assert statuses(app, ("choose", {"context": {"age": 1}, "person": ADA["targetingKey"]})) == [200]
    held = stored(app)
    settle(held)
    held.erase(ADA["targetingKey"])
