"""A database that goes back in time under workers that go on: a failover to a replica that lags."""

import shutil

import numpy as np
import pytest

from tacit import recover
from tacit.errors import BadState, RolledBack
from tests.store.places import arms, glm, play, table


def back_in_time(stored):
    """As on a replica that has not got the last release: its step is closed and has no leaf. Connections break."""
    uid, other = stored._line.uid, stored._other
    with other.transaction() as run:
        ((step,),) = run("SELECT max(step) FROM leaf WHERE bandit = ?", uid)
        ((sums,),) = run("SELECT sums FROM leaf WHERE bandit = ? AND step = ?", uid, step)
        run("DELETE FROM leaf WHERE bandit = ? AND step = ?", uid, step)
        run("INSERT INTO due VALUES (?, ?, ?)", uid, step, 1000.0)
        for shard in range(other.shards):
            total = stored._line.seal.open("sums", f"{uid} sums {step} leaf", sums)
            where, text = f"{uid} sums {step} {shard}", total if shard == 0 else bytes(len(total))
            sealed = stored._line.seal.seal("sums", 0, where, text)
            run("INSERT INTO open_sum VALUES (?, ?, ?, 1, ?)", uid, step, shard, sealed)
    for database in (stored._database, other):
        database._drop()


def test_a_worker_that_has_refused_a_database_goes_on_refusing_it(place):
    rng = np.random.default_rng(0)
    with place.open(glm()) as stored:
        choice = play(stored, rng, 22)[-1]
        assert stored.version == 2
        back_in_time(stored)
        for call in [lambda: stored.choose(arms(rng)), lambda: stored.observe(choice, 1.0), lambda: stored.version] * 3:
            with pytest.raises(RolledBack):
                call()


def test_no_second_noise_is_drawn_on_a_database_that_went_back(place):
    """The thread that releases looks at the witness too: its leaf would be the prior of a recovery."""
    rng = np.random.default_rng(1)
    with place.open(glm()) as stored:
        play(stored, rng, 22)
        kept = table(stored, "SELECT step, noisy FROM leaf WHERE step = 0")
        back_in_time(stored)
        for _ in range(3):
            with pytest.raises(RolledBack):
                stored.tend()
        assert table(stored, "SELECT step, noisy FROM leaf") == kept
    recover(glm(), place.where, keys=place.keys)
    with place.open(glm()) as stored:
        assert stored._line.bandit.prior_std == glm().mechanism.sigma * glm().mechanism.gain(np.array([1.0]))[0]


def test_of_two_that_went_on_from_one_history_one_is_shown(on_sqlite, folder):
    """A primary that was thought dead and its replica: whoever comes second shows nothing, however far the first is.
    What it drew stays sealed, and is in no prior."""
    rng = np.random.default_rng(2)
    with on_sqlite.open(glm()) as stored:
        play(stored, rng, 12)
    shutil.copy(on_sqlite.where, folder / "other.db")
    other = on_sqlite._replace(where=str(folder / "other.db"))
    with on_sqlite.open(glm()) as first, other.open(glm()) as second:
        for i in range(10):
            second.choose(arms(rng), request=f"second {i}")
        play(first, rng, 30, prefix="first")
        assert first.version == 4
        with pytest.raises(RolledBack):
            second.tend()
        assert table(second, "SELECT step FROM leaf ORDER BY step") == [(0,)]
        assert second._versions.shown == 1
        play(first, rng, 12, prefix="still")
    recover(glm(), other.where, keys=other.keys)
    with other.open(glm()) as stored:
        assert stored._line.bandit.prior_std == glm().mechanism.sigma * glm().mechanism.gain(np.array([1.0]))[0]


def test_a_database_that_goes_back_behind_a_connection_that_stays_is_refused(place):
    """As behind a pool of connections, or where tables are restored in place."""
    rng = np.random.default_rng(3)
    with place.open(glm()) as stored:
        choice = play(stored, rng, 32)[-1]
        assert stored.version == 3
        table(stored, "DELETE FROM leaf WHERE step > 0")
        table(stored, "DELETE FROM open_sum")
        table(stored, "UPDATE bandit SET step = 1, choices = 10, boundary = 20")
        for shard in range(stored._database.shards):
            nothing = stored._line.seal.seal("sums", 0, f"{stored._line.uid} sums 1 {shard}", bytes(8 * 9))
            table(stored, "INSERT INTO open_sum VALUES (?, 1, ?, 0, ?)", stored._line.uid, shard, nothing)
        for call in (lambda: stored.choose(arms(rng)), lambda: stored.observe(choice, 1.0), stored.tend):
            with pytest.raises(RolledBack):
                call()


def test_a_database_of_which_rows_are_missing_is_an_error_and_no_endless_wait(place):
    """As where some tables were restored and others not."""
    rng = np.random.default_rng(4)
    with place.open(glm()) as stored:
        play(stored, rng, 10)
        stored.choose(arms(rng))
        for statement in ("DELETE FROM due", "DELETE FROM open_sum"):
            table(stored, statement)
            with pytest.raises(BadState):
                stored.tend()
        with pytest.raises(BadState):
            stored.observe(stored.choose(arms(rng)), 1.0)
