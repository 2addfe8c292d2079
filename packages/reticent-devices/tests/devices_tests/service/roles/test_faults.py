"""A database that fails before a commit, or after it with nobody told: what is sent again counts once all the same."""

import asyncio
import contextlib
import random

import numpy as np

from devices_tests.service.roles import running, test_analyzer, test_local
from devices_tests.service.roles.analyzer_stub import server
from devices_tests.service.roles.running import until
from reticent.errors import Unavailable
from reticent_devices.roles import billboard as boards
from reticent_devices.roles import wire
from reticent_devices.servers import settings
from reticent_devices.servers.analyzer import AnalyzerRole
from reticent_devices.servers.local import LocalRole
from reticent_devices.servers.role import Board
from reticent_devices.servers.shuffler import ShufflerRole

WANTED = 60  # reports


class Lost(Exception):
    pass


def failing(database, chance=0.3, seed=0):
    """From now on its transactions fail, half of them after they have happened."""
    moments, real = random.Random(seed), database.transaction

    @contextlib.contextmanager
    def transaction():
        fails, late = moments.random() < chance, moments.random() < 0.5
        try:
            with real() as run:
                yield run
                if fails and not late:
                    raise Lost
        except Lost:
            raise Unavailable("Expected a database, got none.") from None
        if fails:
            raise Unavailable("Expected a database, got none.")

    database.transaction = transaction
    return lambda: setattr(database, "transaction", real)


def insist(work, *arguments):
    """Until it does not fail; how often it did."""
    for failures in range(1000):
        try:
            work(*arguments)
            return failures
        except Unavailable:
            continue
    raise AssertionError


def test_a_shuffler_counts_once(tmp_path, stub):
    given = {"analyzer": f"http://127.0.0.1:{stub.port}", "budget": {"epsilon": 1.0, "delta": 1e-6}}
    given |= {"database": "s.db", "witness": "../s.witness", "malicious": 0}
    role = ShufflerRole(settings.convert("shuffler", {"shuffler": given}, tmp_path).shuffler, 100)
    role.open()
    until(lambda: isinstance(role.board(), Board))
    rng, (of, _) = np.random.default_rng(0), boards.shuffle(stub.billboard)
    sent = [running.report(stub.billboard, rng) for _ in range(60)]
    mended = failing(role.journal.database)

    def send(report):
        assert asyncio.run(role.post("reports", [], report, "")) == b'{"taken":1}'

    assert sum(insist(send, report) for report in sent[:59]) > 10
    mended()
    send(sent[59])
    until(lambda: stub.batches)
    role.close()
    counts = sum(wire.decode_report(report, of)[1] for report in sent)
    assert {message for _, message in stub.batches} == {wire.encode_batch(of, 60, counts)}


def test_an_analyzer_analyzes_once(tmp_path):
    messages, shown = test_analyzer.batches(5)
    role = AnalyzerRole(server(200), str(tmp_path / "analyzer.db"))
    role.open()
    mended, failures = failing(role._stored.database, chance=0.5), 0
    for number, message in enumerate(messages):
        failures += insist(role.take, number, message)
        assert role.board().content in shown[: number + 2]
    mended()
    role.take(4, messages[4])
    assert failures > 3 and role._stored.current().billboard() == shown[5] == role.board().content
    role.close()


def test_a_local_server_counts_once(tmp_path):
    here = test_local.server()
    role = LocalRole(test_local.server(), str(tmp_path / "local.db"), 100)
    role.open()
    mended, failures = failing(role._stored.database), 0
    for report in test_local.reports(here.billboard(), 60):
        failures += insist(post, role, report)
        here.observe(report)
        here.billboard()
    mended()
    post(role, report)
    assert failures > 10 and role.board().content == here.billboard() and role.status()["users"] == here.users == 60
    role.close()


def post(role, report):
    assert asyncio.run(role.post("reports", [], report, "")) == b'{"taken":1}'
