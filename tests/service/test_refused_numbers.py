"""With a control group every request that is refused has a number, whichever route it comes by: else what one person
sends would move everybody else to another side."""

import json
from dataclasses import dataclass, field

import pytest

from tacit import Control, JointGLM, registry
from tacit.service import ofrep
from tests.service.servers import FIELDS, application, call, stored
from tests.store.places import Clock, settle

GOOD = {"context": {"age": 40}}


@dataclass(kw_only=True, eq=False)
class Controlled(JointGLM):
    control: Control | None = field(default_factory=lambda: Control(arm="walk", share=0.5))
    first: int | None = 20


@pytest.fixture
def app(tmp_path, monkeypatch):
    load = registry.load
    monkeypatch.setattr(registry, "load", lambda home, name: Controlled if name == "JointGLM" else load(home, name))
    options = {"kind": "joint-glm", "features": FIELDS["features"], "missing_as": 0.0, "clock": Clock()}
    return application(tmp_path, dim=0, horizon=None, **options)


BAD = {
    "no JSON": b"{",
    "an unknown field": {"context": {"age": 40}, "more": 1},
    "a wrong value": {"context": {"age": "old"}},
    "an unknown action": {"context": {"age": 40}, "actions": ["walk", "fly"]},
    "no arm of the control": {"context": {"age": 40}, "actions": ["sleep"]},
    "a person": {"context": {"age": 40}, "person": "ada"},
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_choose(app, body):
    call(app, ("choose", GOOD))
    ((status, _, reply),) = call(app, ("choose", body))
    assert status == 422 and json.loads(reply)["error"].startswith("Expected")
    assert stored(app).choices == 2


def test_the_same_request_has_no_second_number(app):
    for age in ("old", "old", 40):
        ((status, _, _),) = call(app, ("choose", {"context": {"age": age}, "request": "visit-17"}))
        assert status == 422
    assert stored(app).choices == 1


def test_a_batch_and_its_sums(app):
    lines = b"\n".join(
        one if isinstance(one, bytes) else json.dumps(one).encode() for one in (GOOD, *BAD.values()) for _ in range(8)
    )
    ((status, _, reply),) = call(app, ("choose:batch", lines, ((b"content-type", b"application/x-ndjson"),)))
    assert status == 200 and sum("error" in json.loads(line) for line in reply.splitlines()) == 8 * len(BAD)
    assert stored(app).choices == 8 * (1 + len(BAD))
    settle(stored(app))
    (look, *_) = stored(app).trial_sums.looks
    assert look.counts == (look.people // 2, look.people // 2) and look.people >= 8


@pytest.mark.parametrize("context", [{"targetingKey": "ada", "age": {}}, {"targetingKey": "ada", "age": "old"}])
def test_flags(app, context):
    ((status, _, _),) = call(app, (f"{ofrep.START}messages", {"context": context}))
    assert status == 400 and stored(app).choices == 1
    ((status, _, reply),) = call(app, (f"{ofrep.START}messages", {"context": {"targetingKey": "ada", "age": 40}}))
    assert status == 200 and json.loads(reply)["metadata"]["propensity"] >= 0.25 and stored(app).choices == 2
