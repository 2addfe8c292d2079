"""New and retired actions by the configuration: at the next start, at a number of choices that everybody may see."""

import pytest

from reticent.errors import BadState
from serve_tests.service.servers import FIELDS, application, page_of, reply

PROFILES = {"somebody": {"context": {"age": 30}}}


def opened(folder, actions, retired=()):
    features = FIELDS["features"] | {"actions": list(actions), "max_actions": 4}
    features |= {"retired": list(retired)} if retired else {}
    return application(folder, features=features, profiles=PROFILES)


def asked(app, *names):
    return reply(app, "choose", {"context": {"age": 30}} | ({"actions": list(names)} if names else {}))


def test_actions_come_and_go_with_the_configuration(tmp_path):
    app = opened(tmp_path, ["walk", "sleep"])
    assert asked(app, "walk")["name"] == "walk" and "error" in asked(app, "read")
    app.close()
    app = opened(tmp_path, ["walk", "sleep", "read"], ["walk"])
    assert asked(app, "read")["name"] == "read" and asked(app)["name"] in ("sleep", "read")
    assert asked(app, "walk") == {"error": "Expected action 1 of the request not to be retired, as walk is."}
    assert reply(app, "choose", {"context": {"age": 3}, "available": ["read"]})["name"] == "read"
    assert reply(app, "status")["actions"] == [
        {"name": "walk", "since": 0, "until": 1},
        {"name": "sleep", "since": 0, "until": None},
        {"name": "read", "since": 1, "until": None},
    ]
    assert reply(app, "certificate")["actions"] == "walk: retired after 1 choice; read: added after 1 choice"
    text = page_of(app)
    assert "retired after 1 choice" in text and "action read added after 1 choice" in text
    offers = text[text.index("What it would offer now") : text.index('id="actions"')]
    assert "read" in offers and "walk" not in offers
    names = [one["name"] for one in reply(app, "history")["features"]]
    assert len(names) == 6 and not any(name.startswith(("walk", "(free")) for name in names)
    app.close()
    with pytest.raises(BadState, match="stay retired"):
        opened(tmp_path, ["walk", "sleep", "read"])
    with pytest.raises(ValueError, match="stay in the list"):
        opened(tmp_path, ["sleep", "read"], ["walk"])
