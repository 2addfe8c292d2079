"""A server whose database goes away, or whose disk is full: it refuses, clients have a default, and nothing
acknowledged is lost."""

import json
import resource
import time

import numpy as np
import pytest

from reticent.errors import Unavailable
from reticent_serve.service import Client
from serve_tests.service.servers import TOML, Running, afterwards
from serve_tests.store.conftest import crash, folder, of_postgres, postgres_of_its_own  # noqa: F401
from serve_tests.store.places import Place, contribution, linear, total

EYE, BANDIT = np.eye(3).tolist(), "/v1/bandits/messages/"


def choose(server, **given):
    status, _, text = server.ask("POST", BANDIT + "choose", {"arms": EYE} | given)
    assert status == 200, text
    return json.loads(text)


def reward(server, choice, value=1.0):
    return server.ask("POST", BANDIT + "reward", {"id": choice["id"], "reward": value})


def wait_until_ready(server):
    until = time.monotonic() + 120
    while server.ask("GET", "/readyz")[2] != "ready\n":
        assert time.monotonic() < until
        time.sleep(0.05)


def check(server, goes, comes_back):
    """`goes` takes the database away, `comes_back` gives it back. Returns what was learnt from."""
    learnt = [choose(server, request=f"r{i}") for i in range(60)]
    unanswered = learnt.pop()
    for choice in learnt:
        assert reward(server, choice)[0] == 200
    wait_until_ready(server)
    goes()
    for asked in (("choose", {"arms": EYE, "request": "away"}), ("reward", {"id": unanswered["id"], "reward": 1.0})):
        status, headers, _ = server.ask("POST", BANDIT + asked[0], asked[1])
        assert status == 503 and int(headers["retry-after"]) >= 1
    with Client(server.address, "messages", patience=0) as client:
        with pytest.raises(Unavailable):
            client.choose(EYE, request="away")
        shown = client.choose(EYE, request="away", default=2)
        assert (shown.index, shown.name, shown.id) == (2, None, "") and not client.reward(shown, 1.0)
    comes_back()
    wait_until_ready(server)
    assert choose(server, request="r7")["id"] == learnt[7]["id"]
    assert reward(server, unanswered)[::2] == (200, '{"acknowledged":true}')
    again = choose(server, request="away")
    assert reward(server, again)[0] == 200 and json.loads(server.ask("GET", BANDIT + "status")[2])["choices"] == 61
    assert server.stop() == 0
    return [*learnt, unanswered, again]


def expected(learnt):
    bandit = linear(horizon=5000, first=None)
    return sum(contribution(bandit, np.eye(3)[choice["index"]], 1.0) for choice in learnt)


def opened(place):
    return afterwards(place, linear(horizon=5000, first=None))


def test_postgres_is_stopped_and_comes_back(folder):  # noqa: F811
    with postgres_of_its_own() as postgres:
        place = of_postgres(postgres.get_uri(), folder)
        text = TOML.replace('"bandit.db"', f'"{place.where}"\nkeys = "{place.keys}"')
        learnt = check(Running(folder, text), lambda: crash(postgres), postgres.start)
        with opened(place) as stored:
            assert np.array_equal(total(stored), expected(learnt))


@pytest.mark.full
@pytest.mark.parametrize("room", [True, False])
def test_a_disk_that_is_full_or_cannot_be_written_at_all(folder, room):  # noqa: F811
    """By a limit of the operating system on the server's files, which fails as a disk does."""
    server, place = Running(folder, TOML), Place(str(folder / "bandit.db"), None)

    def limit(size):
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    room = (folder / "bandit.db-wal").stat().st_size // 4 if room else 0
    learnt = check(server, lambda: limit(room), lambda: limit(resource.RLIM_INFINITY))
    with opened(place) as stored:
        assert np.array_equal(total(stored), expected(learnt))


@pytest.mark.full
def test_sigterm_does_not_wait_for_a_postgres_that_never_answers(folder):  # noqa: F811
    """Stopped as a whole, with connections that stay: a server that waited for it would end by kill -9 alone."""
    with postgres_of_its_own() as postgres:
        place = of_postgres(postgres.get_uri(), folder)
        text = TOML.replace('"bandit.db"', f'"{place.where}"\nkeys = "{place.keys}"')
        server = Running(folder, text.replace("patience = 0.5", "patience = 0.5\ndrain = 1"))
        acknowledged = choose(server, request="r")
        assert reward(server, acknowledged)[0] == 200
        main = postgres.get_postmaster_info().process
        everyone = [main, *main.children()]
        try:
            for process in everyone:
                process.suspend()
            with pytest.raises(TimeoutError):
                server.ask("POST", BANDIT + "choose", {"arms": EYE}, timeout=1)
            assert server.stop() == 1  # within 30 seconds
        finally:
            for process in everyone:
                process.resume()
        with opened(place) as stored:
            assert np.array_equal(total(stored), expected([acknowledged]))
