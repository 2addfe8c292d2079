"""With a holdout every request that is refused has a number, whichever route it comes by: else what one person
sends would move everybody else to another group."""

import pytest

from reticent_serve.service import ofrep
from serve_tests.service.servers import FIELDS, application, call, each_reply, reply, statuses, stored
from serve_tests.store.places import Clock, settle

GOOD = {"context": {"age": 40}}


@pytest.fixture
def app(tmp_path):
    holdout, budget = {"share": 0.5, "action": "walk"}, {"epsilon": 30.0, "delta": 1e-5}
    options = {"features": FIELDS["features"], "reward": {"default": 0.0}, "holdout": holdout, "budget": budget}
    return application(tmp_path, horizon=None, clock=Clock(), **options)


BAD = {
    "no JSON": b"{",
    "an unknown field": {"context": {"age": 40}, "more": 1},
    "a wrong value": {"context": {"age": "old"}},
    "an unknown action": {"context": {"age": 40}, "actions": ["walk", "fly"]},
    "no action of the holdout": {"context": {"age": 40}, "actions": ["sleep"]},
    "a person": {"context": {"age": 40}, "person": "ada"},
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_choose(app, body):
    call(app, ("choose", GOOD))
    assert reply(app, "choose", body)["error"].startswith("Expected") and stored(app).choices == 2


def test_the_same_request_has_no_second_number(app):
    for age in ("old", "old", 40):
        assert statuses(app, ("choose", {"context": {"age": age}, "request": "visit-17"})) == [422]
    assert stored(app).choices == 1


def test_a_batch_and_its_sums(app):
    found = each_reply(app, "choose:batch", *[one for one in (GOOD, *BAD.values()) for _ in range(8)])
    assert sum("error" in one for one in found) == 8 * len(BAD) and stored(app).choices == 8 * (1 + len(BAD))
    settle(stored(app))
    (look, *_) = stored(app).trial_sums.looks
    assert look.counts == (look.people // 2, look.people // 2) and look.people >= 8


@pytest.mark.parametrize("context", [{"targetingKey": "ada", "age": {}}, {"targetingKey": "ada", "age": "old"}])
def test_flags(app, context):
    flag = f"{ofrep.START}messages"
    assert statuses(app, (flag, {"context": context})) == [400] and stored(app).choices == 1
    found = reply(app, flag, {"context": {"targetingKey": "ada", "age": 40}})
    assert found["metadata"]["propensity"] >= 0.25 and stored(app).choices == 2
