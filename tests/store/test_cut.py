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

from tests.store.places import arms, contribution, linear, play, sums, table, total

NAMED = re.compile(rb"(_pg3_\d+)\0COMMIT\0")  # psycopg gives a name to what it sends often


class Proxy:
    """Passes bytes on. After `cut`, a COMMIT is lost ("request"), or it happens and what the server says about it is
    lost ("reply"); both ends of that connection are closed."""

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


@pytest.mark.parametrize("lost", ["request", "reply"])
def test_what_is_cut_at_its_commit_happens_once(on_postgres, lost):
    """A choice, a reward, each transaction of a release and a rotation of keys: the work is done again from what the
    database holds, and noise of which nobody knows whether it was committed is read, never reused."""
    rng, bandit, proxy = np.random.default_rng(1), linear(), Proxy(on_postgres.where)
    with on_postgres._replace(where=proxy.address).open(linear()) as stored:
        features = arms(rng)
        proxy.cut(lost)
        choice = stored.choose(features, request="a")
        assert proxy.left == 0 and stored.choices == 1
        assert stored.choose(features, request="a").id == choice.id
        proxy.cut(lost)
        stored.observe(choice, 0.5)
        assert proxy.left == 0
        assert np.array_equal(total(stored), contribution(bandit, features[choice.index], 0.5))
        for step, number in enumerate((1, 2, 3)):
            play(stored, rng, 9, prefix=f"{step} ")
            stored.choose(arms(rng))
            stored.choose(arms(rng))
            before = sums(stored)[step]
            proxy.cut(lost, number)
            stored.tend()
            found = table(stored, "SELECT noisy FROM leaf ORDER BY step")
            assert proxy.left == 0 and stored.version == len(found) == step + 1
            assert np.array_equal(sums(stored)[step], before)
            assert stored._bandit._state.prefix.noise.table[step].tobytes() == bytes(found[step][0])
        before = total(stored)
        proxy.cut(lost)
        stored.rotate_keys()
        assert proxy.left == 0 and np.array_equal(total(stored), before)
        assert len(stored._line.seal.keys.labels(f"{stored._line.uid}.sums")) == 1
    proxy.listener.close()
