"""The analyzer as a process: each batch counts once, in order and whole; killed at any moment it goes on."""

import contextlib
import hashlib
import http.client
import random
import threading

import numpy as np
import pytest

from devices_tests.roles.fleet import Fleet
from devices_tests.service.roles import running
from devices_tests.service.roles.analyzer_stub import server
from devices_tests.service.roles.running import ask
from reticent_devices.roles import billboard as boards
from reticent_devices.roles import wire
from reticent_devices.roles.shuffler import Shuffler


def batches(count, first=200, seed=0):
    """The messages of that many batches in a row, and the billboard before each and after all."""
    here, rng, messages, shown = server(first), np.random.default_rng(seed), [], []
    for _ in range(count):
        shown.append(here.billboard())
        shuffler = Shuffler(shown[-1])
        shuffler.add_many(Fleet(shown[-1]).reports(0.3 * rng.normal(size=(here.wanted, 5))))
        messages.append(shuffler.close())
        here.observe(messages[-1])
    return messages, [*shown, here.billboard()]


def post(role, number, message, **headers):
    return ask(role.port, "POST", f"/batches/{number}", message, headers)[0]


def test_a_billboard_is_shown_as_the_bytes_that_reports_are_bound_to(start):
    role = start("analyzer", running.analyzer())
    status, headers, shown = ask(role.port, "GET", "/billboard")
    assert status == 200 and shown == server(200).billboard()
    assert headers["etag"] == f'"{hashlib.sha256(shown).hexdigest()}"'
    assert boards.shuffle(shown)[0].digest.hex() == headers["etag"][1:33]
    same = {"if-none-match": headers["etag"]}
    assert ask(role.port, "GET", "/billboard", headers=same)[::2] == (304, b"")
    (message,), (_, after) = batches(1)
    for page in ("text/plain", ""):  # what a page of another origin can send without asking
        assert post(role, 0, message, **{"content-type": page}) == 415
    assert post(role, 0, message) == 200 and ask(role.port, "GET", "/billboard", headers=same)[::2] == (200, after)


def test_replayed_reordered_truncated_and_mixed_batches_change_nothing(start):
    messages, shown = batches(3)
    (other, _), _ = batches(2, seed=1)  # another batch 0
    role = start("analyzer", running.analyzer())

    def seen():
        return ask(role.port, "GET", "/billboard")[2]

    for number, message in enumerate(messages):
        for bad in (message[:-1], message[: wire.BATCH.size], message + b"\0", b"", b"x" * len(message)):
            assert post(role, number, bad) == 422
        for early in range(number + 1, 4):
            assert post(role, early, messages[min(early, 2)]) == 425
        if number:
            assert post(role, number, messages[number - 1]) == 410  # an earlier batch's message
            assert post(role, number - 1, messages[number - 1]) == 200  # a replay
            assert post(role, number - 1, message) == 409 and post(role, 0, other) == 409
        assert seen() == shown[number] and post(role, number, message) == 200 and seen() == shown[number + 1]
    for bad in ("x", "-1", "1/2", "9" * 30):
        assert post(role, bad, messages[0]) == 404
    role.kill()
    role = start("analyzer", running.analyzer(), role.port)
    assert seen() == shown[3]
    assert [post(role, 0, messages[0]), post(role, 0, other), post(role, 2, messages[2])] == [200, 409, 200]
    assert seen() == shown[3]


def test_a_flood_does_not_make_batches_too_large_for_people(start):
    """Catches plans that grow with every batch, whoever filled it: after 26 full ones, 7.6 million reports instead of
    200."""
    role = start("analyzer", running.analyzer(200))
    for number in range(26):
        of, document = boards.shuffle(ask(role.port, "GET", "/billboard")[2])
        planned = document["plan"]["users"]
        assert planned <= 10 * 200
        nothing = np.full(of.size, planned * of.slots // 2, np.int64)
        assert post(role, number, wire.encode_batch(of, planned, nothing)) == 200
    assert planned == 10 * 200


def test_a_batch_below_its_minimum_is_never_analyzed(start):
    role = start("analyzer", running.analyzer())
    shown = ask(role.port, "GET", "/billboard")[2]
    shuffler = Shuffler(shown, minimum=0)
    shuffler.add_many(Fleet(shown).reports(np.zeros((199, 5))))
    assert post(role, 0, shuffler.close()) == 409 and ask(role.port, "GET", "/billboard")[2] == shown
    assert b"reticent_analyzer_batches 0.0" in ask(role.port, "GET", "/metrics")[2]


def test_an_analyzer_that_is_killed_goes_on(start):
    moments, (messages, shown) = random.Random(3), batches(3)
    role = start("analyzer", running.analyzer())
    port = role.port
    for number, message in enumerate(messages):
        ended = threading.Timer(moments.uniform(0.0, 0.03), role.kill)
        ended.start()
        with contextlib.suppress(OSError, http.client.HTTPException):
            post(role, number, message)
        ended.join()
        role = start("analyzer", running.analyzer(), port)
        assert ask(port, "GET", "/billboard")[2] in shown[number : number + 2]
        assert post(role, number, message) == 200  # now, or before
        assert ask(port, "GET", "/billboard")[2] == shown[number + 1]


def test_only_a_shuffler_hands_over_batches(start):
    digest = hashlib.sha256(b"reticent_key").hexdigest()
    role = start("analyzer", running.analyzer() + f'[[keys]]\nname = "s"\nrole = "shuffler"\nhash = "{digest}"\n')
    (message,), _ = batches(1)
    assert post(role, 0, message) == 401 and post(role, 0, message, authorization="Bearer other") == 401
    assert post(role, 0, message, authorization="Bearer reticent_key") == 200
    open_to_all = start("analyzer", running.analyzer(), folder=role.folder.parent / "other")
    assert post(open_to_all, 0, message, host="evil.example") == 403


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("reward = {radius = 2.0}", "got another reward: give it another file."),
        ("budget = {epsilon = 2.0, delta = 1e-6}", "got another budget"),
    ],
)
def test_settings_do_not_change_under_a_database(start, more, said):
    start("analyzer", running.analyzer()).kill()
    key = more.partition(" ")[0]
    text = "\n".join(line for line in running.analyzer().splitlines() if not line.startswith(key)) + f"\n{more}\n"
    with pytest.raises(AssertionError, match=said):
        start("analyzer", text)
