"""A database that goes back in time under workers that go on: a failover to a replica that lags."""

import shutil

import numpy as np
import pytest

from reticent.errors import BadState, RolledBack
from reticent_serve.holders import rows
from reticent_serve.holders import seal as seals
from reticent_serve.holders.seal import number_of
from serve_tests.store.places import arms, glm, lived, play, restored, settle, table, total


def back_in_time(stored):
    """As on a replica that has not got the last release: its step is closed and has no leaf. Connections break."""
    uid, other, seal = stored._store.uid, stored._other, stored._store.seal
    with other.transaction() as run:
        ((step, sums),) = run("SELECT step, sums FROM leaf WHERE bandit = ? ORDER BY step DESC LIMIT 1", uid)
        total = seal.open("sums", seals.place(uid, step, "leaf"), bytes(sums))
        sealed = seal.seal("sums", number_of(bytes(sums)), seals.place(uid, step, "open"), total)
        run("DELETE FROM leaf WHERE bandit = ? AND step = ?", uid, step)
        rows.put_step(run, uid, rows.OpenStep(step, 10 * (step + 1), 1000.0, sealed))
        run("UPDATE bandit SET step = ?, boundary = ?", step, 10 * (step + 1))
    for database in (stored._database, other):
        database._drop()


def std_of_one():
    """Of what a bandit has released with one step."""
    noise = glm().one_pass(exact=True).plan.mechanism
    return noise.sigma * noise.gain(np.array([1.0]))[0]


@pytest.mark.parametrize("first", ["requests", "the thread"])
def test_a_worker_that_has_refused_a_database_goes_on_refusing_it_and_draws_nothing(place, rng, first):
    """The thread that releases looks at the witness too: its leaf would be the prior of a recovery."""
    with place.open(glm()) as stored:
        choice = play(stored, rng, 22, together=11)[-1]
        assert stored.version == 2
        kept = table(stored, "SELECT step, noisy FROM leaf WHERE step = 0")
        back_in_time(stored)
        choosing = (lambda: stored.choose(arms(rng)), lambda: stored.observe(choice, 1.0), lambda: stored.version)
        for call in (choosing * 3 + (stored.tend,) * 3) if first == "requests" else (stored.tend,) * 3:
            with pytest.raises(RolledBack):
                call()
        assert table(stored, "SELECT step, noisy FROM leaf") == kept
    restored(place, glm())
    with place.open(glm()) as stored:
        assert stored._store.bandit.prior_std == std_of_one()


def test_of_two_that_went_on_from_one_history_one_is_shown(on_sqlite, folder, rng):
    """Whoever comes second shows nothing, however far the first is; its draw stays sealed, in no prior."""
    lived(on_sqlite)
    shutil.copy(on_sqlite.where, folder / "other.db")
    other = on_sqlite._replace(where=str(folder / "other.db"))
    with on_sqlite.open(glm()) as first, other.open(glm()) as second:
        for i in range(10):
            second.choose(arms(rng), request=f"second {i}")
        play(first, rng, 30, prefix="first", together=10)
        assert first.version == 4
        with pytest.raises(RolledBack):
            settle(second)
        assert table(second, "SELECT step FROM leaf ORDER BY step") == [(0,)] and second._served.version == 1
        play(first, rng, 12, prefix="still", together=12)
    restored(other, glm())
    with other.open(glm()) as stored:
        assert stored._store.bandit.prior_std == std_of_one()


def test_a_database_that_goes_back_behind_a_connection_that_stays_is_refused(place, rng):
    """As behind a pool of connections, or where tables are restored in place."""
    with place.open(glm()) as stored:
        choice = play(stored, rng, 32, together=8)[-1]
        assert stored.version == 3
        uid, seal = stored._store.uid, stored._store.seal
        table(stored, "DELETE FROM leaf WHERE step > 0")
        table(stored, "UPDATE bandit SET step = 1, choices = 10, boundary = 20")
        nothing = seal.seal("sums", stored.head.sums_key, seals.place(uid, 1, "open"), bytes(total(stored).nbytes))
        table(stored, "UPDATE open_step SET step = 1, settled = 10, closed_at = 0, sums = ?", nothing)
        for call in (lambda: stored.choose(arms(rng)), lambda: stored.observe(choice, 1.0), stored.tend):
            with pytest.raises(RolledBack):
                call()


@pytest.mark.parametrize(
    "missing",
    [
        *("DELETE FROM open_step", "UPDATE open_step SET step = 0", "UPDATE open_step SET step = 7"),
        *("DELETE FROM leaf", "UPDATE bandit SET step = 7"),
    ],
)
def test_a_database_of_which_rows_are_missing_is_an_error_and_no_endless_wait(place, missing, rng):
    """As where some tables were restored and others not: for who is at work, and for who begins."""
    with place.open(glm()) as stored:
        play(stored, rng, 12, together=12)
        assert stored.version == 1
        table(stored, missing)
        for again in (False, True):  # what a worker has read once it does not read again while its connection stays
            if again or missing.endswith("leaf"):
                stored._other._drop()
            with pytest.raises(BadState):
                stored.tend()
    with pytest.raises(BadState), place.open(glm()) as stored:
        stored.tend()
