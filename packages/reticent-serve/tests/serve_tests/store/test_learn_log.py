"""A log learnt on a database: the sums and counts of the same people who came live, through any crash, and once."""

import numpy as np
import polars as pl
import pytest

from core_tests.pieces import Pieces
from reticent.core.bandit import warm_up
from reticent.errors import BadState, HorizonReached
from reticent_serve.holders import log as learning
from reticent_serve.holders.postgres import Postgres
from serve_tests.store.places import LASTS, Place, arms, contribution, linear, restored, settle, sums, table, total
from serve_tests.store.processes import at_once, dies_at

ROWS = 90


def log(count=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-0.5, 0.5, (count, 3))
    return {f"x{i}": x[:, i] for i in range(3)} | {"reward": rng.random(count)}


def learn(stored, table, **given):
    """A log, and the moment after which no earlier number can be on its way: none where one process serves."""
    refused = stored.learn_log(table, **given)
    stored._clock.now += stored._database.skew + 0.001
    stored.tend()
    return refused


def expected(rows, start=0):
    """What these rows of the log add."""
    bandit, found = linear(), log()
    features = np.column_stack([found[f"x{i}"] for i in range(3)])
    return sum(contribution(bandit, features[i], found["reward"][i]) for i in range(start, rows))


def test_steps_and_sums_are_those_of_the_rows(place):
    """Step s has the rows between its boundaries, live choices go on from there; nothing waits."""
    with place.open(linear(), delay=60.0) as stored:
        assert learn(stored, log(), log="june") == {} and stored.choices == stored.entered == ROWS
        assert stored.version == 0 and stored.head.step == 9 and stored.events == []
        found, before = sums(stored), 0
        for step in range(9):
            after = before + 10  # first = 10 rows a step, at this size
            assert np.array_equal(found[step], expected(after) - (expected(before) if before else 0))
            before = after
        assert len(found) == 10 and not found[9].any()
        stored.observe(stored.choose([[0.1, 0.2, 0.3]]), 1.0)
        assert stored.choices == ROWS + 1
        assert f"{ROWS} of the choices are rows of a log" in " ".join(stored.privacy.caveats)
        settle(stored)
        assert sums(stored)[9].any() and not table(stored, "SELECT * FROM waiting")


def test_rows_wait_for_the_choices_before_them_and_no_longer(place, rng, clock):
    """In the order of numbers; a choice that comes afterwards has its own deadline. No release is late for it."""
    with place.open(linear(), delay=60.0, clock=clock) as stored:
        given, waits = arms(rng), LASTS + stored._database.skew
        choice = stored.choose(given)
        clock.now += 1.0
        stored.learn_log({name: column[:9] for name, column in log().items()}, log="june")
        assert stored.choices == 10 and stored.entered == 0
        stored.observe(choice, 0.5)
        stored.choose(given)
        clock.now += waits - 1.01
        stored.tend()
        assert stored.entered == 0
        clock.now += 0.02
        stored.tend()
        assert stored.entered == 10 and stored.head.step == 1 and stored.events == []
        assert np.array_equal(sums(stored)[0], expected(9) + contribution(linear(), given[choice.index], 0.5))
        clock.now += 1.0
        stored.tend()
        assert stored.entered == 11


def test_the_same_name_goes_on_with_what_was_added(place):
    short = {name: column[:33] for name, column in log().items()}
    with place.open(linear()) as stored:
        learn(stored, short, log="june")
        learn(stored, short, log="june")
        assert stored.choices == 33 and learn(stored, Pieces(pl.DataFrame(log())), log="june") == {}
        assert stored.choices == ROWS and np.array_equal(total(stored), expected(ROWS))
        with pytest.raises(ValueError, match="at least the 90 rows"):
            learn(stored, short, log="june")
        for wrong in ("", None, 3):
            with pytest.raises(ValueError, match="log to be a name"):
                stored.learn_log(short, log=wrong)


def test_a_bad_row_is_refused_alone_counts_and_looks_like_others(place):
    """Of a row without a reward nothing is written, as of a choice that nobody answered."""
    given = {name: list(column) for name, column in log().items()}
    given["x1"][4], given["reward"][5], given["reward"][6], given["reward"][7] = 3.0, 7.0, None, np.nan
    given["person"] = ["ada", "ada", "ada", None] + ["bob"] * 4 + list(range(ROWS - 8))
    with place.open(linear(rounds=2)) as stored:
        stored.choose(np.eye(3), person="dora")  # for which they wait
        refused = learn(stored, given, log="june")
        assert sorted(refused) == [3, 4, 5] and "Expected a person" in refused[3]
        assert stored.choices == ROWS + 1 and stored.entered == 0
        left = table(stored, "SELECT number, length(sealed), length(mark) FROM choice ORDER BY number")
        assert [number for number, _, _ in left] == list(range(1, ROWS + 2)) and len({row[1:] for row in left}) == 1
        for one, most in (("waiting", ROWS + 1), ("written", ROWS - 2)):
            found = table(stored, f"SELECT length(sealed) FROM {one}")
            assert len(set(found)) == 1 and len(found) == most
        settle(stored)
        assert stored.entered == ROWS + 1
        assert np.array_equal(total(stored), expected(2) + expected(ROWS, 8))  # the third of ada teaches nothing


def test_what_has_no_room_is_refused_before_any_row(place):
    with place.open(linear(horizon=ROWS - 1)) as stored:
        with pytest.raises(HorizonReached):
            learn(stored, log(), log="june")
        assert stored.choices == 0


def test_killed_again_and_again_it_goes_on_where_it_stopped(place, monkeypatch):
    """kill -9 before some statement, each time another one: of opening, of a log's begin, of rows, of releases."""
    monkeypatch.setattr(Postgres, "skew", 0.0)  # there is one worker
    monkeypatch.setattr(learning, "AT_ONCE", 20)  # rows in a transaction
    warm_up(linear())  # before anybody is forked, or killed while he compiles
    place.open(linear()).close()

    def work():
        with place.open(linear()) as stored:
            stored.learn_log(log(), log="june")

    stopped = []
    for number in range(7, 1000, 17):
        if not dies_at(number, place, work):
            break
        with place.open(linear()) as stored:
            stored.tend()
            stopped.append(stored.choices)
            assert stored.entered == stopped[-1]
            assert np.array_equal(total(stored), expected(stopped[-1]) if stopped[-1] else 0 * expected(1))
    assert len(set(stopped)) > 3 and stopped == sorted(stopped)
    with place.open(linear()) as stored:
        assert stored.choices == ROWS and np.array_equal(total(stored), expected(ROWS))


def test_two_workers_learn_one_log_together(on_postgres):
    """At once: where one is ahead, the other goes on from there."""
    with on_postgres.open(linear()) as one, on_postgres.open(linear()) as other:
        at_once(*(lambda each=each: each.learn_log(log(), log="june") for each in (one, other)))
        settle(one)
        assert one.choices == ROWS and np.array_equal(total(one), expected(ROWS))


def test_who_is_behind_skips_what_another_has_learnt(on_postgres, monkeypatch):
    """More than it had read of the log."""
    monkeypatch.setattr(learning, "AT_ONCE", 4)
    with on_postgres.open(linear()) as one, on_postgres.open(linear()) as other:
        tend, times = one.tend, []

        def overtaken():
            if len(times) == 2:
                other.learn_log({name: column[:57] for name, column in log().items()}, log="june")
            times.append(one.choices)
            tend()

        monkeypatch.setattr(one, "tend", overtaken)
        one.learn_log(log(), log="june")
        settle(one)
        assert times[:3] == [4, 8, 57] and one.choices == ROWS and np.array_equal(total(one), expected(ROWS))


def test_a_number_that_is_on_its_way_is_not_passed_over(on_postgres):
    """Another worker has taken it before the log, and its rows come after."""
    with on_postgres.open(linear()) as stored:
        table(stored, "UPDATE bandit SET choices = choices + 1")
        stored.learn_log({name: column[:5] for name, column in log().items()}, log="june")
        stored._clock.now += stored._database.skew - 0.01
        stored.tend()
        assert stored.entered == 0
        stored._clock.now += 0.02
        stored.tend()
        assert stored.entered == 6 and np.array_equal(total(stored), expected(5))


def test_a_log_from_before_a_restore_is_not_learnt_again(on_sqlite, tmp_path):
    """Also if the restored database has never heard of it: the folder of keys, which is in no backup, has."""
    place, copy = on_sqlite, tmp_path / "copy.db"
    with place.open(linear()) as stored:
        stored.choose([[0.1, 0.2, 0.3]])
        stored.backup(copy)
        stored.learn_log(log(), log="june")
    other = Place(str(copy), stored._store.seal.keys.folder)
    restored(other, linear())
    with other.open(linear()) as stored:
        for name in ("june", "july"):  # its rows are known as well
            with pytest.raises(BadState, match="begun before a restore"):
                stored.learn_log(log(), log=name)
        assert stored.choices == 0
        stored.learn_log(log(seed=1), log="july")
        assert stored.choices == ROWS


def test_the_same_rows_under_another_name_are_refused(place):
    """Also those of a log that has grown, and after a restart; under its own name a log goes on."""
    grown = log(80)
    begun = {name: column[:60] for name, column in grown.items()}
    with place.open(linear()) as stored:
        learn(stored, begun, log="june")
    with place.open(linear()) as stored:
        learn(stored, grown, log="june")
        for rows in (begun, grown, pl.DataFrame(grown)):
            with pytest.raises(ValueError, match="one whose rows it has learnt"):
                stored.learn_log(rows, log="july")
        assert learn(stored, grown, log="june") == {} and stored.choices == 80
        for name in ("few", "as few"):  # which may be other people
            learn(stored, log(10), log=name)
        assert stored.choices == 100 and "100 of the choices are rows" in " ".join(stored.privacy.caveats)
        assert len(table(stored, "SELECT log FROM bookmark")) == 3 + 2  # names, and digests of long ones
