"""While the database is away or cannot be written: choices by what was shown, without learning, and nothing is lost."""

import os
import resource
import time
import traceback

import numpy as np
import psycopg
import pytest

from tacit.errors import RolledBack, Unavailable
from tacit.holders.postgres import Postgres
from tests.store.places import arms, contribution, glm, linear, play, settle, table, total
from tests.whole.tape import Tape

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


def test_choices_go_on_by_what_was_shown_and_teach_nothing(on_postgres, monkeypatch):
    rng = np.random.default_rng(0)
    with on_postgres.open(linear(), degraded="serve") as stored:
        first = play(stored, rng, 12, together=12)[-1]
        shown, before, estimate = stored._versions.version, total(stored), stored.theta
        waiting = stored.choose(np.eye(3))
        cut(stored, monkeypatch)
        given = arms(rng)
        choice = stored.choose(given, request="away")
        assert choice.degraded and choice.version == shown == 1 and stored.degraded
        fold = stored._versions.fold
        assert np.array_equal(fold.algorithm.theta(fold.estimate), estimate)
        same = stored.choose_group([stored.prepare(given, request="twice") for _ in range(3)])
        assert len({each.id for each in same}) == 1
        for call in (lambda: stored.observe(waiting, 1.0), lambda: stored.observe(choice, 1.0), stored.tend):
            with pytest.raises(Unavailable):
                call()
        assert stored.degraded
        monkeypatch.undo()
        stored.tend()
        assert not stored.degraded and [what[:21] for _, what in stored.events] == ["choices were answered"]
        assert stored.choices == 13 and np.array_equal(total(stored), before)
        assert stored.observe(choice, 1.0)  # acknowledged like any other, and nothing is learnt from it
        assert stored.observe(waiting, 1.0)
        settle(stored)
        assert stored.entered == 13 and np.array_equal(
            total(stored), before + contribution(linear(), np.eye(3)[waiting.index], 1.0)
        )
        assert not stored.choose(given, request="away").degraded and stored.choices == 14
        assert stored.choose(given, request="r11").id == first.id


def test_a_database_that_was_taken_back_is_not_served_in_an_outage(on_postgres, monkeypatch):
    rng = np.random.default_rng(1)
    with on_postgres.open(linear(), degraded="serve") as stored:
        play(stored, rng, 11, together=11)
        address = stored._database._address
        cut(stored, monkeypatch)
        assert stored.choose(arms(rng)).degraded
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("DELETE FROM leaf")
            connection.execute("UPDATE bandit SET step = 0")
        monkeypatch.undo()
        with pytest.raises(RolledBack):
            stored.tend()
        with pytest.raises(RolledBack):
            stored.choose(arms(rng))
        cut(stored, monkeypatch)
        with pytest.raises(Unavailable):  # away again: what is in memory stays refused
            stored.choose(arms(rng))


@pytest.mark.parametrize(("mode", "room"), [("serve", True), ("refuse", True), ("serve", False)])
def test_a_full_disk(on_sqlite, full, mode, room):
    """A real error of the file system: files do not grow, or nothing at all can be written. What was answered is
    answered so again."""
    rng = np.random.default_rng(2)
    with on_sqlite.open(glm(), degraded=mode) as stored:
        first = play(stored, rng, 12, together=12)[3]
        waiting, before, choices = stored.choose(arms(rng)), total(stored), stored.choices
        full(os.stat(on_sqlite.where).st_size if room else 0)
        names = [*(f"new{i}" for i in range(200)), "r3"]
        asks = [stored.prepare(arms(rng), request=name) for name in names]
        if mode == "refuse":
            with pytest.raises(Unavailable):
                stored.choose_group(asks)
        else:
            found = stored.choose_group(asks)
            assert all(each.degraded and each.version == 1 for each in found[:-1])
            assert found[-1].id == first.id and not found[-1].degraded
            assert stored.version == 1 and stored.degraded  # it can still be read
            with pytest.raises(Unavailable):
                stored.observe(waiting, 1.0)
        full(resource.RLIM_INFINITY)
        stored.tend()
        assert not stored.degraded and stored.choices == choices and np.array_equal(total(stored), before)
        for each in found[:-1] if mode == "serve" else ():
            assert stored.observe(each, 1.0)  # and no evidence that the database has lost what was never in it
        settle(stored)
        assert stored.entered == choices and np.array_equal(total(stored), before)
        last = stored.choose(arms(rng))
        assert not stored.observe(waiting, 1.0) and stored.observe(last, 1.0)
        settle(stored)
        assert not np.array_equal(total(stored), before)
        assert not stored.choose(arms(rng)).degraded


def test_a_disk_that_stays_full_is_an_outage_that_goes_on(on_sqlite, full):
    """Also the second one within an hour, which no event tells of."""
    with on_sqlite.open(linear(), degraded="serve") as stored:
        for _ in range(2):
            full(0)
            assert stored.choose(np.eye(3)).degraded
            for _ in range(3):
                with pytest.raises(Unavailable):
                    stored.tend()
                assert stored.degraded
            full(resource.RLIM_INFINITY)
            stored.tend()
            assert not stored.degraded and stored.choices == 0
        assert len(stored.events) == 1


def test_keys_that_cannot_be_written(on_sqlite, full):
    """A new epoch of choices needs a key: without one nothing is acknowledged, and no half key stays."""
    rng = np.random.default_rng(3)
    with on_sqlite.open(linear(pending=16), degraded="serve") as stored:
        play(stored, rng, 3, together=3)
        files = sorted(os.listdir(on_sqlite.keys))
        full(0)
        found = [stored.choose(arms(rng)) for _ in range(8)]
        assert found[-1].degraded
        full(resource.RLIM_INFINITY)
        stored.tend()
        assert not stored.choose(arms(rng)).degraded
        assert set(files) <= set(os.listdir(on_sqlite.keys)) and not list(on_sqlite.keys.glob(".*"))


def as_an_ordinary_user(folder, work):
    """In a process of its own, which for root is another user's: root may write what is read-only."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if os.getuid() == 0:
                os.chown(folder, NOBODY, NOBODY)
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_a_read_only_disk(on_sqlite, folder):
    """The file, its folder and that of keys."""
    linear().warm_up()

    def work():
        rng, modes = np.random.default_rng(4), {on_sqlite.where: 0o400, folder: 0o500, on_sqlite.keys: 0o500}
        with on_sqlite.open(linear(), degraded="serve") as stored:
            first, waiting = play(stored, rng, 12, together=12)[3], stored.choose(np.eye(3))
            before = total(stored)
            stored._database._drop()  # who had it open could go on
            for path, mode in modes.items():
                os.chmod(path, mode)
            choice = stored.choose(arms(rng), request="new")
            assert choice.degraded and choice.version == 1
            for call in (lambda: stored.observe(waiting, 1.0), stored.tend):
                with pytest.raises(Unavailable):
                    call()
            for path in modes:
                os.chmod(path, 0o700)
            stored.tend()
            assert not stored.degraded and stored.choices == 13 and np.array_equal(total(stored), before)
            assert stored.choose(arms(rng), request="r3").id == first.id
            stored.observe(waiting, 1.0)
            settle(stored)
            assert np.array_equal(total(stored), before + contribution(linear(), np.eye(3)[waiting.index], 1.0))

    as_an_ordinary_user(folder, work)


def test_answers_in_an_outage_are_by_what_was_released(on_postgres, monkeypatch):
    """Other people, and the same releases: the same answers, whatever waits and whoever was rewarded."""
    tape, seen = Tape(), []
    for people, playing in ((1, tape.recording), (2, tape.playing)):
        rng = np.random.default_rng(people)
        with playing(), on_postgres.open(linear(), name=f"of{people}", degraded="serve") as stored:
            for i in range(40):
                choice = stored.choose(arms(rng))
                if i % (1 + people) == 0:
                    stored.observe(choice, float(rng.random()))
                if i % 10 == 9:
                    settle(stored)
            cut(stored, monkeypatch)
            same = np.random.default_rng(0)
            found = [stored.choose(arms(same), propensity=i % 2 == 0) for i in range(20)]
            seen.append([(one.index, one.version, one.propensity, one.degraded) for one in found])
            monkeypatch.undo()
    assert seen[0] == seen[1] and len({index for index, *_ in seen[0]}) > 1 and seen[0][0][1] == 4


def test_the_thread_looks_now_and_then_and_not_all_the_time(on_sqlite, full):
    """A release waits to be shown, and the witness cannot be written: the thread neither ends nor hurries."""
    looks = []
    with on_sqlite.open(glm(), degraded="serve", background=True, delay=0.3, clock=time.time, hold=0.1) as stored:
        tend = stored.tend
        stored.tend = lambda: looks.append(time.monotonic()) or tend()
        stored.choose_group([stored.prepare(np.eye(3)) for _ in range(10)])
        until = time.monotonic() + 20
        while not table(stored, "SELECT step FROM leaf") and time.monotonic() < until:
            time.sleep(0.002)
        full(0)
        time.sleep(1.5)
        assert 1 <= sum(at > time.monotonic() - 1.0 for at in looks) <= 4
        full(resource.RLIM_INFINITY)
        while stored.version < 1 and time.monotonic() < until:
            time.sleep(0.02)
        assert stored.version >= 1


def test_the_thread_ends_an_outage(on_postgres, monkeypatch):
    with on_postgres.open(linear(), degraded="serve", background=True, clock=time.time) as stored:
        stored.choose(np.eye(3))
        cut(stored, monkeypatch)
        assert stored.choose(np.eye(3)).degraded
        monkeypatch.undo()
        until = time.monotonic() + 20
        while stored.degraded and time.monotonic() < until:
            time.sleep(0.02)
        assert not stored.choose(np.eye(3)).degraded and table(stored, "SELECT count(*) FROM choice") == [(2,)]


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
