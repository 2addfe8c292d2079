"""Connections to PostgreSQL that are really cut at a COMMIT: a proxy loses the request, or the server's reply to it."""

import contextlib
import re
import select
import socket
import threading
import urllib.parse

import numpy as np
import psycopg
import pytest

from serve_tests.store.places import arms, contribution, linear, settle, sums, table, total

NAMED = re.compile(rb"(_pg3_\d+)\0COMMIT\0")  # psycopg gives a name to what it sends often


class Proxy:
    """Passes bytes on. After `cut` a COMMIT ("request") or the server's word of it ("reply") is lost, and both ends."""

    def __init__(self, address):
        info = psycopg.conninfo.conninfo_to_dict(address)
        host, port = info.pop("host", "127.0.0.1"), info.pop("port", "5432")
        self.target = f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, int(port))
        self.listener = socket.create_server(("127.0.0.1", 0))
        where = f"127.0.0.1:{self.listener.getsockname()[1]}/{info.pop('dbname', '')}"
        info |= {"sslmode": "disable", "gssencmode": "disable"}
        self.address = f"postgresql://{where}?{urllib.parse.urlencode(info, quote_via=urllib.parse.quote)}"
        self.lost, self.left = "", 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, lost, number=1):
        """At the so manyth COMMIT from now on."""
        self.lost, self.left = lost, number

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listener.accept()[0]
                server = socket.socket(socket.AF_UNIX if isinstance(self.target, str) else socket.AF_INET)
                server.connect(self.target)
                threading.Thread(target=self._pass, args=(client, server), daemon=True).start()

    def _pass(self, client, server):
        names = {b"COMMIT"}
        with client, server, contextlib.suppress(OSError):
            while True:
                for one in select.select([client, server], [], [])[0]:
                    data = one.recv(1 << 16)
                    names |= set(NAMED.findall(data)) if one is client else set()
                    commits = any(name + b"\0" in data for name in (names if one is client else {b"COMMIT"}))
                    if self.left and commits and self.lost == ("request" if one is client else "reply"):
                        self.left -= 1
                        if not self.left:
                            return
                    if not data:
                        return
                    (server if one is client else client).sendall(data)


@pytest.fixture(params=["request", "reply"])
def lost(request):
    return request.param


@pytest.fixture
def proxy(on_postgres):
    made = Proxy(on_postgres.where)
    yield made
    made.listener.close()


def test_a_choice_and_a_reward_that_are_cut_happen_once(on_postgres, proxy, lost):
    """At the commit of the number, of the rows, of the reward. A number whose rows never came enters as nothing."""
    rng, bandit, expected = np.random.default_rng(1), linear(), 0
    with on_postgres._replace(where=proxy.address).open(linear()) as stored:
        for commit in (1, 2):
            stored.choose(arms(rng))  # after which the keys are known
            features, before = arms(rng), stored.choices
            proxy.cut(lost, commit)
            choice = stored.choose(features, request=f"{commit}")
            again = (commit, lost) in ((1, "reply"), (2, "request"))  # the first number was given, and its rows lost
            assert proxy.left == 0 and stored.choices == before + 1 + again
            assert stored.choose(features, request=f"{commit}").id == choice.id
            proxy.cut(lost)
            assert stored.observe(choice, 0.5) and stored.observe(choice, 1.0)
            assert proxy.left == 0 and table(stored, "SELECT count(*) FROM written") == [(commit,)]
            expected = expected + contribution(bandit, features[choice.index], 0.5)
        settle(stored)
        assert stored.entered == stored.choices == 5 and np.array_equal(total(stored), expected)


def test_entries_and_releases_that_are_cut_happen_once(on_postgres, proxy, lost):
    """The work is done again from the database; noise that may be committed is read, never reused."""
    rng, bandit, expected, step = np.random.default_rng(1), linear(growth=1.001), 0, 0
    with on_postgres._replace(where=proxy.address).open(linear(growth=1.001)) as stored:
        for commit in range(1, 100):
            given = [arms(rng) for _ in range(10)]
            choices = stored.choose_group([stored.prepare(one) for one in given])
            stored.write_group([stored.report(choice, 0.5) for choice in choices])
            expected = expected + sum(
                contribution(bandit, one[choice.index], 0.5) for one, choice in zip(given, choices, strict=True)
            )
            proxy.cut(lost, commit)
            settle(stored)
            step, left = step + 1, proxy.left
            proxy.cut("", 0)
            found = table(stored, "SELECT noisy FROM leaf ORDER BY step")
            assert stored.version == len(found) == step and stored.entered == 10 * step
            assert np.array_equal(total(stored), expected) and not sums(stored)[step].any()
            if left:
                break
        assert commit > 8  # each of them was cut
        with on_postgres.open(linear(growth=1.001)) as other:
            assert other.version == step and np.array_equal(other.theta, stored.theta)
