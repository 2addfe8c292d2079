"""Several at once, and connections that break: the database decides, and what it decided is read."""

import os
import threading
import time

import numpy as np
import pytest

from tacit.errors import BadState, Unavailable
from tacit.holders import postgres, rows
from tests.store.places import arms, contribution, glm, linear, play, sums, table, total


def at_once(*works):
    """Runs them in threads that start together; raises what one of them raised."""
    start, wrong = threading.Barrier(len(works)), []

    def run(work):
        start.wait()
        try:
            work()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise wrong[0]


def test_64_identical_requests_on_two_workers(on_postgres):
    given, bandit = arms(np.random.default_rng(0)), linear()
    with on_postgres.open(linear()) as one, on_postgres.open(linear()) as two:
        workers, found = [one, two] * 32, []
        at_once(*(lambda w=w: found.append(w.choose(given, request="same")) for w in workers))
        assert len(found) == 64 and len({(c.id, c.index) for c in found}) == 1
        assert one.choices == two.choices == 1
        at_once(*(lambda w=w: w.observe(found[0].id, 0.5) for w in workers))
        assert np.array_equal(total(one), contribution(bandit, given[found[0].index], 0.5))


def test_workers_close_steps_and_add_rewards_at_once(on_postgres):
    """Every reward is in one step, whoever closes and releases meanwhile."""
    bandit, done = linear(first=5), []
    workers = [on_postgres.open(linear(first=5), background=True, delay=0.01, clock=time.time) for _ in range(3)]

    def work(worker, seed):
        rng = np.random.default_rng(seed)
        for i in range(60):
            features = arms(rng)
            choice = worker.choose(features, request=f"{seed} {i}")
            worker.observe(choice, (i % 3) / 3)
            done.append((features[choice.index], (i % 3) / 3))

    at_once(*(lambda w=w, n=n: work(w, n) for n, w in enumerate(workers)))
    workers[0].tend()
    steps = [step for (step,) in table(workers[0], "SELECT step FROM leaf ORDER BY step")]
    assert steps == list(range(len(steps))) and len(steps) > 10
    assert workers[0].choices == 180
    assert np.array_equal(total(workers[0]), sum(contribution(bandit, x, y) for x, y in done))
    until = time.monotonic() + 10  # each looks at its time, and then waits for the next multiple of the delay
    while len({(worker.version, worker._bandit._state.estimate.theta.tobytes()) for worker in workers}) > 1:
        assert time.monotonic() < until
    for worker in workers:
        worker.close()


class Cut:
    """A connection that breaks at a COMMIT: after it, so that its end is not seen, or before."""

    def __init__(self, database, happens, times=1):
        self.database, self.inner, self.happens, self.times = database, database._connection, happens, times
        psycopg = getattr(database, "_psycopg", None)
        self.error = psycopg.OperationalError if psycopg else database._apsw.IOError
        database._connection = self

    def execute(self, statement, *arguments):
        if statement != "COMMIT":
            return self.inner.execute(statement, *arguments)
        if self.happens:
            self.inner.execute(statement)
        raise self.error("cut")

    def close(self, *arguments):
        self.inner.close(*arguments)


@pytest.mark.parametrize("happens", [True, False])
def test_a_connection_that_breaks_at_a_commit(place, happens):
    """The work is done again from what the database holds: once in all, whether or not the commit happened."""
    rng, bandit = np.random.default_rng(1), linear()
    with place.open(linear()) as stored:
        features = arms(rng)
        Cut(stored._database, happens)
        choice = stored.choose(features, request="a")
        assert stored.choices == 1
        assert choice.propensity == 1.0
        assert stored.choose(features, request="a").id == choice.id
        Cut(stored._database, happens)
        stored.observe(choice, 0.5)
        assert np.array_equal(total(stored), contribution(bandit, features[choice.index], 0.5))
        play(stored, rng, 9)
        stored.choose(arms(rng))
        before = sums(stored)[0]
        _ = stored.version
        Cut(stored._other, happens)
        stored.tend()
        ((noisy,),) = table(stored, "SELECT noisy FROM leaf")
        assert stored.version == 1 and np.array_equal(sums(stored)[0], before)
        assert stored._bandit._state.prefix.noise.table[0].tobytes() == bytes(noisy)


def test_a_database_that_is_away_acknowledges_nothing(on_postgres, monkeypatch):
    with on_postgres.open(glm()) as stored:
        choice = stored.choose(np.eye(3))
        monkeypatch.setattr(stored._database, "_address", "postgresql://localhost:1/none")
        stored._database._drop()
        for call in (lambda: stored.choose(np.eye(3), request="x"), lambda: stored.observe(choice, 1.0)):
            with pytest.raises(Unavailable):
                call()
        monkeypatch.undo()
        stored.observe(choice, 1.0)
        assert total(stored).any() and stored.choices == 1


def test_a_full_disc_acknowledges_nothing_and_loses_nothing(on_sqlite):
    rng = np.random.default_rng(2)
    with on_sqlite.open(glm()) as stored:
        play(stored, rng, 5)
        before = total(stored)
        ((pages,),) = table(stored, "PRAGMA page_count")
        choice = stored.choose(arms(rng), request="last")
        stored._database._connection.execute(f"PRAGMA max_page_count = {pages + 1}").fetchall()
        open_ = stored._database._open

        def still_full():
            connection = open_()
            connection.execute(f"PRAGMA max_page_count = {pages + 1}").fetchall()
            return connection

        stored._database._open = still_full
        many = [stored.ask(arms(rng)) for _ in range(200)]
        with pytest.raises(Unavailable):
            stored.choose_group(many)
        stored._database._open = open_
        stored._database._drop()
        assert stored.choose(arms(rng), request="last").id == choice.id
        assert np.array_equal(total(stored), before)


def test_an_error_within_a_transaction_is_that_error(place):
    """Also where nothing is left to roll back, as when SQLite has done so itself or the server is gone."""

    def broken(database, end):
        with database.transaction() as run:
            end(run)
            raise KeyError

    with place.open(glm()) as stored:
        database = stored._database
        for end in (
            lambda run: run("ROLLBACK"),
            lambda run: run("COMMIT"),
            lambda run: database._connection.close(),
        ):
            with pytest.raises(KeyError):
                broken(database, end)
            stored.choose(np.eye(3))
        assert stored.choices == 3


def test_a_forked_copy_leaves_the_connection_alone(place):
    """Two processes that speak on one connection read each other's answers."""
    with place.open(glm()) as stored:
        stored.choose(np.eye(3))
        child = os.fork()
        if child == 0:
            refused = 0
            for call in (lambda: stored.head, lambda: stored.events, lambda: stored.backup("copy"), stored.tend):
                try:
                    call()
                except (BadState, ValueError) as error:
                    refused += "forked" in str(error)
            os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4
        stored.choose(np.eye(3))
        assert stored.choices == 2


def test_a_worker_that_stops_within_a_transaction_holds_nobody_up_for_long(on_postgres, monkeypatch):
    """As one whose machine lost its power: the server would keep its locks for hours."""
    monkeypatch.setattr(postgres, "LONGEST", 0.5)

    def stops(worker):
        with worker._database.transaction() as run:
            rows.head(run, worker._line.uid, " FOR UPDATE")
            at_once(lambda: stored.choose(np.eye(3)))

    with on_postgres.open(glm()) as stored, on_postgres.open(glm()) as other:
        with pytest.raises(Unavailable):
            stops(other)
        other.choose(np.eye(3))
        assert stored.choices == 2


def test_rewards_of_expired_choices_and_their_removal_do_not_wait_for_each_other(on_postgres):
    """Both take rows in the order of tickets, whatever the order of choices was."""
    with on_postgres.open(linear(pending=8)) as stored, on_postgres.open(linear(pending=8)) as other:
        for _ in range(40):
            stored.choose(np.eye(3))
        uid = stored._line.uid
        early = [bytes(t) for (t,) in table(stored, "SELECT ticket FROM waiting WHERE number < 30 ORDER BY number")]
        first, last = min(early[10:]), max(early[:10])  # in this order, but for one in twenty million runs

        def removes():
            with other._other.transaction() as run:
                rows.purge(run, uid, 30, " FOR UPDATE")

        thread = threading.Thread(target=removes)
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ '^DELETE'"
        with stored._database.transaction() as run:
            assert rows.take(run, uid, first) is not None
            thread.start()
            while table(other, waiting) == [(0,)]:
                time.sleep(0.01)
            assert rows.take(run, uid, last) is not None
        thread.join()
        assert stored._database.generation == other._other.generation == 0
        assert table(stored, "SELECT min(number) FROM waiting") == [(30,)]
