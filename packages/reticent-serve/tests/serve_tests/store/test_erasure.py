"""Erasing a person: what waits is gone, the count of their rounds is not, and nothing tells if there was anything."""

import contextlib
import functools
import itertools
import threading

import numpy as np
import pytest

from reticent.errors import BadState, Retired
from reticent.mechanisms.entering import WaitingRow
from reticent.mechanisms.opening import opened
from reticent_serve.holders import retirement
from reticent_serve.holders import seal as seals
from reticent_serve.holders.retirement import retire
from serve_tests.store.places import LASTS, Clock, arms, contribution, linear, settle, table, total
from serve_tests.store.processes import at_once, dies_at

EYE = np.eye(3)
SIZES = "SELECT number, made_at, ticket, length(sealed) FROM waiting ORDER BY number"


def bandit(**options):
    return linear(**({"rounds": 5} | options))


def visited(stored):
    """Of ada: two with a reward, and four that wait; of bob and of eve: one that waits. Their choices."""
    asked = [stored.choose(EYE, person="ada", request=f"ada {i}") for i in range(4)]
    stored.observe(asked[0], 1.0)
    stored.observe(asked[3], 0.5)
    stored.choose(EYE, person="ada", request="ada 4")
    stored.choose(EYE, person="ada", request="ada 5")
    return asked, [stored.choose(EYE, person=person, request=f"other {person}") for person in ("bob", "eve")]


def left(stored):
    """How many answers there are, how many rows that wait hold something, how many wait in all, what was written."""
    count = [table(stored, f"SELECT count(*) FROM {name}")[0][0] for name in ("choice", "waiting", "written")]
    found = table(stored, "SELECT number, sealed FROM waiting")
    return [count[0], sum(holds(stored, number, bytes(sealed)) for number, sealed in found), *count[1:]]


def holds(stored, number, sealed):
    line = stored._store
    with contextlib.suppress(BadState):
        unseal = functools.partial(line.seal.open, "epoch", seals.waiting_place(line.uid, number))
        row = WaitingRow.unsealed(sealed, unseal, stored.one_pass.plan.row)
        return row is not None and opened(row.numbers).any()
    return False


def test_what_waits_is_gone_and_the_count_stays(place):
    with place.open(bandit(first=7)) as stored:  # whose first step ends with a choice of ada's
        stored.observe(stored.choose(EYE, person="ada", request="entered"), 1.0)
        settle(stored)
        table(stored, "UPDATE person SET rounds = 0")
        asked, others = visited(stored)
        before, rounds = total(stored), table(stored, "SELECT digest, rounds FROM person ORDER BY digest")
        assert left(stored) == [9, 8, 8, 2] and before.any()
        sizes, said = table(stored, SIZES), stored.erase("ada")
        assert left(stored) == [2, 2, 8, 0] and table(stored, SIZES) == sizes
        assert said == stored.erase("ada") == stored.erase("nobody we know") == stored.erase(17) == retirement.ERASED
        for choice in asked:
            assert stored.observe(choice, 0.25)  # acknowledged like any other
        assert table(stored, "SELECT digest, rounds FROM person ORDER BY digest") == rounds and stored.choices == 9
        for choice in others:
            stored.observe(choice, 0.5)
        settle(stored)  # numbers of what is erased enter in their time, as nothing, and fill the step
        assert stored.entered == 9 and stored.version == 1
        assert sorted(table(stored, "SELECT rounds FROM person")) == [(0,), (1,), (1,)]
        expected = sum(contribution(bandit(), EYE[choice.index], 0.5) for choice in others)
        assert np.array_equal(total(stored) - before, expected)
        assert stored.choose(EYE, person="bob", request="other bob").id == others[0].id
        assert [what for _, what in stored.events if "eras" in what] == []


def test_rows_of_a_log_that_wait_are_found(place):
    """They wait for the choices before them."""
    with place.open(bandit()) as stored:
        stored.choose(EYE, person="dora")
        log = {f"x{i}": [0.1, 0.2, 0.3] for i in range(3)}
        stored.learn_log(log | {"reward": [0.5] * 3, "person": ["ada", "bob", "eve"]}, log="june")
        assert left(stored) == [4, 4, 4, 3]
        stored.erase("ada")
        assert left(stored) == [3, 3, 4, 2]
        settle(stored)
        expected = sum(contribution(bandit(), [x] * 3, 0.5) for x in (0.2, 0.3))
        assert stored.entered == 4 and np.array_equal(total(stored), expected)


def test_ids_that_are_none_are_refused_and_a_retired_bandit_has_nothing(on_sqlite):
    with on_sqlite.open(bandit()) as stored:
        visited(stored)
        with pytest.raises(ValueError, match="Expected person"):
            stored.erase(None)
        assert left(stored) == [8, 8, 8, 2]
    retire(on_sqlite.where, keys=on_sqlite.keys)
    assert retirement.erase_at(on_sqlite.where, "ada", keys=on_sqlite.keys) == retirement.ERASED
    with on_sqlite.open(bandit()) as stored:
        assert stored.erase("ada") == retirement.ERASED
        with pytest.raises(Retired):
            stored.choose(EYE)


def test_a_mark_tells_nothing_without_its_key(place):
    """Rows of one person are no more alike than others are, and all have one size."""
    with place.open(bandit(), pending=32) as stored:
        for i in range(12):
            stored.choose(EYE, person=["ada", "bob", "eve"][i % 3], request=f"{i}")
        marks = [bytes(mark) for (mark,) in table(stored, "SELECT mark FROM choice")]
        digests = [bytes(digest) for (digest,) in table(stored, "SELECT digest FROM person")]
        assert len(set(marks)) == 12 and {len(mark) for mark in marks} == {16} and not set(marks) & set(digests)
        bits = np.unpackbits(np.frombuffer(b"".join(marks), np.uint8)).reshape(12, 128)
        apart = [np.count_nonzero(bits[i] != bits[j]) for i in range(12) for j in range(i)]
        assert min(apart) > 30 and max(apart) < 98  # binomial(128, 1/2), by 66 pairs: fails once in 10^6 runs
        for path in place.keys.glob("*.epoch.*.key"):
            path.write_bytes(bytes(32))  # as they are destroyed
        stored._store.seal.keys._cache.clear()
        assert stored.erase("ada") == retirement.ERASED
        assert left(stored)[0] == 12  # they are purged by their number


def test_an_erasure_that_is_killed_is_done_again(place):
    clock, killed = Clock(), True
    place.open(bandit(), clock=clock).close()
    for number in range(200):
        if not killed:
            break
        clock.now += LASTS + 10.0
        with place.open(bandit(), clock=clock) as stored:
            settle(stored)
            table(stored, "DELETE FROM person")  # for the next try
            table(stored, "DELETE FROM choice")
            _, others = visited(stored)
        killed = dies_at(7 * number, place, lambda: retirement.erase_at(place.where, "ada", keys=place.keys))
        retirement.erase_at(place.where, "ada", keys=place.keys)
        with place.open(bandit(), clock=clock) as stored:
            assert left(stored) == [2, 2, 8, 0]
            assert stored.choose(EYE, person="bob", request="other bob").id == others[0].id
    assert number > 3 and not killed


def test_requests_and_rewards_go_on_while_somebody_is_erased(on_postgres, monkeypatch, rng):
    monkeypatch.setattr(retirement, "AT_ONCE", 8)
    most, clock = bandit(rounds=1000, horizon=50_000), Clock()
    with (
        on_postgres.open(most, clock=clock) as one,
        on_postgres.open(bandit(rounds=1000, horizon=50_000), clock=clock) as two,
    ):
        stop, counted, expected = threading.Event(), [], []

        def work():
            try:
                while not stop.is_set() and len(counted) < 1000:  # as many as teach
                    given = arms(rng)
                    choices = [two.choose(given, person=who) for who in ("ada", "bob", "eve")]
                    two.write_group([two.report(choice, 0.5) for choice in choices])
                    counted.append(choices[1])
                    expected.append(contribution(most, given[choices[1].index], 0.5))
            finally:
                stop.set()

        def erases():
            for n in itertools.count():
                one.erase("ada")
                one.erase("eve")
                if stop.is_set() or (n >= 15 and len(counted) > 3):
                    break
            stop.set()

        at_once(work, erases)
        assert len(counted) > 3
        one.erase("ada")
        one.erase("eve")
        assert left(one)[:3] == [len(counted), len(counted), 3 * len(counted)]
        settle(one)  # rewards that came for what was erased are gone, too
        assert one.entered == one.choices and np.array_equal(total(one), sum(expected)) and left(one)[1:] == [0] * 3
