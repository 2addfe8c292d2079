"""A database that is older than what was shown is refused; `recover` starts anew from what was released."""

import json
import math
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import psycopg
import pytest

from tacit import Budget, recover
from tacit.errors import BadState, RolledBack, UnknownChoice
from tacit.holders.seal import Keys
from tacit.privacy import gaussian
from tests.store.clusters import tool
from tests.store.places import BUDGET, HOLD, arms, glm, linear, play, table, total


def test_an_older_file_is_refused(on_sqlite, folder):
    rng, database = np.random.default_rng(0), Path(on_sqlite.where)
    with on_sqlite.open(glm()) as stored:
        play(stored, rng, 12, together=12)
    shutil.copy(database, folder / "old.db")
    with on_sqlite.open(glm()) as stored:
        play(stored, rng, 12, prefix="s", together=12)
        assert stored.version == 2
    shutil.copy(folder / "old.db", database)
    with pytest.raises(RolledBack):
        on_sqlite.open(glm())
    assert recover(glm(), on_sqlite.where, keys=on_sqlite.keys) == 2
    with on_sqlite.open(glm()) as stored:
        assert stored.version == 0
    shutil.copy(folder / "old.db", database)  # older than the recovery, too
    with pytest.raises((RolledBack, BadState)):
        on_sqlite.open(glm())


def test_another_history_of_the_same_length_is_refused(on_sqlite, folder):
    rng, database = np.random.default_rng(0), Path(on_sqlite.where)
    with on_sqlite.open(glm()) as stored:
        play(stored, rng, 8, together=12)
    shutil.copy(database, folder / "old.db")
    shutil.copytree(on_sqlite.keys, folder / "other keys")
    with on_sqlite.open(glm()) as stored:
        play(stored, rng, 4, prefix="s", together=12)
        assert stored.version == 1
    shutil.copy(folder / "old.db", database)
    with on_sqlite.open(glm(), keys=folder / "other keys") as stored:  # one who has no witness of it goes on
        play(stored, rng, 4, prefix="t", together=12)
        assert stored.version == 1
    with pytest.raises(RolledBack):
        on_sqlite.open(glm())
    recover(glm(), database, keys=on_sqlite.keys)  # both noises of the first step were shown: that is a second release
    with on_sqlite.open(glm()) as stored:
        assert stored.privacy.epsilon == pytest.approx(gaussian.epsilon(math.sqrt(2) * gaussian.mu(BUDGET), 1e-5), 1e-3)


def test_a_database_that_is_replaced_while_it_is_in_use_is_refused(on_postgres):
    rng = np.random.default_rng(1)
    with on_postgres.open(glm()) as stored:
        play(stored, rng, 12, together=12)
        table(stored, "DELETE FROM leaf")
        stored._database._drop()  # as after a failover: another connection, and everything is read anew
        with pytest.raises(RolledBack):
            stored.choose(arms(rng))


def test_a_restored_dump_is_refused_and_recovered(on_postgres, folder):
    rng = np.random.default_rng(2)
    with on_postgres.open(glm()) as stored:
        play(stored, rng, 12, together=12)
    dump = folder / "dump"
    address = on_postgres.where
    schema = address.rpartition("%3D")[2]
    subprocess.run([tool("pg_dump"), "-Fc", "-n", schema, "-f", dump, address], check=True)
    with on_postgres.open(glm()) as stored:
        old = play(stored, rng, 12, prefix="s", together=12)[-1]
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {schema} CASCADE")
    subprocess.run([tool("pg_restore"), "-d", address, dump], check=True)
    with pytest.raises(RolledBack):
        on_postgres.open(glm())
    assert recover(glm(), address, keys=on_postgres.keys) == 2
    with on_postgres.open(glm()) as stored:
        with pytest.raises(UnknownChoice):
            stored.observe(old.id, 1.0)
        play(stored, rng, 12, together=12)
        assert stored.version == 1


def test_a_copy_in_another_server_is_refused(on_postgres):
    """The witness knows which system it was."""
    with on_postgres.open(glm()) as stored:
        play(stored, np.random.default_rng(3), 12, together=12)
    path = on_postgres.keys / "bandit.witness"
    shown = json.loads(path.read_text())
    assert shown["steps"] == 1 and int(shown["system"]) > 0 and shown["timeline"] >= 1
    path.write_text(json.dumps(shown | {"system": "another"}))
    with pytest.raises(RolledBack, match="another place"):
        on_postgres.open(glm())
    path.write_text(json.dumps(shown | {"timeline": shown["timeline"] + 1}))
    with pytest.raises(RolledBack):
        on_postgres.open(glm())


def test_the_witness_is_on_disk_before_a_version_is_served(place, monkeypatch):
    rng = np.random.default_rng(4)
    with place.open(glm()) as stored:
        stored.choose_group([stored.prepare(arms(rng)) for _ in range(10)])
        stored._clock.now += HOLD + stored._database.skew + 0.01
        stored._steps.run()
        assert stored.choose(arms(rng)).version == 0  # which hears of the release
        monkeypatch.setattr(stored._vault.witness.__class__, "record", lambda *args: (_ for _ in ()).throw(OSError))
        with pytest.raises(OSError):
            stored.choose(arms(rng))
        assert stored._versions.version == 0
        monkeypatch.undo()
        assert stored.choose(arms(rng)).version == 1


@pytest.mark.parametrize("kind", [glm, linear])
def test_a_recovery_keeps_what_was_released_and_nothing_that_is_raw(place, kind):
    rng = np.random.default_rng(5)
    with place.open(kind()) as stored:
        play(stored, rng, 35, together=12)
        waiting = stored.choose(arms(rng), request="w")
        stored.observe(waiting, 1.0)
        estimate, prefix = snapshot(stored)
        leaves = table(stored, "SELECT noisy FROM leaf ORDER BY step")
    assert recover(kind(), place.where, keys=place.keys) == 2
    with place.open(kind()) as stored:
        assert stored.version == 0 and stored.choices == 0 and not total(stored).any()
        assert np.array_equal(snapshot(stored)[1], prefix)
        if kind is glm:  # the same sums and noise; a UCB's regulariser is made for more noise
            assert np.allclose(snapshot(stored)[0], estimate, rtol=0, atol=1e-12)
        assert table(stored, "SELECT noisy FROM leaf ORDER BY step") == leaves
        for raw in ("choice", "waiting", "written"):
            assert table(stored, f"SELECT count(*) FROM {raw}") == [(0,)]
        assert table(stored, "SELECT DISTINCT length(sums) FROM leaf") == [(0,)]
        with pytest.raises(UnknownChoice):
            stored.observe(waiting.id, 1.0)
        assert stored.choose(arms(rng), request="w").id != waiting.id
        play(stored, rng, 12, together=12)
        assert stored.version == 1
        assert [what for _, what in stored.events] == ["recovered: incarnation 2"]
    assert {label.partition(".")[0] for label in Keys(place.keys).labels("")} == {stored._vault.uid, "bandit"}


def test_the_noise_of_a_prior_is_taken_into_account(place):
    """Twice recovered after n releases: variances add up, faded."""
    n, bandit = 3, glm()
    grid = bandit.mechanism
    std = grid.sigma * float(grid.gain(np.array([float(n)]))[0])
    for _ in range(2):
        with place.open(glm()) as stored:
            play(stored, np.random.default_rng(6), 10 * n + 1, together=12)
            assert stored.version == n
        recover(glm(), place.where, keys=place.keys)
    with place.open(glm()) as stored:
        expected = math.hypot(std, grid.fading**n * std)
        assert stored._vault.bandit.prior_std == pytest.approx(expected)
        used = stored._versions.fold.algorithm
        assert used.gains[0] * grid.sigma == pytest.approx(expected)
        assert used.gains[2] > bandit.algorithm.gains[2]


def test_the_certificate_says_what_a_recovery_costs(place):
    with place.open(glm()) as stored:
        before = stored.privacy
    recover(glm(), place.where, keys=place.keys)
    with place.open(glm()) as stored:
        after = stored.privacy
        assert after.epsilon == before.epsilon and after.private
        assert any("Recovered once" in caveat for caveat in after.caveats)
        assert after.spent == after.epsilon  # what those of before have spent is not known: all of it


def test_choices_without_a_person_and_logs_are_told_after_a_recovery(place):
    """What they were released with is promised, too. A restore may have lost some: then no limit is said to hold for
    everybody."""
    limit = {"max_rounds_per_person": 2}
    log = {"reward": [1.0], "x0": [0.1], "x1": [0.2], "x2": [0.3], "person": ["ada"]}
    with place.open(linear(**limit)) as stored:
        assert "every choice has a person" in stored.privacy.unit
    with place.open(linear(**limit, require_person=False)) as stored:
        stored.choose(np.eye(3))
        stored.learn_log(log, log="june")
    recover(linear(**limit), place.where, keys=place.keys)
    with place.open(linear(**limit)) as stored:
        found = stored.privacy
        assert stored.choices == 0 and "else assumed" in found.unit
        said = " ".join(found.caveats)
        assert "the one choice made without person=" in said and "1 of the choices are rows of a log" in said
    recover(linear(**limit), place.where, keys=place.keys)
    with place.open(linear(**limit)) as stored:
        assert "the one choice made without person=" in " ".join(stored.privacy.caveats)


def test_other_settings_are_not_recovered_with(place):
    """The certificate counts each incarnation as one of its own noise, and the prior has the old one's."""
    place.open(glm()).close()
    for other in (glm(budget=Budget(0.1, 1e-5)), glm(max_rounds_per_person=9), glm(radius=2.0), linear()):
        with pytest.raises(BadState, match="settings"):
            recover(other, place.where, keys=place.keys)
    with place.open(glm()) as stored:
        assert stored._vault.bandit.incarnation == 1


def test_a_person_may_have_all_rounds_in_each_incarnation(place):
    def limited():
        return glm(max_rounds_per_person=3)

    for _ in range(2):
        place.open(limited()).close()
        recover(limited(), place.where, keys=place.keys)
    with place.open(limited()) as stored:
        certificate, mu = stored.privacy, gaussian.mu(Budget(1.0, 1e-5))
        assert certificate.epsilon == pytest.approx(gaussian.epsilon(math.sqrt(3) * mu, 1e-5), rel=1e-3)
        assert certificate.epsilon > 1.5 and not certificate.private and certificate.spent < certificate.epsilon


def test_recovery_without_the_old_keys(place):
    """The folder of keys is in no backup: it may be gone."""
    with place.open(glm()) as stored:
        play(stored, np.random.default_rng(7), 12, together=12)
    shutil.rmtree(place.keys)
    with pytest.raises(BadState):
        place.open(glm())
    assert recover(glm(), place.where, keys=place.keys) == 2
    place.open(glm()).close()


def test_workers_of_the_old_incarnation_are_refused(on_postgres):
    rng = np.random.default_rng(8)
    with on_postgres.open(glm()) as stored:
        choice = stored.choose(arms(rng))
        recover(glm(), on_postgres.where, keys=on_postgres.keys)
        for call in (lambda: stored.choose(arms(rng)), lambda: stored.observe(choice, 1.0), stored.tend):
            with pytest.raises(RolledBack):
                call()


def test_one_process_has_an_sqlite_file(on_sqlite):
    with on_sqlite.open(glm()), pytest.raises(BadState, match="in use"):
        on_sqlite.open(glm())
    with on_sqlite.open(glm()) as stored:
        child = os.fork()
        if child == 0:
            try:
                stored.choose(np.eye(3))
            except BadState:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0


def snapshot(stored):
    """The estimate, and the sums that it is made from."""
    return stored.theta, np.copy(stored._versions.fold._released)
