"""Canaries in what a person sends are in nothing that others read: replies, logs of service and PostgreSQL, files of a
database, its write-ahead log, its backups. Once they have expired, no key that is left opens them."""

import json
import logging
import subprocess
import time
from pathlib import Path

import numpy as np
import psycopg
import pytest

from core_tests.canaries import Canaries, contents
from reticent.errors import Unavailable
from reticent_serve import Stored
from reticent_serve.holders import seal as seals
from reticent_serve.holders.seal import Keys, Seal
from reticent_serve.service import bodies, served
from reticent_serve.service.app import SHOWN
from serve_tests.service.servers import application, call, lines
from serve_tests.store.clusters import tool
from serve_tests.store.conftest import of_postgres
from serve_tests.store.places import Clock, Place, contribution, linear, settle, sums, table

OTHERS = lines(*[{"arms": np.eye(3).tolist(), "person": "another"}] * 8)
PENDING = 64
READ = (*SHOWN, "/metrics", "/readyz", "/healthz")
TALKATIVE = "".join(
    f"%20-c{setting}"
    for setting in ("log_statement%3Dall", "log_min_error_statement%3Derror", "log_parameter_max_length_on_error%3D-1")
)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, folder):
    return of(request.param, folder, request)


@pytest.fixture
def on_postgres(folder, request):
    return of("postgres", folder, request)


def of(database, folder, request):
    """PostgreSQL logs every statement and all its arguments."""
    if database == "sqlite":
        return Place(str(folder / "bandit.db"), folder / "keys")
    found = of_postgres(request.getfixturevalue("postgres"), folder)
    return found._replace(where=found.where + TALKATIVE)


class Visited:
    """A service after a visit with canaries, which are all that is in the first step; it is released."""

    def __init__(self, place, monkeypatch, caplog, seed=1):
        caplog.set_level(logging.DEBUG)
        self.place, self.caplog, self.clock, self.began = place, caplog, Clock(), time.time()
        self.on_a_file = not place.where.startswith("postgres")
        self.canaries = Canaries(seed)
        texts = self.canaries.texts
        self.body = {"arms": {texts["arm"]: self.canaries.numbers}} | {key: texts[key] for key in ("person", "request")}
        told = {"clock": self.clock, "background": False}
        monkeypatch.setattr(served, "Stored", lambda *given, **options: Stored(*given, **options | told))
        options = {"database": place.where, "keys": str(place.keys), "pending": PENDING}
        options |= {"budget": {"epsilon": 30.0, "unit": {"rounds": 2}}}  # a first step of few
        self.app = application(place.keys.parent, **options)
        self.stored = self.app.served["messages"].stored
        ((status, _, own),) = call(self.app, ("choose", self.body))
        assert status == 200 and json.loads(own)["name"] == texts["arm"]  # the answer, to whoever asked
        call(self.app, ("choose", self.body | {"request": texts["request"] + "2"}))  # nobody will answer
        self.replies = call(self.app, ("reward", {"id": json.loads(own)["id"], "reward": self.canaries.reward}))
        self.copied = self.sealed()
        bandit = linear(horizon=5000, rounds=2)
        self.whole = contribution(bandit, np.array(self.canaries.numbers), self.canaries.reward)
        self.others(32)

    def others(self, count):
        """Who come after, and read. Choices enter meanwhile."""
        for _ in range(count // 8):
            self.replies += call(self.app, ("choose:batch", OTHERS))
            settle(self.stored)
        self.replies += call(self.app, *((route, None) for route in READ))

    def seen(self):
        """By others."""
        replies = b"".join(repr(headers).encode() + body for _, headers, body in self.replies)
        log = [logging.Formatter().format(record) for record in self.caplog.records]  # with tracebacks
        return [("replies", replies), ("log", "\n".join(log).encode())]

    @property
    def kinds(self):
        return {".db-wal", ".copy"} if self.on_a_file else {"base", "pg_wal", ".log", ".dump"}

    def files(self):
        """Of the database and its write-ahead log, as far as they were written meanwhile, a backup, and PostgreSQL's
        own log."""
        inside = self.place.keys.parent
        if self.on_a_file:
            self.stored.backup(inside / f"{len(list(inside.iterdir()))}.copy")
            return [(path.suffix, path.read_bytes()) for path in inside.iterdir() if path.is_file()]
        schema = self.place.where.partition("search_path%3D")[2].partition("%20")[0]
        dump = subprocess.run([tool("pg_dump"), "-n", schema, self.place.where], check=True, capture_output=True).stdout
        with psycopg.connect(self.place.where, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
            found = Path(connection.execute("SHOW data_directory").fetchone()[0])
            log = connection.execute("SELECT pg_current_logfile()").fetchone()[0]
        new = [
            (name, content.rstrip(b"\0"))  # a log of 16 MB is empty at first
            for name in ("base", "pg_wal")
            for _, content in contents(found / name, self.began)
        ]
        return [*new, (".log", (found / (log or "log")).read_bytes()), (".dump", dump)]

    def sealed(self):
        """(where, sealed) of each row that there is of the visit, as a copy of the database has them."""
        uid, out = self.stored._store.uid, []
        for name, keys, place in (
            ("choice", "request", lambda request: seals.choice_place(uid, bytes(request))),
            ("waiting", "number", lambda number: seals.waiting_place(uid, number)),
            ("written", "number", lambda number: seals.written_place(uid, number)),
        ):
            found = table(self.stored, f"SELECT {keys}, sealed FROM {name} WHERE number <= 3")
            out += [(place(*key), bytes(one)) for *key, one in found]
        return out

    def found(self, *more):
        return self.canaries.found_in([*self.seen(), *more], self.whole)


@pytest.fixture
def visited(place, monkeypatch, caplog):
    one = Visited(place, monkeypatch, caplog)
    yield one
    one.app.close()


def test_canaries_are_in_no_reply_log_file_or_backup_and_expire(visited):
    """Rows stay in backups for ever; their keys do not."""
    assert np.array_equal(sums(visited.stored)[0], visited.whole) and visited.stored.version >= 1
    files = visited.files()
    assert {name for name, _ in files} >= visited.kinds and visited.found(*files) == []
    seal, copied = visited.stored._store.seal, visited.copied
    assert len(copied) == 5 and all(seal.open("epoch", where, one) for where, one in copied)
    assert len(visited.sealed()) == 3  # the answers: what has entered is gone
    keys = {path: path.read_bytes() for path in visited.place.keys.glob("*.epoch.*.key")}
    visited.others(3 * PENDING)
    assert visited.sealed() == []
    left = Seal(Keys(visited.place.keys), visited.stored._store.uid)
    assert all(left.open("epoch", where, one) is None for where, one in copied)
    gone = [key for path, key in keys.items() if not path.exists()]
    remaining = [path.read_bytes() for path in visited.place.keys.iterdir()]
    assert gone and not [key for key in gone for content in remaining if key in content]
    files = visited.files()
    assert not [key for key in keys.values() for _, content in files if key in content] and visited.found(*files) == []


def test_that_canaries_would_be_found(place, monkeypatch, caplog):
    """The same without sealing, so that the test above can fail: every kind of file has some."""
    monkeypatch.setattr(Seal, "seal", lambda self, kind, number, place, text: number.to_bytes(8, "big") + text)
    monkeypatch.setattr(Seal, "open", lambda self, kind, place, sealed: sealed[8:])
    one = Visited(place, monkeypatch, caplog, seed=2)
    found = one.canaries.found_in(one.files(), one.whole)
    one.app.close()
    assert {name for name, _ in found} >= one.kinds
    assert {"arm", f"{one.canaries.numbers[0]} <"} <= {what.removesuffix(" hex") for _, what in found}
    assert any(what.startswith("sums") for _, what in found)


def test_refusals_do_not_echo(visited, monkeypatch):
    """Wrong bodies on every route and in batches, wrong names and headers, and errors that nobody expected."""
    texts, numbers, reward, body = (
        *(visited.canaries.texts, visited.canaries.numbers, visited.canaries.reward),
        visited.body,
    )
    wrong = (
        *(body | {texts["field"]: 1}, body | {"available": [texts["available"]]}, {"arms": [[*numbers, 0.0]]}),
        *({"arms": {texts["arm"]: [7.0, *numbers[1:]]}}, {"arms": {texts["arm"]: texts["arm"]}}),
        *(body | {"person": [texts["person"]]}, {texts["field"]: {texts["person"]: numbers}}),
        *({"id": texts["request"], "reward": reward}, {"id": "00" * 24, "reward": reward}, {"id": reward, "reward": 1}),
        *(json.dumps(body).encode()[:-1], json.dumps(body).encode() * 2),
    )
    routes = [route + batch for route in ("choose", "reward") for batch in ("", ":batch")]
    for one in wrong:
        replies = call(visited.app, *((route, one) for route in routes))
        assert all(status in (404, 422) or b"error" in reply for status, _, reply in replies)
        visited.replies += replies
    header, bandit = texts["field"].encode(), f"/v1/bandits/{texts['bandit']}/"
    visited.replies += call(visited.app, ("reward", body, [(header, header), (b"authorization", header)]))
    visited.replies += call(visited.app, (bandit + "choose", body), (bandit + "status", None), (f"/{header}", None))
    with monkeypatch.context() as patch:
        patch.setattr(bodies, "reward", lambda given: fails(RuntimeError(f"{texts} {given}")))
        visited.replies += call(visited.app, ("reward", body))
        for name in ("_run", "trip"):
            patch.setattr(
                visited.stored._database, name, lambda *given: fails(Unavailable(f"{texts} {numbers} {given}"))
            )
        visited.replies += call(visited.app, ("choose", body), ("status", None), ("/metrics", None), ("/readyz", None))
    assert {status for status, _, _ in visited.replies} >= {200, 404, 422, 500, 503} and visited.found() == []


def fails(error):
    raise error


def test_postgres_prints_sealed_rows_at_most(on_postgres, monkeypatch, caplog):
    """Its log prints rows that break a constraint, and arguments of statements that fail: there are no constraints on
    what is raw, and if somebody adds one, what is printed is sealed."""
    one = Visited(on_postgres, monkeypatch, caplog, seed=3)
    for name in ("waiting", "choice", "written", "person", "open_step"):
        body = one.body | {"request": f"{one.canaries.texts['request']} {name}"}
        ((_, _, before),) = call(one.app, ("choose", body))
        reward = ("reward", {"id": json.loads(before)["id"], "reward": one.canaries.reward})
        if name in ("person", "open_step"):
            call(one.app, reward)
        with psycopg.connect(one.place.where, autocommit=True) as connection:
            connection.execute(f"ALTER TABLE {name} ADD CONSTRAINT wrong CHECK (false) NOT VALID")
        if name in ("person", "open_step"):
            with pytest.raises(Unavailable):
                settle(one.stored)
        else:
            new = ("choose", body | {"request": body["request"] + "2"})
            ((status, _, _),) = call(one.app, reward if name == "written" else new)
            assert status == 503
        with psycopg.connect(one.place.where, autocommit=True) as connection:
            connection.execute(f"ALTER TABLE {name} DROP CONSTRAINT wrong")
    files = one.files()
    one.app.close()
    (log,) = [content for name, content in files if name == ".log"]
    assert log.count(b"Failing row contains") >= 5 and one.found(*files) == []


@pytest.mark.full
def test_no_canary_in_a_base_backup(on_postgres, monkeypatch, caplog):
    """Of the whole server, with the write-ahead log that it needs."""
    one, copy = Visited(on_postgres, monkeypatch, caplog, seed=4), on_postgres.keys.parent / "base"
    subprocess.run(
        [tool("pg_basebackup"), "-d", on_postgres.where, "-D", copy, "-X", "stream", "-c", "fast"], check=True
    )
    one.app.close()
    files = [(str(path), path.read_bytes()) for path in copy.rglob("*") if path.is_file()]
    assert len(files) > 500 and any("pg_wal" in name for name, _ in files) and one.found(*files) == []
