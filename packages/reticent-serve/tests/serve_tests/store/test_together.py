"""Several at once, and connections that break: the database decides, and what it decided is read."""

import time

import numpy as np
import pytest

from reticent.errors import BadState
from reticent.kernels.rounds import next_boundary
from reticent_serve.holders import postgres
from reticent_serve.holders.database import again
from serve_tests.store.places import LASTS, Clock, arms, contribution, glm, linear, settle, sums, table, total
from serve_tests.store.processes import at_once, forked


def test_64_identical_requests_on_two_workers(on_postgres):
    """Whoever was not the first may have taken a number: it enters as nothing."""
    given, bandit, clock = arms(np.random.default_rng(0)), linear(), Clock()
    with on_postgres.open(linear(), clock=clock) as one, on_postgres.open(linear(), clock=clock) as two:
        workers, found = [one, two] * 32, []
        at_once(*(lambda w=w: found.append(w.choose(given, request="same")) for w in workers))
        assert len(found) == 64 and len({(c.id, c.index) for c in found}) == 1
        assert one.choices == two.choices <= 2 and table(one, "SELECT count(*) FROM choice") == [(1,)]
        at_once(*(lambda w=w: w.observe(found[0].id, 0.5) for w in workers))
        settle(one)
        assert one.entered == one.choices
        assert np.array_equal(total(one), contribution(bandit, given[found[0].index], 0.5))


def test_workers_choose_reward_enter_and_release_at_once(on_postgres, monkeypatch):
    """Every reward is in the step of its number, whoever lets choices enter and releases meanwhile."""
    monkeypatch.setattr(postgres.Postgres, "skew", 0.2)  # all of them have one clock
    bandit, done, options = (
        linear(first=5, window="0.3 seconds"),
        {},
        {"background": True, "delay": 0.01, "clock": time.time},
    )
    workers = [on_postgres.open(bandit, **options) for _ in range(3)]

    def work(worker, seed):
        rng = np.random.default_rng(seed)
        for i in range(60):
            features = arms(rng)
            choice = worker.choose(features, request=f"{seed} {i}")
            assert workers[i % 3].observe(choice, (i % 3) / 3)
            done[worker._store.tickets.read(choice.id).number] = contribution(
                bandit, features[choice.index], (i % 3) / 3
            )

    at_once(*(lambda w=w, n=n: work(w, n) for n, w in enumerate(workers)))
    until = time.monotonic() + 120
    while workers[0].entered < 180:
        time.sleep(0.02)
        assert time.monotonic() < until
    workers[0].tend()
    assert sorted(done) == list(range(1, 181)) and workers[0].choices == 180
    found, start = sums(workers[0]), 0
    assert table(workers[0], "SELECT step FROM leaf ORDER BY step") == [(i,) for i in range(len(found) - 1)]
    assert len(found) > 10
    for step in sorted(found):
        end = min(180, int(next_boundary(start, *bandit.one_pass(exact=True).plan.schedule)))
        assert (found[step] == sum(done[n] for n in range(start + 1, end + 1))).all()
        start = end
    assert start == 180
    while len({(worker.version, worker.theta.tobytes()) for worker in workers}) > 1:  # each looks at its time
        assert time.monotonic() < until
    for worker in workers:
        worker.close()


class Cut:
    """A connection that breaks at a COMMIT: after it, so that its end is not seen, or before. PostgreSQL: test_cut."""

    def __init__(self, database, happens):
        self.inner, self.happens, self.error = database._connection, happens, database._apsw.IOError
        database._connection = self

    def execute(self, statement, *arguments, **options):
        if not statement.endswith("COMMIT"):
            return self.inner.execute(statement, *arguments, **options)
        if self.happens:
            self.inner.execute(statement, *arguments, **options)
        raise self.error("cut")

    def close(self, *arguments):
        self.inner.close(*arguments)


@pytest.mark.parametrize("happens", [True, False])
def test_a_connection_that_breaks_at_a_commit(on_sqlite, happens):
    """The work is done again from what the database holds: once in all, whether or not the commit happened."""
    rng, bandit = np.random.default_rng(1), linear()
    with on_sqlite.open(linear()) as stored:
        features = arms(rng)
        Cut(stored._database, happens)
        choice = stored.choose(features, request="a")
        assert stored.choices == 1 and table(stored, "SELECT number FROM waiting") == [(1,)]
        assert choice.propensity == 1 / len(features)  # nothing is learnt yet
        assert stored.choose(features, request="a").id == choice.id
        Cut(stored._database, happens)
        assert stored.observe(choice, 0.5)
        settle(stored)
        assert np.array_equal(total(stored), contribution(bandit, features[choice.index], 0.5))
        while stored.choices < 10:
            stored.observe(stored.choose(arms(rng)), 0.5)
        stored._clock.now += LASTS + stored._database.skew + 0.01
        Cut(stored._other, happens)
        with stored._steps._lock:
            assert not again(stored._steps._next)  # they enter, and the step is closed
        before, _ = sums(stored)[0], stored.version
        Cut(stored._other, happens)
        stored.tend()
        ((noisy,),) = table(stored, "SELECT noisy FROM leaf")
        assert stored.version == 1 and np.array_equal(sums(stored)[0], before)
        assert np.frombuffer(bytes(noisy)).tobytes() == np.asarray(stored._served.estimator._released).tobytes()


def test_an_error_within_a_transaction_is_that_error(place):
    """Also where nothing is left to roll back, as when SQLite has done so itself or the server is gone."""

    def broken(database, end):
        with database.transaction() as run:
            end(run)
            raise KeyError

    with place.open(glm()) as stored:
        database = stored._database
        for end in (lambda run: run("ROLLBACK"), lambda run: run("COMMIT"), lambda run: database._connection.close()):
            with pytest.raises(KeyError):
                broken(database, end)
            stored.choose(np.eye(3))
        assert stored.choices == 3


def test_a_forked_copy_leaves_the_connection_alone(place):
    """Two processes that speak on one connection read each other's answers."""
    with place.open(glm()) as stored:
        stored.choose(np.eye(3))
        uses = (lambda: stored.head, lambda: stored.events, lambda: stored.backup("copy"), stored.tend)

        def speaks():
            for call in (*uses, lambda: stored.choose(np.eye(3))):
                with pytest.raises((BadState, ValueError), match="forked"):
                    call()

        assert forked(speaks) == 0
        stored.choose(np.eye(3))
        assert stored.choices == 2
