"""Nothing raw is readable in a database, its write-ahead log or a copy; keys are few, private and destroyed in time."""

import contextlib
import stat
from pathlib import Path

import numpy as np
import psycopg
import pytest

from core_tests.canaries import contents
from reticent.errors import BadState, Unavailable
from reticent_serve.holders import sqlite, upkeep
from reticent_serve.holders.seal import Keys, Seal, number_of
from reticent_serve.holders.witness import Witness
from serve_tests.store.places import (
    LASTS,
    Place,
    arms,
    contribution,
    glm,
    linear,
    lived,
    play,
    settle,
    sums,
    table,
    total,
)

CANARY = np.array([0.1234567890123, -0.2345678901234, 0.3456789012345])
REWARD = 0.7182818284590
PERSON, REQUEST, NAME = "canary-person-9e1f", "canary-request-77aa", "canary-arm-31bc"


def raw_bytes():
    """What must not be found: each number by itself, all of them, and text."""
    numbers = [np.float64(v).tobytes() for v in (*CANARY, REWARD)]
    return [*numbers, CANARY.tobytes(), *(text.encode() for text in (PERSON, REQUEST, NAME))]


def found_in(folder):
    return [
        (path.name, one)
        for path in folder.rglob("*")
        if path.is_file()
        for one in raw_bytes()
        if one in path.read_bytes()
    ]


def visit(stored):
    """One user with canaries among others, until the step is released."""
    rng, only = np.random.default_rng(0), {NAME: CANARY}
    choice = stored.choose(only, person=PERSON, request=REQUEST)
    waiting = stored.choose(only, person=PERSON, request=REQUEST + "2")  # nobody will answer
    stored.observe(choice, REWARD)
    play(stored, rng, 25, together=13)
    assert stored.version == 2
    return waiting


def test_no_canary_in_the_file_its_log_or_a_copy(on_sqlite, folder):
    with on_sqlite.open(linear(rounds=5)) as stored:
        visit(stored)
        copy = folder / "copy.db"
        stored.backup(copy)
        log = folder / "bandit.db-wal"
        assert log.exists() and log.stat().st_size > 0 and copy.stat().st_size > 0 and found_in(folder) == []
        assert stat.S_IMODE(copy.stat().st_mode) == stat.S_IMODE((folder / "bandit.db").stat().st_mode) == 0o600
    assert found_in(folder) == []


def test_nobody_waits_for_a_copy(on_sqlite, folder, monkeypatch):
    """Between its pages others have their turn; what they do then is in it."""
    rng, turns = np.random.default_rng(0), []
    monkeypatch.setattr(sqlite, "PAGES", 1)
    with on_sqlite.open(linear()) as stored:
        play(stored, rng, 12, together=12)
        turn = stored._database._lock

        @contextlib.contextmanager
        def seen():
            with turn():
                yield
            turns.append("somebody's")
            if len(turns) == 5:
                stored.choose(arms(rng))

        stored._database._lock = seen
        stored.backup(folder / "copy.db")
        assert len(turns) > 10
        with pytest.raises(Unavailable):
            stored.backup(Path(on_sqlite.where))
        stored.choose(arms(rng))
    with on_sqlite._replace(where=str(folder / "copy.db")).open(linear()) as copied:
        assert copied.choices == 13 and table(copied, "PRAGMA integrity_check") == [("ok",)]


def test_that_a_canary_would_be_found(on_sqlite, folder, monkeypatch):
    """So that the test above can fail: the same without sealing."""
    monkeypatch.setattr(Seal, "seal", lambda self, kind, number, place, text: number.to_bytes(8, "big") + text)
    monkeypatch.setattr(Seal, "open", lambda self, kind, place, sealed: sealed[8:])
    with on_sqlite.open(linear(rounds=5)) as stored:
        visit(stored)
        names = {name for name, _ in found_in(folder)}
    assert "bandit.db-wal" in names


def test_no_canary_in_postgres(on_postgres, postgres):
    with on_postgres.open(linear(rounds=5)) as stored:
        visit(stored)
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
            folder = connection.execute("SHOW data_directory").fetchone()[0]
        seen, found = 0, []
        for name in ("base", "pg_wal"):
            for path, content in contents(Path(folder) / name):
                seen += 1
                found += [(path, one) for one in raw_bytes() if one in content]
        assert seen > 100 and found == []


def test_a_file_that_goes_while_others_are_read_is_passed_over(tmp_path):
    """As PostgreSQL removes its own: a list of them is old when they are read."""
    for name in "abc":
        (tmp_path / name).write_text("raw")
    seen = []
    for path, content in contents(tmp_path):
        seen.append(content)
        for other in {*tmp_path.iterdir()} - {path}:
            other.unlink()
    assert seen == [b"raw"]


def test_rows_have_one_size(place):
    """Whoever chose among whatever, and a reward, or that it was cancelled."""
    with place.open(glm()) as stored:
        one = stored.choose({"a": [1.0, 0, 0]}, request="x")
        two = stored.choose({"b" * 255: [0.1, 0.1, 0.1], "c": [0, 0, 0.0]}, request="y" * 1000)
        three = stored.choose(np.zeros((9, 3)))
        stored.observe(one, 1.0)
        stored.observe(two, None)
        stored.observe(three, 0.5)
        for what in ("choice", "waiting", "written"):
            assert len(table(stored, f"SELECT DISTINCT length(sealed) FROM {what}")) == 1
            assert table(stored, f"SELECT count(*) FROM {what}") == [(3,)]


def test_keys_of_expired_choices_are_destroyed(place, rng):
    with place.open(linear(), pending=16) as stored:
        most = 0
        for _ in range(50):
            stored.choose_group([stored.prepare(arms(rng)) for _ in range(2)])
            settle(stored)
            most = max(most, len(stored._store.seal.keys.labels(f"{stored._store.uid}.epoch")))
        assert most <= 8 + 3
        epochs = {
            int(label.rpartition(".")[2]) for label in stored._store.seal.keys.labels(f"{stored._store.uid}.epoch")
        }
        assert min(epochs) * 2 >= 100 - 16 - 2
        assert table(stored, "SELECT min(number) FROM choice")[0][0] >= min(epochs) * 2
        assert table(stored, "SELECT count(*) FROM waiting") == [(0,)]


def test_how_long_answers_are_kept_may_be_changed(place):
    """Keys stay as long as a choice that has not entered, whatever `pending` was when it was made."""
    rng, bandit = np.random.default_rng(1), linear()
    with place.open(linear(), pending=400) as stored:
        stored.choose_group([stored.prepare(arms(rng)) for _ in range(120)])
        stored.tend()
    with place.open(linear(), pending=16) as stored:
        given = arms(rng)
        choice = stored.choose(given)
        for _ in range(5):
            stored.choose_group([stored.prepare(arms(rng)) for _ in range(3)])
            stored.tend()
        stored.observe(choice, 0.5)
        settle(stored)
        assert np.array_equal(total(stored), contribution(bandit, given[choice.index], 0.5))


def test_the_folder_of_keys_is_private(on_sqlite):
    with on_sqlite.open(glm()) as stored:
        stored.choose(np.eye(3))
        folder = stored._store.seal.keys.folder
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    folder.chmod(0o755)
    with pytest.raises(BadState, match="owner"):
        on_sqlite.open(glm())


def test_the_file_is_private_and_stays_where_it_is(folder, monkeypatch):
    """Database, log and keys: readable by their owner only, and where they were wherever the process goes."""
    (folder / "here").mkdir()
    (folder / "there").mkdir()
    monkeypatch.chdir(folder / "here")
    given, rng = Place("bandit.db", None), np.random.default_rng(0)
    with given.open(glm()) as stored:
        monkeypatch.chdir(folder / "there")
        play(stored, rng, 12, together=12)
        assert stored.version == 1
        found = [path for path in (folder / "here").iterdir() if path.is_file()]
        assert {"bandit.db", "bandit.db-wal"} <= {path.name for path in found}
        assert {stat.S_IMODE(path.stat().st_mode) for path in found} == {0o600}
    assert not list((folder / "there").iterdir())
    monkeypatch.chdir(folder / "here")
    with given.open(glm()) as stored:
        assert stored.version == 1


def test_without_its_keys_a_database_is_refused(place):
    lived(place)
    for path in place.keys.iterdir():
        if path.suffix == ".key":
            path.unlink()
    with pytest.raises(BadState, match="keys"):
        place.open(glm())


def test_several_hosts_need_a_folder_of_keys(on_postgres):
    with pytest.raises(ValueError, match="keys="):
        on_postgres.open(glm(), keys=None)


def test_every_release_seals_all_sums_with_a_new_key_and_destroys_the_old_one(place, rng):
    """What a copy of the database from before has of sums, or its log, nobody can read, whoever gets the keys later."""
    with place.open(linear(growth=1.001)) as stored:
        uid, keys = stored._store.uid, stored._store.seal.keys
        for release in range(1, 5):
            play(stored, rng, 5, prefix=f"{release} half", together=5)
            copied = table(stored, "SELECT sums FROM leaf UNION ALL SELECT sums FROM open_step")
            before = sums(stored)
            (old,) = keys.labels(f"{uid}.sums")
            play(stored, rng, 5, prefix=f"{release} ", together=5)
            assert stored.version == release
            (new,) = keys.labels(f"{uid}.sums")
            assert old != new == f"{uid}.sums.{stored.head.sums_key}"
            assert {number_of(bytes(sealed)) for (sealed,) in copied} == {release - 1}
            after = sums(stored)
            assert all(np.array_equal(before[step], after[step]) for step in range(release - 1))
            for kind in ("leaf", "drawn"):
                found = {number_of(bytes(sealed)) for (sealed,) in table(stored, f"SELECT sums FROM {kind}")}
                assert found <= {release}
    with place.open(linear(growth=1.001)) as stored:
        play(stored, rng, 10, prefix="after a restart", together=10)
        assert stored.version == 5


def test_the_old_key_stays_until_the_witness_has_the_release(place, monkeypatch):
    """A replica that lags may go on from the sums before, as long as nothing of the release was shown."""
    with place.open(linear()) as stored:
        uid, keys = stored._store.uid, stored._store.seal.keys
        stored.choose_group([stored.prepare(np.eye(3)) for _ in range(10)])
        monkeypatch.setattr(Witness, "record", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            settle(stored)
        upkeep.purge(stored._store, stored._other, stored._shared)
        assert len(table(stored, "SELECT step FROM drawn")) == 1
        assert keys.labels(f"{uid}.sums") == [f"{uid}.sums.0", f"{uid}.sums.1"]
        monkeypatch.undo()
        stored.tend()
        assert stored.version == 1 and keys.labels(f"{uid}.sums") == [f"{uid}.sums.1"]


def test_a_key_that_two_make_at_once_is_one(folder):
    folder = folder / "keys"
    one, two = Keys(folder), Keys(folder)
    assert one.make("a") == two.make("a") != one.make("b") and two.find("c") is None
    one.destroy("a")
    assert one.find("a") is None and Keys(folder).find("a") is None
    (folder / "b.key").write_bytes(bytes(32))  # overwritten, and the process ended before its file was removed
    assert Keys(folder).find("b") is None


def test_keys_that_another_worker_destroyed_are_not_in_memory(on_postgres):
    with on_postgres.open(linear(), pending=16) as one, on_postgres.open(linear(), pending=16) as two:
        for _ in range(20):
            two.choose_group([two.prepare(np.eye(3)) for _ in range(3)])
            one._clock.now = two._clock.now = two._clock.now + LASTS + one._database.skew + 1.0
            one.tend()
        two.choose(np.eye(3))
        two.tend()
        held = {label for label in two._store.seal.keys._cache if ".epoch." in label or ".sums." in label}
        assert held <= set(two._store.seal.keys.labels("")) and len(held) < 14
