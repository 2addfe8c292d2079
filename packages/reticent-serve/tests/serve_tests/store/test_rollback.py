"""A database that is older than what was shown is refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from reticent.errors import BadState, RolledBack
from serve_tests.store.places import LASTS, arms, glm, lived, play, restored
from serve_tests.store.test_identity import files
from serve_tests.store.test_second_noise import Copy


def test_another_history_of_the_same_length_is_refused(on_sqlite, folder):
    rng, database = np.random.default_rng(1), Path(on_sqlite.where)
    lived(on_sqlite, 8)
    shutil.copy(database, folder / "old.db")
    shutil.copytree(on_sqlite.keys, folder / "other keys")
    lived(on_sqlite, 4, seed=1, prefix="s")
    shutil.copy(folder / "old.db", database)
    with on_sqlite.open(glm(), keys=folder / "other keys") as stored:  # one who has no witness of it goes on
        play(stored, rng, 4, prefix="t", together=12)
        assert stored.version == 1
    with pytest.raises(RolledBack):
        on_sqlite.open(glm())


def test_an_older_database_is_refused_and_a_backup_of_it_restored(place, folder):
    lived(place)
    copy, old = Copy(place, folder), lived(place, seed=1, prefix="s")[-1]
    copy.back()
    before = files(folder)
    with pytest.raises(RolledBack):
        place.open(glm(), reward={"window": "99 seconds"}, delay=3.0)
    assert files(folder) == before  # nothing is written
    restored(place, glm())
    with place.open(glm()) as stored:
        assert stored.observe(old.id, 1.0) is False
        play(stored, np.random.default_rng(2), 12, together=12)
        assert stored.version == 1


def test_a_copy_in_another_server_is_refused(on_postgres):
    """The witness knows which system it was."""
    lived(on_postgres)
    path = on_postgres.keys / "bandit.witness"
    shown = json.loads(path.read_text())
    assert len(shown["digests"]) == 2 and int(shown["system"].split()[1]) > 0 and shown["timeline"] >= 1
    path.write_text(json.dumps(shown | {"system": "another"}))
    with pytest.raises(RolledBack, match="another place"):
        on_postgres.open(glm())
    path.write_text(json.dumps(shown | {"timeline": shown["timeline"] + 1}))
    with pytest.raises(RolledBack):
        on_postgres.open(glm())


def test_the_witness_is_on_disk_before_a_version_is_served(place, monkeypatch, rng):
    with place.open(glm()) as stored:
        stored.choose_group([stored.prepare(arms(rng)) for _ in range(10)])
        stored._clock.now += LASTS + stored._database.skew + 0.01
        stored._steps.run()
        assert stored.choose(arms(rng)).version == 0  # which hears of the release
        monkeypatch.setattr(stored._store.witness.__class__, "record", lambda *args: (_ for _ in ()).throw(OSError))
        with pytest.raises(OSError):
            stored.choose(arms(rng))
        assert stored._served.version == 0
        monkeypatch.undo()
        assert stored.choose(arms(rng)).version == 1


def test_one_process_has_an_sqlite_file(on_sqlite):
    with on_sqlite.open(glm()), pytest.raises(BadState, match="in use"):
        on_sqlite.open(glm())
