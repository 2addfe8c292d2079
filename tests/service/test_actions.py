"""New and retired actions by the configuration: at the next start, at a number of choices that everybody may see."""

import json

import pytest

from tacit.errors import BadState
from tests.service.servers import FIELDS, application, call

PROFILES = {"somebody": {"context": {"age": 30}}}


def opened(folder, actions, retired=()):
    features = FIELDS["features"] | {"actions": list(actions), "max_actions": 4}
    features |= {"retired": list(retired)} if retired else {}
    return application(folder, **(FIELDS | {"dim": 0, "features": features, "profiles": PROFILES}))


def asked(app, *names):
    given = {"context": {"age": 30}} | ({"actions": list(names)} if names else {})
    ((status, _, body),) = call(app, ("choose", given))
    return status, json.loads(body)


def test_actions_come_and_go_with_the_configuration(tmp_path):
    app = opened(tmp_path, ["walk", "sleep"])
    assert asked(app, "walk")[0] == 200 and asked(app, "read")[0] == 422
    app.close()
    app = opened(tmp_path, ["walk", "sleep", "read"], ["walk"])
    assert asked(app, "read")[0] == 200 and asked(app, "walk") == (
        422,
        {"error": "Expected action 1 of the request not to be retired, as walk is."},
    )
    assert asked(app)[1]["name"] in ("sleep", "read")
    ((status, _, masked),) = call(app, ("choose", {"context": {"age": 3}, "available": ["read"]}))
    assert status == 200 and json.loads(masked)["name"] == "read"
    (_, _, status), (_, _, page), (_, _, certificate), (_, _, history) = call(
        app, ("status", None), ("/dashboard/messages", None), ("certificate", None), ("history", None)
    )
    assert json.loads(status)["actions"] == [
        {"name": "walk", "since": 0, "until": 1},
        {"name": "sleep", "since": 0, "until": None},
        {"name": "read", "since": 1, "until": None},
    ]
    assert json.loads(certificate)["actions"] == "walk: retired after 1 choice; read: added after 1 choice"
    text = page.decode()
    assert "retired after 1 choice" in text and "action read added after 1 choice" in text
    offers = text[text.index("What it would offer now") : text.index('id="actions"')]
    assert "read" in offers and "walk" not in offers
    names = [one["name"] for one in json.loads(history)["features"]]
    assert len(names) == 6 and not any(name.startswith(("walk", "(free")) for name in names)
    app.close()
    with pytest.raises(BadState, match="stay retired"):
        opened(tmp_path, ["walk", "sleep", "read"])
    with pytest.raises(ValueError, match="stay in the list"):
        opened(tmp_path, ["sleep", "read"], ["walk"])
