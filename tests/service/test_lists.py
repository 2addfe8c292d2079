"""Lists through HTTP: items with fields, rewards by item, the clients and the dashboard."""

import json

import numpy as np
import pytest

from tacit.features import Schema
from tacit.service.calls import Caller, ServedChoice
from tests.service.servers import application, call, stored
from tests.store.places import settle, total

FEATURES = {
    "context": {"age": {"kind": "Number", "low": 0, "high": 100}},
    "action": {"topic": {"kind": "Category", "values": ["news", "sport"]}},
    "cross": [["age", "topic"]],
}
GIVEN = {"kind": "joint-glm", "horizon": None, "dim": 0, "features": FEATURES, "missing_as": 0.0}
ITEMS = {"a": {"topic": "news"}, "b": {"topic": "sport"}, "c": {"topic": "sport"}}


@pytest.fixture
def app(tmp_path):
    app = application(tmp_path, positions=[1.0, 0.5], **GIVEN)
    yield app
    app.close()


def test_a_list_and_its_rewards(app):
    ask = {"context": {"age": 40}, "actions": ITEMS, "request": "1", "propensity": True}
    ((code, _, text),) = call(app, ("choose", ask))
    found = json.loads(text)
    assert (
        code == 200
        and len(found["indices"]) == len(found["names"]) == 2
        and found["propensity"] == pytest.approx(1 / 3)
    )
    assert [list(ITEMS)[i] for i in found["indices"]] == found["names"] and found["name"] == found["names"][0]
    assert json.loads(call(app, ("choose", ask))[0][2]) == found
    ((_, _, text),) = call(app, ("choose", ask | {"request": "2", "top": 1}))
    assert len(json.loads(text)["names"]) == 1
    ((code, _, _),) = call(app, ("choose", ask | {"request": "3", "top": 9}))
    assert code == 422
    for wrong in (1.0, [1.0] * 3, [2.0], "yes", [None], {"a": 1.0}):
        ((code, _, text),) = call(app, ("reward", {"id": found["id"], "reward": wrong}))
        assert code in (400, 422) and json.loads(text)["error"].startswith("Expected")
    ((code, _, _),) = call(app, ("reward", {"id": found["id"], "reward": [0.0, 1.0]}))
    settle(stored(app))
    sums = total(stored(app)) * stored(app)._versions.fold.algorithm.plan.mechanism.cell
    clicked = Schema.from_dict(FEATURES).vectors({"age": 40}, ITEMS)[found["names"][1]]
    last = sums[-(len(clicked) - 1) :]
    assert code == 200 and np.allclose(
        last / np.linalg.norm(last), clicked[1:] / np.linalg.norm(clicked[1:]), atol=1e-6
    )


def test_the_dashboard_and_the_certificate_say_so(app):
    page, told = (found.decode() for _, _, found in call(app, ("/dashboard/messages", None), ("certificate", None)))
    assert "which 2 items to list, best first" in page
    assert "places of a list" in told and "(positions=)" in told


def test_the_client_sends_rewards_by_place(app):
    """What it was given by name."""
    ((_, _, text),) = call(app, ("choose", {"context": {"age": 40}, "actions": ITEMS}))
    choice, caller = ServedChoice.of(json.loads(text)), Caller("http://127.0.0.1:1", "messages", key=None, patience=0)
    assert len(choice.names) == len(choice.indices) == 2 and isinstance(choice.names, tuple)
    for given in ({choice.names[1]: 1}, [0, True], np.array([0.0, 1.0])):
        body = json.loads(caller.reward(choice, given).body)
        assert body == {"id": choice.id, "reward": [0.0, 1.0]}
        assert call(app, ("reward", body))[0][0] == 200
    assert json.loads(caller.reward(choice, None).body)["reward"] is None
    with pytest.raises(ValueError, match="names of items"):
        caller.reward(choice, {"elsewhere": 1.0})
