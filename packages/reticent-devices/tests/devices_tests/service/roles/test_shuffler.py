"""The shuffler as a process: killed at random moments it counts what it acknowledged once; it hands over the same bytes
until they are taken; it refuses what its operator does not allow."""

import concurrent.futures
import http.client
import random
import time

import pytest

from devices_tests.service.roles import running
from devices_tests.service.roles.analyzer_stub import Stub, server
from devices_tests.service.roles.running import ask, reports, total, until
from reticent_devices.roles import billboard as boards
from reticent_devices.roles import wire

WORKERS = 4


def deliver(port, body):
    """As a device does: the same bytes until there is an answer; its status."""
    while True:
        try:
            status = ask(port, "POST", "/reports", body)[0]
        except (OSError, http.client.HTTPException):
            status = 503
        if status != 503:
            return status
        time.sleep(0.02)


def lives(start, stub, seed, kills, count=600):
    """Devices send `count` reports, alone and in bodies, some of them twice, while the shuffler is killed again and
    again; the batch is closed by the last of them."""
    stub.billboard = server(count).billboard()
    of, _ = boards.shuffle(stub.billboard)
    sent, moments = reports(stub.billboard, count, seed), random.Random(seed)
    bodies, at = [], 0
    while at < count:
        size = moments.choice((1, 1, 1, 7))
        bodies.append(b"".join(sent[at : at + size]))
        at += size
    bodies = sorted(bodies + moments.sample(bodies, len(bodies) // 5), key=lambda body: moments.random())
    stub.statuses = [None, 500, None]
    role = start("shuffler", running.shuffler(stub.port))
    port = role.port
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as devices:
        answers = [devices.submit(deliver, port, body) for body in bodies]
        for _ in range(kills):
            time.sleep(moments.uniform(0.0, 0.15))
            role.kill()
            role = start("shuffler", running.shuffler(stub.port), port)
        statuses = [answer.result(60) for answer in answers]
    assert set(statuses) <= {200, 410} and statuses.count(200) > len(bodies) / 2  # 410: the batch was closed by then
    until(lambda: len(stub.batches) >= 4)
    assert {message for _, message in stub.batches} == {total(sent, of)}  # always the same bytes, each report once
    assert not list(role.folder.glob("shuffler.db.keys/*.key"))


def test_a_shuffler_that_is_killed_counts_what_it_acknowledged_once(start, stub):
    lives(start, stub, seed=1, kills=2)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2, 12))
def test_a_shuffler_that_is_killed_often(start, stub, seed):
    lives(start, stub, seed, kills=20)


def test_reports_are_counted_once_and_refused_alone(start, stub):
    role = start("shuffler", running.shuffler(stub.port))
    assert running.billboard(role.port) == stub.billboard
    of, _ = boards.shuffle(stub.billboard)
    good, later = reports(stub.billboard, 200), reports(server(200, explore="ucb").billboard(), 1)[0]
    old, forged = bytearray(good[5]), bytearray(good[6])
    forged[wire.REPORT.size :] = b"\xff" * (of.length - wire.REPORT.size)
    old[2] = 1

    def post(body):
        return ask(role.port, "POST", "/reports", body)

    assert post(good[0])[0] == 200 and post(good[0])[::2] == (200, b'{"taken":1}')
    assert post(b"")[0] == 422 and post(good[1][:-1])[0] == 422 and post(b"x" * of.length)[0] == 422
    assert post(later)[0] == 422
    body = good[1] + later + bytes(old) + bytes(forged) + good[2] + good[2]
    expected = b'{"taken":3,"refused":{"wrong batch":[1],"version":[2],"out of range":[3]}}'
    assert post(body)[::2] == (200, expected)
    form = {"content-type": "application/x-www-form-urlencoded"}  # what curl and urllib say by default
    assert ask(role.port, "POST", "/reports", good[1], form)[::2] == (200, b'{"taken":1}')
    assert ask(role.port, "GET", "/reports")[0] == 405
    status = ask(role.port, "GET", "/status")[2]
    assert b'"reports":2,' in status  # three, in hundredths of 200
    assert post(b"".join(good[3:199]))[2] == b'{"taken":196}' and not stub.batches  # one below the minimum
    role.kill()
    role = start("shuffler", running.shuffler(stub.port), role.port)
    assert not stub.batches and post(good[50] + good[199])[2] == b'{"taken":2}'
    assert set(until(lambda: stub.batches)) == {(0, total(good, of))}
    assert post(good[7])[0] == 410  # after the closing
    following = bytearray(good[7])
    following[4] = 1
    assert post(bytes(following))[0] == 503  # the next batch is not open yet


def test_a_batch_is_closed_in_time_but_never_below_its_minimum(start, stub):
    stub.billboard = server(200, dropout=0.5).billboard()
    sent = reports(stub.billboard, 100)
    role = start("shuffler", running.shuffler(stub.port, "close_after = 0.3"))
    running.billboard(role.port)
    assert ask(role.port, "POST", "/reports", b"".join(sent[:99]))[0] == 200
    time.sleep(1.5)
    assert not stub.batches and ask(role.port, "POST", "/reports", sent[99])[0] == 200
    of, _ = boards.shuffle(stub.billboard)
    assert set(until(lambda: stub.batches)) == {(0, total(sent, of))}


def test_a_billboard_above_the_operators_budget_is_not_served(start, stub):
    role = start("shuffler", running.shuffler(stub.port, budget="{epsilon = 0.5, delta = 1e-6}"))
    said = until(lambda: (found := ask(role.port, "GET", "/health"))[0] == 503 and found[2])
    assert said == b"Expected a batch of epsilon at most 0.5 at delta 1e-06, got 0.999994.\n"
    assert ask(role.port, "GET", "/billboard")[0] == 503
    assert ask(role.port, "POST", "/reports", reports(stub.billboard, 1)[0])[0] == 503
    assert b"Needs attention" in ask(role.port, "GET", "/dashboard")[2]


def test_the_operators_share_of_malicious_users_counts_where_the_billboard_has_fewer(start, stub):
    """Catches a shuffler that takes the analyzer's word for how many reports are the analyzer's own."""
    role = start("shuffler", running.shuffler(stub.port).replace("malicious = 0", "malicious = 0.5"))
    said = until(lambda: (found := ask(role.port, "GET", "/health"))[0] == 503 and found[2]).decode()
    assert said.startswith("Expected a batch of epsilon at most 1 at delta 1e-06, got 1.4")
    assert said.endswith("without the coins of 100 of 200 users.\n")
    stub.billboard = server(200, malicious=0.5).billboard()
    assert running.billboard(role.port) == stub.billboard


def test_a_shuffler_goes_to_its_analyzer_and_nowhere_else(start, stub):
    other = Stub(stub.billboard)
    stub.elsewhere = f"http://127.0.0.1:{other.port}/billboard"
    role = start("shuffler", running.shuffler(stub.port))
    assert until(lambda: (found := ask(role.port, "GET", "/health"))[0] == 503 and found[2]) == (
        b"The analyzer cannot be asked: status 302.\n"
    )
    assert ask(role.port, "GET", "/billboard")[0] == 503
    stub.elsewhere = None
    assert running.billboard(role.port) == stub.billboard
    other.close()


def test_a_batch_that_the_analyzer_refuses_does_not_stop_the_next(start, stub):
    first, sent = server(200), reports(stub.billboard, 200)
    role = start("shuffler", running.shuffler(stub.port))
    running.billboard(role.port)
    stub.statuses = [409]
    first.observe(total(sent, boards.shuffle(stub.billboard)[0]))
    stub.billboard = first.billboard()
    assert ask(role.port, "POST", "/reports", b"".join(sent))[0] == 200
    until(lambda: b'"batch":1,"open":true' in ask(role.port, "GET", "/status")[2])
    assert b"The analyzer refused batch 0 with status 409." in ask(role.port, "GET", "/dashboard")[2]
    assert len(stub.batches) == 1
