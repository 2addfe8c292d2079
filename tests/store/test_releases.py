"""Releases: by the number of choices alone, one noise for each step, served from committed rows, at a public time."""

import threading
import time

import numpy as np
import pytest
from tacit.holders.releases import Releases

from tacit.errors import BadState, RolledBack, Unavailable
from tacit.holders import leaf_rows, rehearsal, rows
from tacit.holders.leaf_rows import Drawn
from tacit.mechanisms import recursive
from tacit.mechanisms.grid import Grid
from tacit.mechanisms.recursive_grid import RecursiveGrid
from tests.store.places import Clock, arms, glm, linear, play, sums, table
from tests.store.test_together import at_once


def noisy(stored):
    return table(stored, "SELECT step, noisy FROM leaf ORDER BY step")


def test_a_step_closes_by_the_number_of_choices_alone(place):
    """Rewards, how many and when, move nothing: the same steps, due times and visibility."""
    seen = []
    for name, answers in (("none", 0), ("some", 3), ("all", 1)):
        rng, clock = np.random.default_rng(0), Clock()
        with place.open(glm(), name=name, delay=5.0, clock=clock) as stored:
            for i in range(45):
                clock.now += 1.0
                choice = stored.choose(arms(rng), request=f"{i}")
                stored.tend()
                if answers and i % answers == 0:
                    stored.observe(choice, 1.0)
            sizes = table(
                stored,
                "SELECT length(sums), length(noisy), visible_at FROM leaf WHERE bandit = ? ORDER BY step",
                stored._line.uid,
            )
            head = table(stored, "SELECT step, choices, boundary FROM bandit WHERE name = ?", name)
            opened = table(stored, "SELECT shard, length(sums) FROM open_sum WHERE bandit = ?", stored._line.uid)
            seen.append((sizes, head, sorted(opened), stored.version, stored.choices))
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0][0]) == 4 and seen[0][3] == 3


def test_a_release_is_visible_after_the_delay_and_not_before(place):
    rng, clock = np.random.default_rng(1), Clock()
    with place.open(glm(), delay=60.0, clock=clock) as stored:
        for _ in range(11):
            stored.choose(arms(rng))
        stored.tend()
        assert len(noisy(stored)) == 1 and stored.version == 0 and not stored.theta.any()
        clock.now += 59.9
        assert stored.choose(arms(rng)).version == 0
        clock.now += 0.1
        assert stored.choose(arms(rng)).version == 1
        assert stored.privacy.spent > 0 and stored.events == []


def test_a_release_that_comes_late_is_visible_at_the_next_multiple_of_the_delay(place):
    rng, clock = np.random.default_rng(1), Clock()
    with place.open(glm(), delay=60.0, clock=clock) as stored:
        for _ in range(11):
            stored.choose(arms(rng))
        clock.now += 130.0
        stored.tend()
        assert table(stored, "SELECT visible_at FROM leaf") == [(1180.0,)]
        assert [what for _, what in stored.events] == ["release late: visible at a later multiple of the delay"]


def test_a_release_that_has_to_wait_for_others_is_late_too(place, monkeypatch):
    """It may not become visible in the moment of its commit, which depends on what others do."""
    rng, clock, finish = np.random.default_rng(1), Clock(), rows.finish_step
    with place.open(glm(), delay=60.0, clock=clock) as stored:
        for _ in range(11):
            stored.choose(arms(rng))

        def waits(*given):
            clock.now += 130.0
            return finish(*given)

        monkeypatch.setattr(rows, "finish_step", waits)
        stored.tend()
        assert table(stored, "SELECT visible_at FROM leaf") == [(1180.0,)] and stored.version == 0


def test_a_release_whose_commit_takes_too_long_is_visible_at_the_next_multiple_of_the_delay(place, monkeypatch):
    """Not when the commit ends: that would tell how long it took."""
    rng, clock, draw = np.random.default_rng(1), Clock(), leaf_rows.draw

    def slow(*args):
        clock.now += 95.0
        return draw(*args)

    with place.open(glm(), delay=60.0, clock=clock) as stored:
        for _ in range(11):
            stored.choose(arms(rng))
        monkeypatch.setattr(leaf_rows, "draw", slow)
        stored.tend()
        assert table(stored, "SELECT visible_at FROM leaf") == [(1060.0,)] and clock.now == 1095.0
        assert [what for _, what in stored.events] == ["release late: visible at a later multiple of the delay"]
        assert stored.choose(arms(rng)).version == 0 and stored._versions.next_at == 1120.0
        clock.now = 1119.9
        assert stored.choose(arms(rng)).version == 0
        clock.now = 1120.0
        assert stored.choose(arms(rng)).version == 1
    with place.open(glm(), delay=60.0, clock=clock) as stored:
        assert stored.version == 1  # what was shown is shown


def test_a_worker_that_reads_a_release_after_its_time_waits_for_the_next_multiple(on_postgres):
    rng, clock = np.random.default_rng(1), Clock()
    given = {"delay": 60.0, "clock": clock}
    with on_postgres.open(glm(), **given) as one, on_postgres.open(glm(), **given) as two:
        for _ in range(11):
            one.choose(arms(rng))
        one.tend()
        clock.now = 1070.0
        assert one.version == 1 and two.version == 0
        clock.now = 1120.0
        assert two.version == 1 and np.array_equal(one.theta, two.theta)


def test_a_delay_that_is_too_short_is_an_event_once(place):
    for _ in range(2):
        with place.open(glm(), delay=1e-6) as stored:
            assert [what for _, what in stored.events] == [rehearsal.SHORT]
            for left in ("leaf", "due", "choice", "waiting"):
                assert table(stored, f"SELECT count(*) FROM {left}") == [(0,)]
            assert {uid for (uid,) in table(stored, "SELECT bandit FROM open_sum")} == {stored._line.uid}
    with place.open(glm(), name="patient", delay=1e6) as stored:
        assert stored.events == []
    with pytest.raises(ValueError, match="Expected delay to be 0 or at least 1e-06 seconds"):
        place.open(glm(), name="hasty", delay=1e-320)  # of which no second is a finite multiple


def test_what_is_measured_does_not_depend_on_people(place, monkeypatch):
    """The same statements with rows of the same sizes, whoever came and whatever they answered."""
    seen = []
    for people in (0, 25):
        with place.open(glm(), name=f"people{people}") as stored:
            play(stored, np.random.default_rng(0), people)
            log, run = [], type(stored._database)._run

            def heard(self, statement, /, *arguments, log=log, run=run):
                log.append((statement, [len(one) for one in arguments if isinstance(one, bytes)]))
                return run(self, statement, *arguments)

            with monkeypatch.context() as listening:
                listening.setattr(type(stored._database), "_run", heard)
                rehearsal.measured(stored._bandit, stored._line)
            seen.append(log)
    assert seen[0] == seen[1] and len(seen[0]) > 10


def test_what_is_served_was_read_from_the_row(place):
    """Whoever changes the committed row before it is read is found out by the witness: memory is not used."""
    rng = np.random.default_rng(2)
    with place.open(linear()) as stored:
        play(stored, rng, 10)
        stored.choose(arms(rng))
        stored._releases.run()
        other = np.arange(9.0)
        table(stored, "UPDATE leaf SET noisy = ?", other.tobytes())
        with pytest.raises(RolledBack):
            assert stored.version


def test_noise_that_was_not_committed_is_not_shown_and_drawn_again(place, monkeypatch):
    rng = np.random.default_rng(3)
    with place.open(linear()) as stored:
        play(stored, rng, 10)
        stored.choose(arms(rng))
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
        assert all(committed != one.tobytes() for one in drawn)
        assert np.array_equal(sums(stored)[0], before[0])
        assert stored.version == 1


def test_of_eight_releasers_at_one_boundary_one_releases(on_postgres):
    rng, clock = np.random.default_rng(4), Clock()
    with on_postgres.open(glm(), clock=clock) as stored:
        play(stored, rng, 10)
        stored.choose(arms(rng))
        exact = sums(stored)[0]
        others = [stored._database.another() for _ in range(8)]
        releasers = [Releases(stored._bandit, stored._line, one, stored._agreed, clock) for one in others]
        start, done = threading.Barrier(8), []

        def work(releaser):
            start.wait()
            done.append(releaser.run())

        threads = [threading.Thread(target=work, args=(one,)) for one in releasers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one in others:
            one.close()
        assert done == [1] * 8 and len(noisy(stored)) == 1
        assert np.array_equal(sums(stored)[0], exact)


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
        stored.choose_group([stored.ask(arms(rng)) for _ in range(35)])
        at_once(*[stored.tend] * 4)
        assert most == [1] * 3 and [step for step, _ in noisy(stored)] == [0, 1, 2]


def test_a_second_leaf_for_a_step_is_refused_by_the_database(place):
    rng = np.random.default_rng(5)
    with place.open(glm()) as stored:
        play(stored, rng, 11)
        before = noisy(stored)
        with pytest.raises(Unavailable), stored._database.transaction() as run:
            leaf_rows.keep(run, stored._line.uid, 0, b"", b"", 0.0)
        with stored._database.transaction() as run:
            assert leaf_rows.draw(run, stored._line.uid, Drawn(9, b"", b"", 0.0))
            assert not leaf_rows.draw(run, stored._line.uid, Drawn(9, b"", b"", 0.0))
        assert noisy(stored) == before


def test_the_thread_releases_while_requests_go_on(place):
    rng, bandit = np.random.default_rng(6), glm()
    bandit.warm_up()
    with place.open(bandit, background=True, delay=0.2, clock=__import__("time").time) as stored:
        done = 0
        while stored.version < 3 and done < 3000:
            stored.choose(arms(rng))
            done += 1
        assert stored.version >= 3
        steps = [step for step, _ in noisy(stored)]
        assert steps == list(range(len(steps)))


def test_a_bandit_that_forgets_drops_sums_that_have_left_the_window_and_goes_on_after_a_restart(place):
    """The steps that a worker has forgotten, one that starts later never reads: both then release the same."""
    rng = np.random.default_rng(3)
    with place.open(glm(first=2, forget=16)) as stored:
        window = stored._bandit.mechanism.window
        play(stored, rng, 2 * window + 9)
        steps = len(noisy(stored))
        assert steps > window and sorted(sums(stored))[:1] == [steps - window + 1]
        assert "forgotten in 16 rounds" in str(stored.privacy.releases)
        theta, before = stored.theta, stored._releases._prefix
    with place.open(glm(first=2, forget=16)) as again:
        assert np.array_equal(again.theta, theta)
        again._releases.run()
        rows_kept = [s % window for s in range(steps - window + 1, steps)]
        assert np.array_equal(again._releases._prefix.closed[rows_kept], before.closed[rows_kept])
        again.rotate_keys()
        play(again, rng, 20, prefix="later")
        assert again.version > steps and sorted(sums(again))[0] > steps - window + 1
    with pytest.raises(BadState, match="got another forget"):
        place.open(glm(first=2))


def test_long_vectors_from_ten_sums_of_the_past_go_on_after_a_restart(place, monkeypatch):
    """Who starts later has the sums of the past from the rows, to the bit, and shows what the first one showed."""
    monkeypatch.setattr(recursive, "LARGEST_TABLE", 1)
    rng = np.random.default_rng(6)
    with place.open(glm(first=2)) as stored:
        assert isinstance(stored._bandit.mechanism, RecursiveGrid)
        play(stored, rng, 25)
        steps, theta, before = len(noisy(stored)), stored.theta, stored._releases._prefix
        assert steps > 5 and sorted(sums(stored))[0] == 0
    with place.open(glm(first=2)) as again:
        again._releases.run()
        assert np.array_equal(again.theta, theta) and again._releases._known == steps
        assert np.array_equal(again._releases._prefix.closed, before.closed) and before.closed.any()
        again.rotate_keys()
        play(again, rng, 10, prefix="later")
        assert again.version > steps and not np.array_equal(again.theta, theta)
        assert again.privacy.private
