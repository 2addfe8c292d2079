"""From one version of the store to the next: whole or not at all, beside workers of the version before, and without a
touch on what was released."""

import json
import sys
import threading
import time

import numpy as np
import pytest

from tacit import cli
from tacit.errors import BadState, RolledBack
from tacit.holders import line, migration, schema
from tacit.holders.witness import UNKNOWN
from tests.store import version1
from tests.store.places import Clock, dies_at, linear, play, table, total
from tests.store.version1 import LEAVES, rows_of


def bandit():
    return linear(max_rounds_per_person=5, pending=40)


def columns(place):
    """Every table with its columns: of the place's own schema."""
    if "://" in place.where:
        statement = (
            "SELECT table_name::text, column_name::text, data_type::text FROM information_schema.columns"
            " WHERE table_schema = current_schema()"
        )
        return sorted(rows_of(place, statement))
    tables = [name for (name,) in rows_of(place, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    return sorted((name, *row[1:3]) for name in tables for row in rows_of(place, f"PRAGMA table_info({name})"))


def test_the_first_version_stays_as_it_was():
    assert [" ".join(text.split()) for text in schema.FIRST] == [
        text.replace(" IF NOT EXISTS", "") for text in version1.MADE["schema"]
    ]


def test_an_old_database_is_refused_until_it_is_migrated_and_then_goes_on(place):
    made = version1.restore(place)
    before = rows_of(place, LEAVES)
    with pytest.raises(BadState, match="tacit migrate CONFIG"):
        place.open(bandit())
    assert rows_of(place, LEAVES) == before  # a refusal changes nothing
    assert line.migrate(place.where, {"bandit": place.keys}) == "from version 1 to 5"
    assert line.migrate(place.where, {"bandit": place.keys}) == "version 5 already"
    assert rows_of(place, LEAVES) == before and len(before) == 2
    clock = Clock()
    clock.now = 2000.0
    with place.open(bandit(), clock=clock) as stored:  # the witness, written by the first version, accepts
        assert stored.version == 2 and stored.choices == 26
        was = total(stored)
        stored.observe(made["kept"], 1.0)  # a choice that waited
        assert not np.array_equal(total(stored), was)
        play(stored, np.random.default_rng(1), 10, prefix="later")
        assert stored.version == 3
    assert rows_of(place, LEAVES)[:2] == before


def test_a_migrated_database_has_the_tables_of_a_new_one(place, folder):
    version1.restore(place)
    line.migrate(place.where, {"bandit": place.keys})
    migrated = columns(place)
    if "://" in place.where:
        for name in {name for name, *_ in migrated}:
            rows_of(place, f"DROP TABLE {name}")
        line.connect(place.where).close()
        assert columns(place) == migrated
    else:
        new = place._replace(where=str(folder / "new.db"))
        line.connect(new.where).close()
        assert columns(new) == migrated


def test_old_workers_write_while_a_database_is_migrated_and_beside_new_ones(on_postgres):
    version1.restore(on_postgres)
    before = rows_of(on_postgres, LEAVES)
    old, done, stop, wrong = version1.Worker(on_postgres), [], threading.Event(), []

    def work():
        try:
            while not stop.is_set():
                done.append(old.choose())
        except BaseException as error:
            wrong.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        wait(lambda: len(done) > 5)
        assert line.migrate(on_postgres.where, {"bandit": on_postgres.keys}) == "from version 1 to 5"
        so_far = len(done)
        wait(lambda: len(done) > so_far + 5)
        with on_postgres.open(bandit()) as stored:
            mine = [stored.choose(np.eye(3)).id for _ in range(10)]
            so_far = len(done)
            wait(lambda: len(done) > so_far + 5)
    finally:
        stop.set()
        thread.join()
        old.close()
    assert not wrong and len(done) == len(set(done)) and len(mine) == len(set(mine))
    ((choices,),) = rows_of(on_postgres, "SELECT choices FROM bandit")
    assert choices == 26 + len(done) + len(mine)
    assert rows_of(on_postgres, LEAVES)[:2] == before


def test_old_and_new_workers_write_the_same_witness(on_postgres):
    """The file has what the first version wrote; digests of shorter histories, beside it, may be behind."""
    keys = on_postgres.keys
    with on_postgres.open(linear()) as stored:
        play(stored, np.random.default_rng(3), 35)
        new = json.loads((keys / "bandit.witness").read_text())
        assert (
            sorted(new) == sorted({"used": 3, "twice": 0, "disputed": False} | version1.MADE["sqlite"]["witness"])
            and new["steps"] == stored.version == 3
        )
        digests = json.loads((keys / "bandit.shown").read_text())
        (keys / "bandit.shown").write_text(json.dumps(digests[:2]))  # old workers showed the second and the third
        shown = stored._line.witness.read()
        assert shown.digests == [UNKNOWN] * 3 + digests[3:]
        stored._line.witness.record(shown._replace(digests=digests[:3]))  # a worker that is behind
        with pytest.raises(RolledBack):
            stored._line.witness.record(shown._replace(digests=[*digests[:3], "another"]))
        with pytest.raises(RolledBack):
            stored._line.witness.record(shown._replace(digests=[*digests[:3], "another", "more"]))
        with on_postgres.open(linear()) as other:
            assert other.version == 3
            play(other, np.random.default_rng(4), 10, prefix="s")
        assert stored._line.witness.read().digests[:4] == digests  # all of them are known again


def test_a_bandit_that_has_no_witness_gets_one_when_it_is_migrated_and_never_after(place):
    """Early versions wrote it with the first release that was shown. It is of what the database has then."""
    version1.restore(place)
    witness = place.keys / "bandit.witness"
    kept = json.loads(witness.read_text())
    witness.unlink()
    line.migrate(place.where, {"bandit": place.keys})
    assert json.loads(witness.read_text()) == kept | {"used": 0, "twice": 0, "disputed": False}
    clock = Clock()
    clock.now = 2000.0
    with place.open(bandit(), clock=clock) as stored:
        assert stored.version == 2
    witness.unlink()
    line.migrate(place.where, {"bandit": place.keys})
    with pytest.raises(RolledBack, match="witness"):
        place.open(bandit())


def test_a_database_alone_does_not_say_where_its_keys_are(place):
    version1.restore(place)
    with pytest.raises(BadState, match="TOML file"):
        line.migrate(place.where)
    with pytest.raises(BadState, match="tacit migrate CONFIG"):
        place.open(bandit())


def wait(until):
    end = time.monotonic() + 20
    while not until():
        assert time.monotonic() < end, "nothing happened for 20 seconds"
        time.sleep(0.001)


def test_workers_accept_the_next_version_and_refuse_the_one_after(place, monkeypatch):
    """What a later version adds does not disturb; what it drops was added two versions before."""
    place.open(linear()).close()
    with monkeypatch.context() as later:
        later.setattr(schema, "VERSIONS", (*schema.VERSIONS, ("ALTER TABLE waiting ADD COLUMN more TEXT",)))
        later.setattr(migration, "VERSION", 6)
        assert line.migrate(place.where) == "from version 5 to 6"
    with place.open(linear()) as stored:
        play(stored, np.random.default_rng(2), 12)
        assert stored.version == 1
        table(stored, "INSERT INTO store_version (version, at) VALUES (7, 0)")
    with pytest.raises(BadState, match="newer tacit"):
        place.open(linear())


def test_a_migration_that_is_killed_has_happened_whole_or_not_at_all(place):
    version1.restore(place)
    before, old = rows_of(place, LEAVES), columns(place)
    statements, outcomes = 8 + sum(map(len, schema.VERSIONS[1:])), []
    for number in range(statements + 2):
        killed = dies_at(number, place, lambda: line.migrate(place.where, {"bandit": place.keys}))
        found = columns(place)
        outcomes.append((killed, found == old))
        assert rows_of(place, LEAVES) == before
        if found != old:
            break
        with pytest.raises(BadState, match="tacit migrate CONFIG"):
            place.open(bandit())
    assert outcomes[:-1] == [(True, True)] * (len(outcomes) - 1) and len(outcomes) > 4  # nothing until the commit
    assert line.migrate(place.where, {"bandit": place.keys}) == "version 5 already"
    place.open(bandit()).close()


def test_the_command_says_what_it_did(on_sqlite, folder, monkeypatch, capsys):
    version1.restore(on_sqlite)
    text = """
[bandits.{}]
kind = "joint-lin-ucb"
dim = 3
horizon = 2000
budget = {{epsilon = 1.0, delta = 1e-5}}
durable = "{}.db"
"""
    (folder / "serve.toml").write_text(text.format("old", "bandit") + text.format("new", "nothing"))

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["tacit", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert stop.value.code == 0
        return capsys.readouterr().out

    assert run("migrate", str(folder / "serve.toml")) == "old: from version 1 to 5.\nnew: nothing is there yet.\n"
    assert not (folder / "nothing.db").exists()
    assert run("migrate", on_sqlite.where) == "the database: version 5 already.\n"
