"""Releases: by the number of choices alone, one noise for each step, served from committed rows, at a public time."""

import time

import numpy as np
import pytest

from reticent.errors import BadState, RolledBack, Unavailable
from reticent.mechanisms import entering, recursive
from reticent.mechanisms.grid import Grid
from reticent.mechanisms.opening import opened
from reticent.mechanisms.recursive_grid import RecursiveGrid
from reticent_serve.holders import leaf_rows, rows
from reticent_serve.holders.leaf_rows import SealedLeaf
from reticent_serve.holders.steps import LATE, Steps
from serve_tests.store.places import LASTS, Clock, arms, glm, linear, play, settle, sums, table
from serve_tests.store.processes import at_once


def noisy(stored):
    return table(stored, "SELECT step, noisy FROM leaf ORDER BY step")


def full(stored, rng):
    """The choices of the first step, made now; when the step ends."""
    stored.choose_group([stored.prepare(arms(rng)) for _ in range(10)])
    return stored._clock.now + LASTS + stored._database.skew


def test_a_step_closes_by_the_number_of_choices_alone(place):
    """Rewards, how many and when, move nothing: the same steps, ends and visibility."""
    seen = []
    for name, answers in (("none", 0), ("some", 3), ("all", 1)):
        rng, clock = np.random.default_rng(0), Clock()
        with place.open(glm(), name=name, delay=5.0, clock=clock) as stored:
            times = []
            for i in range(45):
                clock.now += 1.0
                choice = stored.choose(arms(rng), request=f"{i}")
                stored.tend()
                if answers and i % answers == 0:
                    stored.observe(choice, 1.0)
                times.append((stored.entered, stored.version))
            uid = stored._store.uid
            sizes = table(
                stored, "SELECT length(sums), length(noisy), visible_at FROM leaf WHERE bandit = ? ORDER BY step", uid
            )
            head = table(stored, "SELECT step, choices, boundary FROM bandit WHERE name = ?", name)
            opened = table(stored, "SELECT settled, closed_at, length(sums) FROM open_step WHERE bandit = ?", uid)
            waiting = table(stored, "SELECT number, made_at, length(sealed) FROM waiting WHERE bandit = ?", uid)
            seen.append((times, sizes, head, opened, sorted(waiting), stored.choices))
    assert seen[0] == seen[1] == seen[2] and len(seen[0][1]) >= 2 and seen[0][0][-1][1] >= 2


@pytest.fixture
def heard(monkeypatch):
    """The statements of any database from now on, and the sizes of their arguments; and how often a row is opened."""

    def listen(stored):
        log, cursor, open_ = [], type(stored._database)._cursor, stored._store.seal.open

        def says(self, statement, arguments):
            log.append((statement, [len(one) for one in arguments if isinstance(one, bytes)]))
            return cursor(self, statement, arguments)

        monkeypatch.setattr(type(stored._database), "_cursor", says)
        monkeypatch.setattr(stored._store.seal, "open", lambda *given: log.append("opened") or open_(*given))
        return log

    return listen


def test_entries_are_the_same_work_whether_or_not_rewards_came(place, heard, monkeypatch):
    """Of persons, too, who are counted then: how long others wait for them does not tell how many came."""
    seen = []
    for answers in (0, 30):
        options = {"name": f"b{answers}"}
        with place.open(linear(first=50, rounds=2), **options) as stored:
            rng = np.random.default_rng(0)
            choices = [stored.choose(arms(rng), person=i % 12) for i in range(30)]
            stored.write_group([stored.report(choice, 0.5) for choice in choices[:answers]])
            seen.append(heard(stored))
            settle(stored)
            monkeypatch.undo()
            assert stored.entered == 30
    assert seen[0] == seen[1] and len(seen[0]) > 70


def test_kernels_are_compiled_before_the_first_transaction_that_needs_them(on_sqlite, monkeypatch):
    """Compiling takes seconds: on SQLite everybody would wait, and PostgreSQL would end the transaction."""
    enter, entered = entering.enter, []
    monkeypatch.setattr(entering, "enter", lambda *given, **more: entered.append(given) or enter(*given, **more))
    on_sqlite.open(glm()).close()
    assert len(entered) == 1 and entered[0][0][0].teaches


def test_a_release_is_visible_after_the_delay_and_not_before(place, rng, clock):
    with place.open(glm(), delay=60.0, clock=clock) as stored:
        end = full(stored, rng)
        clock.now = end + 0.01
        stored.tend()  # no later choice is needed
        assert len(noisy(stored)) == stored.head.step == 1 and stored.choices == 10
        assert stored.version == 0 and not stored.theta.any()
        clock.now = end + 59.9
        assert stored.choose(arms(rng)).version == 0
        clock.now = end + 60.0
        assert stored.choose(arms(rng)).version == 1 and stored.privacy.spent > 0 and stored.events == []


@pytest.mark.parametrize("late", ["nobody looked", "others had the lock"])
def test_a_release_that_comes_late_is_visible_at_the_next_multiple_of_the_delay(place, monkeypatch, rng, clock, late):
    """And not in the moment of its commit, which depends on what others do."""
    with place.open(glm(), delay=60.0, clock=clock) as stored:
        end, head = full(stored, rng), rows.head
        clock.now = end + (130.0 if late == "nobody looked" else 0.01)

        def waits(run, uid, locking=None):
            clock.now = max(clock.now, end + 130.0 * (locking is not None))
            return head(run, uid, locking or "")

        monkeypatch.setattr(rows, "head", waits)
        for _ in range(2):
            stored.tend()
            assert table(stored, "SELECT visible_at FROM leaf") == [(end + 180.0,)] and stored.version == 0
            assert [what for _, what in stored.events] == [LATE]
        clock.now = end + 180.0
        assert stored.version == 1


def test_a_release_whose_commit_takes_too_long_is_visible_at_the_next_multiple_of_the_delay(place, monkeypatch):
    """Not when the commit ends: that would tell how long it took."""
    rng, clock, draw = np.random.default_rng(1), Clock(), leaf_rows.draw

    def slow(*args):
        clock.now += 95.0
        return draw(*args)

    with place.open(glm(), delay=60.0, clock=clock) as stored:
        end = full(stored, rng)
        clock.now = end + 0.01
        monkeypatch.setattr(leaf_rows, "draw", slow)
        stored.tend()
        assert table(stored, "SELECT visible_at FROM leaf") == [(end + 60.0,)] and clock.now == end + 95.01
        assert [what for _, what in stored.events] == [LATE]
        assert stored.choose(arms(rng)).version == 0 and stored._served.next_at == end + 120.0
        clock.now = end + 119.9
        assert stored.choose(arms(rng)).version == 0
        clock.now = end + 120.0
        assert stored.choose(arms(rng)).version == 1
    with place.open(glm(), delay=60.0, clock=clock) as stored:
        assert stored.version == 1  # what was shown is shown


def test_a_worker_that_reads_a_release_after_its_time_waits_for_the_next_multiple(on_postgres, rng, clock):
    given = {"delay": 60.0, "clock": clock}
    with on_postgres.open(glm(), **given) as one, on_postgres.open(glm(), **given) as two:
        end = full(one, rng)
        clock.now = end + 0.01
        one.tend()
        clock.now = end + 70.0
        assert one.version == 1 and two.version == 0
        clock.now = end + 120.0
        assert two.version == 1 and np.array_equal(one.theta, two.theta)


def test_a_worker_that_reads_while_another_releases_does_not_think_that_the_database_went_back(
    on_postgres, monkeypatch
):
    """Its look is several statements: leaves may be newer than the row that it read first."""
    rng, clock, found = np.random.default_rng(1), Clock(), leaf_rows.sums
    with on_postgres.open(glm(), clock=clock) as one, on_postgres.open(glm(), clock=clock) as two:
        full(one, rng)
        clock.now += LASTS + one._database.skew + 0.01
        meanwhile = [two.tend]

        def slowly(*given):
            if meanwhile:
                meanwhile.pop()()
            return found(*given)

        monkeypatch.setattr(leaf_rows, "sums", slowly)
        one.tend()
        assert one.version == two.version == 1 and not meanwhile


def closed(stored, rng):
    """The first step's choices have entered, and nothing is released yet."""
    for _ in range(10):
        stored.observe(stored.choose(arms(rng)), float(rng.random()))
    stored._clock.now += LASTS + stored._database.skew + 0.01
    assert not stored._steps._next() and table(stored, "SELECT settled FROM open_step") == [(10,)]


def test_what_is_served_was_read_from_the_row(place, rng):
    """Whoever changes the committed row before it is read is found out by the witness: memory is not used."""
    with place.open(linear()) as stored:
        closed(stored, rng)
        stored._steps.run()
        table(stored, "UPDATE leaf SET noisy = ?", np.arange(len(sums(stored)[0]), dtype=float).tobytes())
        with pytest.raises(RolledBack):
            assert stored.version


def test_noise_that_was_not_committed_is_not_shown_and_drawn_again(place, monkeypatch, rng):
    with place.open(linear()) as stored:
        closed(stored, rng)
        drawn, measure, draw = [], Grid.measure, leaf_rows.draw
        monkeypatch.setattr(Grid, "measure", lambda *args: drawn.append(measure(*args)) or drawn[-1])

        def lost(*args):
            draw(*args)
            raise Unavailable("Expected a commit, got none.")

        monkeypatch.setattr(leaf_rows, "draw", lost)
        with pytest.raises(Unavailable):
            stored.tend()
        assert len(drawn) == 3 and noisy(stored) == [] and stored.version == 0
        monkeypatch.undo()
        before = sums(stored)
        stored.tend()
        ((_, committed),) = noisy(stored)
        assert all(committed != one.tobytes() for one in drawn) and np.array_equal(sums(stored)[0], before[0])
        assert stored.version == 1


def test_of_eight_workers_at_one_boundary_one_releases(on_postgres):
    rng, clock = np.random.default_rng(4), Clock()
    with on_postgres.open(glm(), clock=clock) as stored:
        closed(stored, rng)
        exact, others = sums(stored)[0], [stored._database.another() for _ in range(8)]
        given = (stored._shared, stored._curator, stored._people, clock)
        workers = [Steps(stored.one_pass, stored._sources.source, stored._store, one, *given) for one in others]
        at_once(*(worker.run for worker in workers))
        for one in others:
            one.close()
        assert len(noisy(stored)) == 1 and np.array_equal(sums(stored)[0], exact) and stored.head.step == 1


def test_one_thread_of_a_worker_releases_at_a_time(place, monkeypatch):
    """They share exact sums: of two, one would measure the step of the other."""
    rng, measure, inside, most = np.random.default_rng(4), Grid.measure, [], []

    def slowly(*given):
        inside.append(given)
        most.append(len(inside))
        time.sleep(0.05)
        try:
            return measure(*given)
        finally:
            inside.pop()

    monkeypatch.setattr(Grid, "measure", slowly)
    with place.open(glm()) as stored:
        stored.choose_group([stored.prepare(arms(rng)) for _ in range(35)])
        stored._clock.now += LASTS + stored._database.skew + 0.01
        at_once(*[stored.tend] * 4)
        assert most == [1] * 3 and [step for step, _ in noisy(stored)] == [0, 1, 2]


def test_a_second_leaf_for_a_step_is_refused_by_the_database(place, rng):
    with place.open(glm()) as stored:
        play(stored, rng, 11)
        before = noisy(stored)
        with pytest.raises(Unavailable), stored._database.transaction() as run:
            leaf_rows.keep(run, stored._store.uid, 0, b"", b"", 0.0)
        with stored._database.transaction() as run:
            assert leaf_rows.draw(run, stored._store.uid, SealedLeaf(9, b"", b"", 0.0))
            assert not leaf_rows.draw(run, stored._store.uid, SealedLeaf(9, b"", b"", 0.0))
        assert noisy(stored) == before


def test_a_bandit_that_forgets_drops_sums_that_have_left_the_window_and_goes_on_after_a_restart(place, rng):
    """The steps that a worker has forgotten, one that starts later never reads: both then release the same."""
    with place.open(glm(first=2, forget=16)) as stored:
        window = stored.one_pass.plan.mechanism.window
        play(stored, rng, 2 * window + 9, together=8)
        steps = len(noisy(stored))
        assert steps > window and sorted(sums(stored))[:1] == [steps - window + 1]
        assert "forgotten in 16 rounds" in str(stored.privacy.releases)
        theta, before = stored.theta, opened(stored._steps._closed)
    with place.open(glm(first=2, forget=16)) as again:
        assert np.array_equal(again.theta, theta)
        again._steps.run()
        rows_kept = [s % window for s in range(steps - window + 1, steps)]
        assert np.array_equal(opened(again._steps._closed).closed[rows_kept], before.closed[rows_kept])
        play(again, rng, 20, prefix="later", together=8)
        assert again.version > steps and sorted(sums(again))[0] > steps - window + 1
    with pytest.raises(BadState, match="got another forget"):
        place.open(glm(first=2))


def test_long_vectors_from_ten_sums_of_the_past_go_on_after_a_restart(place, monkeypatch, rng):
    """Who starts later has the sums of the past from the rows, to the bit, and shows what the first one showed."""
    monkeypatch.setattr(recursive, "LARGEST_TABLE", 1)
    with place.open(glm(first=2)) as stored:
        assert isinstance(stored.one_pass.plan.mechanism, RecursiveGrid)
        play(stored, rng, 25, together=4)
        steps, theta, before = len(noisy(stored)), stored.theta, opened(stored._steps._closed)
        assert steps > 5 and sorted(sums(stored))[0] == 0
    with place.open(glm(first=2)) as again:
        again._steps.run()
        assert np.array_equal(again.theta, theta) and again._steps._estimator.step == steps
        assert np.array_equal(opened(again._steps._closed).closed, before.closed) and before.closed.any()
        play(again, rng, 10, prefix="later", together=5)
        assert again.version > steps and not np.array_equal(again.theta, theta) and again.privacy.private
