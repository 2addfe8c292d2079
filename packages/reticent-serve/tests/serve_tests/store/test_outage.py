"""While the database is away or cannot be written: everything is refused, and nothing is lost."""

import os
import resource
import time

import numpy as np
import pytest

from reticent.core.bandit import warm_up
from reticent.errors import Unavailable
from reticent_serve.holders import upkeep
from reticent_serve.holders.postgres import Postgres
from serve_tests.store.places import arms, contribution, glm, linear, play, settle, table, total
from serve_tests.store.processes import forked

NOBODY = 65534


@pytest.fixture
def full():
    """A disk on which no file of this process grows beyond so many bytes."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, usual[1]))

    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, usual)


def cut(stored, monkeypatch):
    """Its database is away."""
    for database in {stored._database, stored._other}:
        monkeypatch.setattr(database, "_address", "postgresql://localhost:1/none")
        database._drop()


def test_while_it_is_away_everything_is_refused_and_nothing_is_lost(on_postgres, monkeypatch, rng):
    with on_postgres.open(linear()) as stored:
        first = play(stored, rng, 12, together=12)[-1]
        before, waiting, given = total(stored), stored.choose(np.eye(3)), arms(rng)
        cut(stored, monkeypatch)
        for call in (
            lambda: stored.choose(given, request="away"),
            lambda: stored.choose(given, request="away", propensity=True),
            lambda: stored.choose(given, request="r11"),
            lambda: stored.observe(waiting, 1.0),
            lambda: stored.version,
            stored.tend,
        ):
            with pytest.raises(Unavailable):
                call()
        monkeypatch.undo()
        assert stored.choices == 13 and stored.version == 1 and np.array_equal(total(stored), before)
        assert stored.observe(waiting, 1.0)
        settle(stored)
        assert stored.entered == 13 and stored.events == []
        assert np.array_equal(total(stored), before + contribution(linear(), np.eye(3)[waiting.index], 1.0))
        assert stored.choose(given, request="away").version == 1 and stored.choices == 14
        assert stored.choose(given, request="r11").id == first.id


@pytest.mark.parametrize("room", ["for files of this size", "for nothing", "for one page more"])
def test_a_full_disk(on_sqlite, full, monkeypatch, room, rng):
    """A real error of the file system, or SQLite's own. What was answered is answered so again."""
    with on_sqlite.open(glm()) as stored:
        first = play(stored, rng, 12, together=12)[3]
        waiting, before, choices = stored.choose(arms(rng)), total(stored), stored.choices
        asks = [stored.prepare(arms(rng), request=name) for name in [*(f"new{i}" for i in range(200)), "r3"]]
        if room == "for one page more":
            ((pages,),), opens = table(stored, "PRAGMA page_count"), stored._database._open

            def small():
                connection = opens()
                connection.execute(f"PRAGMA max_page_count = {pages + 1}").fetchall()
                return connection

            monkeypatch.setattr(stored._database, "_open", small)
            stored._database._drop()
        else:
            full(0 if room == "for nothing" else os.stat(on_sqlite.where).st_size)
        for _ in range(2):
            with pytest.raises(Unavailable):
                stored.choose_group(asks)
        full(resource.RLIM_INFINITY)
        monkeypatch.undo()
        stored._database._drop()
        assert stored.choices == choices and np.array_equal(total(stored), before)
        assert stored.choose_group(asks)[-1].id == first.id and stored.choices == choices + 200
        assert stored.observe(waiting, 1.0)
        settle(stored)
        assert stored.entered == choices + 200 and not np.array_equal(total(stored), before)


def test_keys_that_cannot_be_written(on_sqlite, full, rng):
    """A new epoch of choices needs a key: without one nothing is acknowledged, and no half key stays."""
    with on_sqlite.open(linear(), pending=16) as stored:
        play(stored, rng, 3, together=3)
        files = sorted(os.listdir(on_sqlite.keys))
        full(0)
        refused = 0
        for _ in range(8):
            try:
                stored.choose(arms(rng))
            except Unavailable:
                refused += 1
        assert refused
        full(resource.RLIM_INFINITY)
        stored.tend()
        assert stored.choose(arms(rng)).id
        assert set(files) <= set(os.listdir(on_sqlite.keys)) and not list(on_sqlite.keys.glob(".*"))


def test_a_read_only_disk(on_sqlite, folder):
    """The file, its folder and that of keys; in a process of another user, since root may write what is read-only."""
    warm_up(linear())

    def work():
        if os.getuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        rng, modes = np.random.default_rng(4), {on_sqlite.where: 0o400, folder: 0o500, on_sqlite.keys: 0o500}
        with on_sqlite.open(linear()) as stored:
            first, waiting = play(stored, rng, 12, together=12)[3], stored.choose(np.eye(3))
            before = total(stored)
            stored._database._drop()  # who had it open could go on
            for path, mode in modes.items():
                os.chmod(path, mode)
            for call in (lambda: stored.choose(arms(rng)), lambda: stored.observe(waiting, 1.0), stored.tend):
                with pytest.raises(Unavailable):
                    call()
            for path in modes:
                os.chmod(path, 0o700)
            assert stored.choices == 13 and np.array_equal(total(stored), before)
            assert stored.choose(arms(rng), request="r3").id == first.id
            stored.observe(waiting, 1.0)
            settle(stored)
            assert np.array_equal(total(stored), before + contribution(linear(), np.eye(3)[waiting.index], 1.0))

    assert forked(work) == 0


def test_the_thread_looks_now_and_then_and_not_all_the_time(on_sqlite, full):
    """A release waits to be shown, and the witness cannot be written: the thread neither ends nor hurries."""
    looks, until = [], time.monotonic() + 120
    with on_sqlite.open(glm(), background=True, delay=0.3, clock=time.time, reward={"window": "0.1 seconds"}) as stored:
        tend = stored.tend
        stored.tend = lambda: looks.append(time.monotonic()) or tend()
        stored.choose_group([stored.prepare(np.eye(3)) for _ in range(10)])
        while not table(stored, "SELECT step FROM leaf") and time.monotonic() < until:
            time.sleep(0.002)
        full(0)
        seen = len(looks) + 1  # one may be under way
        while len(looks) < seen + 4 and time.monotonic() < until:
            time.sleep(0.02)
        full(resource.RLIM_INFINITY)
        assert min(np.diff(looks[seen : seen + 4])) > 0.9 * upkeep.PATIENCE
        while stored.version < 1 and time.monotonic() < until:
            time.sleep(0.02)
        assert stored.version >= 1


def test_a_postgresql_that_is_away_is_named_without_its_password():
    for address in ("postgresql://user:canary@127.0.0.1:1/db", "postgresql://user:p@canary@127.0.0.1:1/db"):
        with (
            pytest.raises(Unavailable, match="Expected a connection to PostgreSQL") as caught,
            Postgres(address).transaction(),
        ):
            pass
        assert "canary" not in str(caught.value)
        if "p@" not in address:
            assert "at 127.0.0.1, port 1, got none: Connection refused" in str(caught.value)
