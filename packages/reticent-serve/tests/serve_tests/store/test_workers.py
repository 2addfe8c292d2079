"""Several workers of PostgreSQL: one that stops holds nobody up for long, nobody waits in a circle, and clocks that
differ by less than the skew lose no reward and count none that came too late."""

import os
import signal
import time

import numpy as np
import pytest

from reticent.core.bandit import warm_up
from reticent.errors import Retired
from reticent_serve.holders import database, postgres
from reticent_serve.holders.choosing import SealedRows
from reticent_serve.holders.postgres import Postgres
from reticent_serve.holders.retirement import retire
from serve_tests.store.places import LASTS, Clock, arms, contribution, linear, settle, table, total
from serve_tests.store.processes import at_once

STEP, ROWS = "_cursor", "placed"  # where a worker is stopped: after it took the open step, or its numbers


def frozen(place, clock, where):
    """A worker in a process that was stopped (SIGSTOP) there; its pid."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            worker = place.open(linear(), clock=clock)
            owner = Postgres if where is STEP else SealedRows
            does, stopped = getattr(owner, where), []

            def stopping(self, *given):
                found = does(self, *given)
                if not stopped and (where is ROWS or given[0].startswith("SELECT step, settled")):
                    stopped.append(os.write(writing, b"!"))
                    os.kill(os.getpid(), signal.SIGSTOP)
                return found

            setattr(owner, where, stopping)
            worker.tend() if where is STEP else worker.choose(np.eye(3), request="same")
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    assert os.read(reading, 1) == b"!"
    os.close(reading)
    return child


@pytest.mark.parametrize("where", [STEP, ROWS])
def test_a_worker_that_is_frozen_at_work_holds_nobody_up_for_long(on_postgres, monkeypatch, where, clock):
    """Where choices enter, for which the server would keep its locks for hours, and between a number and its answer,
    for which another asks, too. What it held is for others, and when it is awake again it begins anew."""
    assert postgres.LONGEST <= 1.5 < Postgres.skew / 2  # else a number on its way could be passed over
    monkeypatch.setattr(postgres, "LONGEST", 0.5)
    monkeypatch.setattr(database, "QUICK", 300.0)  # the frozen one begins anew, however long that was
    warm_up(linear())
    with on_postgres.open(linear(), clock=clock) as stored:
        for _ in range(11):
            stored.observe(stored.choose(np.eye(3)), 1.0)
        clock.now += LASTS + stored._database.skew + 0.01
        child, began = frozen(on_postgres, clock, where), time.monotonic()
        choice = stored.choose(np.eye(3), request="same")
        while stored.entered < 11 or stored.version < 1:
            stored.tend()
            assert time.monotonic() - began < 120  # on a machine that is busy; without an end it would be for ever
        os.kill(child, signal.SIGCONT)
        assert os.waitpid(child, 0)[1] == 0 and stored.choose(np.eye(3), request="same").id == choice.id
        assert table(stored, "SELECT count(*) FROM choice") == [(12,)] and table(stored, "SELECT step FROM leaf") == [
            (0,)
        ]


def test_a_worker_that_is_frozen_while_it_sends_holds_nobody_up(on_postgres, monkeypatch):
    """Half of the message with numbers and rows has come: the server waits for all of it before it acts."""
    monkeypatch.setattr(postgres, "LONGEST", 300.0)  # after which the server would end what holds others up
    with on_postgres.open(linear()) as stored, on_postgres.open(linear()) as other:
        other.choose(np.eye(3))
        asked = other._choosing._take([other.prepare(np.eye(3))])
        texts = [postgres.BEGIN, *map(other._database._written, asked), "COMMIT"]
        text = "; ".join(texts).encode() + b"\0"
        sent = b"Q" + (len(text) + 4).to_bytes(4, "big") + text
        os.write(other._database._connection.fileno(), sent[:-9])
        began = time.monotonic()
        stored.choose(np.eye(3))
        assert time.monotonic() - began < 120 and stored.choices == 2
        os.write(other._database._connection.fileno(), sent[-9:])
        while stored.choices < 3:
            assert time.monotonic() - began < 240


def test_a_worker_that_wakes_up_between_a_number_and_its_rows_takes_another(on_postgres, monkeypatch, clock):
    """Others have passed over its number: its rows below what has entered would never count."""
    with on_postgres.open(linear(), clock=clock) as stored, on_postgres.open(linear(), clock=clock) as other:
        seals, slept = stored._choosing.rows.placed, []

        def sleeps(*given):
            if not slept:
                slept.append(other.choices)
                other.choose(np.eye(3))
                settle(other)
                assert other.entered == 2
            return seals(*given)

        monkeypatch.setattr(stored._choosing.rows, "placed", sleeps)
        given = np.eye(3)
        choice = stored.choose(given)
        assert stored._store.tickets.read(choice.id).number == 3 and slept == [1]
        assert table(stored, "SELECT number FROM waiting") == [(3,)] and stored.observe(choice, 1.0)
        settle(stored)
        assert np.array_equal(total(stored), contribution(linear(), given[choice.index], 1.0))


def test_a_worker_between_a_number_and_its_rows_notices_that_the_bandit_has_ended(on_postgres, monkeypatch):
    """Nothing is written for a bandit whose raw rows were dropped."""
    with on_postgres.open(linear()) as stored:
        seals = stored._choosing.rows.placed

        def ends(*given):
            retire(on_postgres.where, keys=on_postgres.keys)
            return seals(*given)

        monkeypatch.setattr(stored._choosing.rows, "placed", ends)
        with pytest.raises(Retired):
            stored.choose(np.eye(3))
        for raw in ("choice", "waiting"):
            assert table(stored, f"SELECT count(*) FROM {raw}") == [(0,)]


def test_groups_that_are_inserted_in_opposite_orders_do_not_wait_for_each_other(on_postgres):
    """The same 40 requests and people, in one order here and in the other there, again and again, while choices of
    theirs enter that are counted then: each has one answer, and nobody was in a circle."""
    clock, names = Clock(), [f"p{i}" for i in range(40)]

    def limited():
        return linear(first=400, rounds=50)

    with on_postgres.open(limited(), clock=clock) as one:
        for _ in range(2):  # counted when they enter
            one.choose_group([one.prepare(np.eye(3), person=name) for name in names])
        clock.now += LASTS + one._database.skew + 0.01
        with on_postgres.open(limited(), clock=clock) as two, on_postgres.open(limited(), clock=clock) as three:

            def asks(worker, order):
                for n in range(8):
                    given = [worker.prepare(np.eye(3), person=name, request=f"{n} {name}") for name in names[::order]]
                    found.append([(n, one.id) for one in worker.choose_group(given)])
                    worker.write_group([worker.report(one, 1.0) for _, one in found[-1]])

            found = []
            at_once(lambda: asks(one, 1), lambda: asks(two, -1), lambda: [three.tend() for _ in range(20)])
            assert len({(n, tuple(sorted(one for _, one in group))) for group in found for n in [group[0][0]]}) == 8
            assert [worker._database.generation for worker in (one, two)] == [0, 0] and three._other.generation == 0
            assert len(set(table(one, "SELECT rounds FROM person"))) == 1


def test_rows_that_others_may_wait_for_are_taken_in_one_order(on_sqlite, monkeypatch):
    """Of requests, of persons when their choices enter, of numbers, and of what is written."""
    with on_sqlite.open(linear(first=50, rounds=9)) as stored:
        taken, cursor = {}, type(stored._database)._cursor

        def heard(self, statement, arguments):
            if statement.startswith("INSERT"):
                taken.setdefault(statement.split()[2], []).append(arguments)
            return cursor(self, statement, arguments)

        monkeypatch.setattr(type(stored._database), "_cursor", heard)
        choices = stored.choose_group([stored.prepare(np.eye(3), person=i) for i in range(20)])
        stored.write_group([stored.report(one, 1.0) for one in reversed(choices)])
        settle(stored)
        ((*given,),) = taken["choice"]
        assert given[2:82:4] != sorted(given[2:82:4]) and given[1:81:4] == sorted(given[1:81:4])
        counted = [one for given in taken["person"] for one in given if isinstance(one, bytes)]
        assert counted[:20] == sorted(counted[:20]) and len(set(counted)) == 20
        assert list(taken["written"][0][1:61:3]) == list(range(1, 21))
        taken.clear()
        log = dict.fromkeys(("x0", "x1", "x2", "reward"), [0.5] * 20) | {"person": list(range(20))}
        stored.learn_log(log, log="later")
        counted = [one for given in taken["person"] for one in given if isinstance(one, bytes)]
        assert counted[:20] == sorted(counted[:20]) and len(set(counted)) == 20


def test_removing_what_has_expired_and_erasing_wait_for_nobody_in_a_circle(on_postgres, clock):
    bandit, options = linear(rounds=99, first=900), {"pending": 8, "clock": clock}
    with on_postgres.open(bandit, **options) as one, on_postgres.open(bandit, **options) as two:
        at_once(
            lambda: [one.choose(np.eye(3), person=i % 5) for i in range(60)],
            lambda: [(settle(two), time.sleep(0.01)) for _ in range(20)],
            lambda: [one.erase(i % 5) for i in range(20)],
        )
        settle(two)
        assert one._database.generation == one._other.generation == two._other.generation == 0
        assert two.entered == 60 and table(one, "SELECT count(*) FROM waiting") == [(0,)]
        ((oldest,),) = table(one, "SELECT coalesce(min(number), 60) FROM choice")
        assert oldest >= 60 - 8


# clocks


def test_a_reward_after_its_deadline_never_counts_whoever_takes_it_and_whenever_choices_enter(on_postgres):
    """Three workers whose clocks differ by nearly the skew: one chooses, one takes rewards, one lets choices enter.
    What counts is what the worker that took it called in time, and no reward that was called so is lost."""
    bandit, skew = linear(first=900, horizon=2000), 5.0
    for seed in range(3):
        rng, clocks = np.random.default_rng(seed), [Clock() for _ in range(3)]
        for clock in clocks:
            clock.now += rng.uniform(0.0, skew - 0.1)
        workers = [on_postgres.open(linear(first=900, horizon=2000), name=f"b{seed}", clock=one) for one in clocks]
        waiting, expected, answers = [], 0, []
        for _ in range(60):
            step = rng.uniform(0.0, 2.0)
            for clock in clocks:
                clock.now += step
            made, takes, enters = rng.permutation(3)
            features = arms(rng)
            choice = workers[made].choose(features)
            waiting.append((choice, features, rng.uniform(0.0, 1.6 * LASTS), clocks[0].now))
            for one in [one for one in waiting if clocks[0].now - one[3] >= one[2]]:
                waiting.remove(one)
                choice, features, *_ = one
                made_at = workers[0]._store.tickets.read(choice.id).made_at
                in_time = workers[takes].observe(choice, 0.5)
                assert in_time == (clocks[takes].now <= made_at + LASTS)
                answers.append(in_time)
                if in_time:
                    expected = expected + contribution(bandit, features[choice.index], 0.5)
            if rng.random() < 0.7:
                workers[enters].tend()
        for clock in clocks:
            clock.now += LASTS + 2 * skew
        workers[0].tend()
        assert workers[0].entered == 60 and np.array_equal(total(workers[0]), expected)
        assert 5 < sum(answers) < len(answers) - 5
        for worker in workers:
            worker.close()
