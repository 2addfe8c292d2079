"""The server of the local model as a process: each report once, also across restarts; bad ones are refused alone."""

import asyncio
import http.client
import json
import random
import threading
import time

import numpy as np
import pytest

from devices_tests.service.roles import running
from devices_tests.service.roles.running import ask
from reticent import Budget, Reward
from reticent.features import Number, Schema
from reticent_devices import LocalIRLS
from reticent_devices.roles.local import LocalClient
from reticent_devices.servers import settings
from reticent_devices.servers.local import LocalRole

KIND = {
    "features": 2,
    "reward": {"radius": 1.0},
    "horizon": 500,
    "budget": {"epsilon": 4.0, "delta": 1e-6},
    "database": "local.db",
}


def server():
    return LocalIRLS(2, Budget(4.0, 1e-6), Reward(radius=3.0))


def reports(billboard, count, seed=0):
    rng, client, out = np.random.default_rng(seed), LocalClient(billboard, epsilon=4.0, rewards=(0.0, 1.0)), []
    for _ in range(count):
        arms = rng.normal(size=(3, 2))
        choice = client.choose(arms / np.linalg.norm(arms, axis=1)[:, None])
        out.append(client.randomize(choice, float(rng.random() < 0.5)))
    return out


def post(role, body):
    return ask(role.port, "POST", "/reports", body)[::2]


def shown(role):
    return ask(role.port, "GET", "/billboard")[2]


def test_what_it_shows_is_what_the_same_reports_give_in_process(start):
    role, here = start("local", running.LOCAL), server()
    assert shown(role) == here.billboard()
    sent = reports(shown(role), 120)
    for i in range(0, 120, 20):
        assert post(role, b"".join(sent[i : i + 20])) == (200, b'{"taken":20}')
        for report in sent[i : i + 20]:
            here.observe(report)
        assert shown(role) == here.billboard()
    assert here.version > 0
    role.kill()
    role = start("local", running.LOCAL, role.port)
    assert shown(role) == here.billboard()
    assert post(role, sent[0]) == (200, b'{"taken":1}') and post(role, sent[5] + sent[119])[0] == 200  # counted before
    assert b'"users":120,' in ask(role.port, "GET", "/status")[2]


@pytest.mark.parametrize("kind", ["local-lin-ucb", "local-glm", "local-square-cb"])
def test_every_kind_goes_on_where_it_stood(kind, tmp_path):
    """In this process: opened and closed again and again, it stands where one stands that never was."""
    setting = settings.convert("local", {"local": KIND | {"kind": kind}}, tmp_path).local
    here, rng = settings.build("local", setting), np.random.default_rng(0)
    for _ in range(4):
        role = LocalRole(settings.build("local", setting), setting.database, 10)
        role.open()
        assert role.board().content == here.billboard()
        for _ in range(6):
            device = here.device()
            report = device.randomize(device.choose(rng.uniform(-0.7, 0.7, (3, 2))), 1.0)
            here.observe(report)
            here.billboard()
            for _ in range(2):
                assert asyncio.run(role.post("reports", [], report, "")) == b'{"taken":1}'
        role.close()
    assert here.users == 24 and role.status()["users"] == 24


def test_a_server_of_fields_takes_reports_of_devices_with_the_same_schema(start):
    """Catches a server that asks its own device for a vector where it has a schema: it did not start."""
    schema = Schema(context={"age": Number(18, 100, bins=4)}, arms="disjoint", actions=("walk", "sleep"))
    fields = """
[local.features]
arms = "disjoint"
actions = ["walk", "sleep"]
context.age = {kind = "Number", low = 18, high = 100, bins = 4}
"""
    role = start("local", running.LOCAL.replace("features = 2\n", "") + fields)
    device = LocalClient(shown(role), epsilon=4.0, rewards=(0.0, 1.0), features=schema)
    sent = [device.randomize(device.choose({"age": age}), reward) for age, reward in ((20, 1.0), (71, None))]
    assert post(role, b"".join(sent)) == (200, b'{"taken":2}') and b'"users":2,' in ask(role.port, "GET", "/status")[2]


def test_bad_reports_are_refused_alone(start):
    role = start("local", running.LOCAL)
    good = reports(shown(role), 3)
    other = reports(LocalIRLS(2, Budget(4.0, 1e-6), Reward("probit", 3.0)).billboard(), 1)[0]
    broken = b"S" + good[2][1:]
    assert len(other) == len(good[0])
    assert post(role, good[0] + other + broken + good[1]) == (
        200,
        b'{"taken":2,"refused":{"wrong batch":[1],"out of range":[2]}}',
    )
    assert [post(role, body)[0] for body in (other, broken, good[0][:-1], b"")] == [422, 422, 422, 422]
    assert post(role, good[2]) == (200, b'{"taken":1}')  # what was refused did not use up its id
    assert b'"users":3,' in ask(role.port, "GET", "/status")[2]


def test_a_server_that_is_killed_counts_each_report_once(start):
    moments, here = random.Random(1), server()
    role = start("local", running.LOCAL)
    port, sent = role.port, reports(shown(role), 240)
    for i in range(0, 240, 40):
        ended = threading.Timer(moments.uniform(0.0, 0.05), role.kill)
        ended.start()
        for report in sent[i : i + 40]:
            here.observe(report)
            expected = here.billboard()  # published when it is due, as the process does after each commit
            while True:
                try:
                    assert post(role, report) == (200, b'{"taken":1}')
                    break
                except (OSError, http.client.HTTPException):
                    if ended.finished.is_set() and not role.alive():
                        role = start("local", running.LOCAL, port)
                    time.sleep(0.005)
        ended.join()
    if not role.alive():
        role = start("local", running.LOCAL, port)
    assert shown(role) == expected and here.users == 240


@pytest.mark.parametrize("public", [False, True])
def test_page_status_and_certificate_say_the_same_of_what_it_sees(public, start):
    """With public arms the page said that it cannot see anybody's features, while each report had them in the clear."""
    role = start("local", running.LOCAL + f"options = {{public_arms = {str(public).lower()}}}\n")
    made = LocalIRLS(2, Budget(4.0, 1e-6), Reward(radius=3.0), public_arms=public)
    status = json.loads(ask(role.port, "GET", "/status")[2])
    assert (status["unit"], status["neighbours"]) == (made.privacy.unit, made.privacy.neighbours)
    assert status["neighbours"] == ("replace rewards" if public else "replace")
    sees, never = ask(role.port, "GET", "/dashboard")[2].decode().split("What it cannot see")
    assert ("the arm that was played" in sees.replace("\n", " ")) == public
    listed = never.split("</ul>")[0]
    assert ("features" in listed) == (not public) and "reward" in listed
    said = " ".join(str(made.privacy).split())
    assert ("whole arm set and reward" in said) == (not public)
    assert ("is sent to the server as it is: neither is protected" in said) == public
