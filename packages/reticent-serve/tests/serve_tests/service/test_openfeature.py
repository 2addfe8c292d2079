"""The OpenFeature SDK of Python and its provider, as docs/openfeature.md uses them, with a real server."""

import contextlib
import json
import re
import sqlite3
from pathlib import Path

import pytest
from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import Reason
from openfeature.track import TrackingEventDetails

from reticent_serve.service import Refused
from reticent_serve.service.openfeature import rewarding
from serve_tests.service.servers import KEYS, Running, askers

PAGE = (Path(__file__).parents[5] / "docs" / "openfeature.md").read_text()
TOML = """
[bandits.health]
kind = "joint-glm"
horizon = 5000
budget = {epsilon = 1.0, delta = 1e-5, unit = {rounds = 5}}
reward = {window = "10 minutes"}
database = "health.db"
[bandits.health.features]
arms = "disjoint"
actions = ["walk", "sleep"]
context.age = {kind = "Number", low = 18, high = 100}
context.plan = {kind = "Category", values = ["free", "paid"]}
""" + "".join(
    f"""
[[keys]]
name = "{key["name"]}"
role = "{key["role"]}"
hash = "{key["hash"]}"
"""
    for key in askers()
)


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def server(tmp_path):
    running = Running(tmp_path, TOML)
    yield running
    api.clear_providers()
    assert running.stop() == 0


def choices(server):
    return json.loads(server.ask("GET", "/v1/bandits/health/status", key="operator")[2])["choices"]


def written(server, tmp_path):
    """The numbers whose rewards were written. The server stops: it alone reads its file."""
    assert server.stop() == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "health.db")) as database:
        return [number for (number,) in database.execute("SELECT number FROM written ORDER BY number")]


def test_the_page_in_python_runs(server, tmp_path):
    (code,) = blocks("py")
    for old, new in {"http://127.0.0.1:8321": server.address, "reticent_...": KEYS["app"]}.items():
        code = code.replace(old, new)
    names = {}
    exec(code, names)
    found, client, ada = names["found"], names["client"], names["ada"]
    assert found.value in ("walk", "sleep") and found.variant == found.value and found.reason == Reason.SPLIT
    assert 0 < found.flag_metadata["propensity"] <= 1 and choices(server) == 1
    named = EvaluationContext(ada.targeting_key, {**ada.attributes, "requestId": "visit"})
    assert client.get_string_details("health", "walk", named) == client.get_string_details("health", "walk", named)
    assert choices(server) == 2
    client.track("purchase", ada, TrackingEventDetails(3.0))  # of another kind
    with pytest.raises(ValueError, match="flag_metadata"):
        client.track("health", ada, TrackingEventDetails(1.0))
    with pytest.raises(ValueError, match="flag_metadata"):
        client.track("health", ada, TrackingEventDetails(None, {"id": found.flag_metadata["id"]}))
    with pytest.raises(Refused):
        client.track("health", ada, TrackingEventDetails(1.0, {"id": "of nobody"}))
    assert written(server, tmp_path) == [1]


def test_errors_are_those_that_the_provider_knows(server):
    def evaluated(key, flag, attributes, person="ada"):
        headers = {"authorization": f"Bearer {KEYS[key]}"}
        api.set_provider_and_wait(rewarding(OFREPProvider(server.address, headers_factory=lambda: headers), "http://x"))
        found = api.get_client().get_string_details(flag, "walk", EvaluationContext(person, attributes))
        assert found.value == "walk" and found.flag_metadata == {}
        return found.error_code

    assert evaluated("app", "nobody", {}) == ErrorCode.FLAG_NOT_FOUND
    assert evaluated("app", "health", {"age": "old"}) == ErrorCode.INVALID_CONTEXT
    assert evaluated("app", "health", {}, None) == ErrorCode.TARGETING_KEY_MISSING
    assert evaluated("auditor", "health", {}) == ErrorCode.GENERAL and choices(server) == 0


def test_a_server_that_is_stopped_leaves_the_default(tmp_path):
    server = Running(tmp_path, TOML)
    provider = OFREPProvider(server.address, headers_factory=lambda: {"authorization": f"Bearer {KEYS['app']}"})
    api.set_provider_and_wait(rewarding(provider, server.address, key=KEYS["app"]))
    assert server.stop() == 0
    found = api.get_client().get_string_details("health", "walk", EvaluationContext("ada", {"age": 71}))
    api.clear_providers()
    assert found.value == "walk" and found.error_code == ErrorCode.GENERAL and "id" not in found.flag_metadata
