"""What all workers of a bandit do alike: the one that was opened last decides, and the others follow."""

import numpy as np
import pytest

from reticent import Budget
from reticent.errors import BadState
from reticent.kernels.glm import Tuning
from serve_tests.store.places import Clock, arms, contribution, glm, linear, play, restored, settle, table, total


def told(stored):
    return [what for _, what in stored.events]


def test_two_workers_let_a_choice_wait_as_long(on_postgres):
    """The second was started with another window: from then on it is the first one's, too."""
    rng, bandit, clock = np.random.default_rng(0), linear(), Clock()
    with on_postgres.open(linear(), clock=clock, reward={"window": "100 seconds"}) as one:
        early = one.choose(arms(rng))
        with on_postgres.open(linear(), clock=clock, reward={"window": "4 seconds"}) as two:
            given = arms(rng)
            clock.now += 3.0
            choice = two.choose(given)
            clock.now += 2.0
            assert not one.observe(early, 1.0)  # five seconds later: late, by the settings that both have now
            assert one.observe(choice, 1.0)
            clock.now += 3.0 + one._database.skew
            one.tend()
            assert one.entered == 2 and np.array_equal(total(one), contribution(bandit, given[choice.index], 1.0))
            assert told(one) == told(two) == ["settings changed for all workers: window"]
        with on_postgres.open(linear(), clock=clock, reward={"window": "4 seconds"}):  # nothing is new
            pass
        assert len(told(one)) == 1


def test_what_has_entered_is_late_though_the_window_is_longer_now(place, rng, clock):
    """And what has not entered has more time, in the order of numbers still."""
    with place.open(linear(), clock=clock, reward={"window": "5 seconds"}) as stored:
        early = stored.choose(arms(rng))
        settle(stored)
        late = stored.choose(arms(rng))
    with place.open(linear(), clock=clock, reward={"window": "500 seconds"}) as stored:
        assert stored.entered == 1 and not stored.observe(early, 1.0)
        assert table(stored, "SELECT count(*) FROM written") == [(0,)]
        clock.now += 100.0
        stored.tend()
        assert stored.entered == 1 and stored.observe(late, 1.0)


def test_the_expired_rows_of_all_workers_are_removed_alike(on_postgres, rng):
    with on_postgres.open(glm(), pending=800) as one, on_postgres.open(glm(), pending=800) as two:
        for _ in range(30):
            two.choose(arms(rng))
        settle(one)
        assert table(one, "SELECT count(*) FROM choice") == [(30,)]
    with (
        on_postgres.open(glm(), pending=80, name="other") as one,
        on_postgres.open(glm(), pending=8, name="other") as two,
    ):
        for _ in range(50):
            two.choose(arms(rng))
        settle(one)  # started with 80
        ((left,),) = table(one, "SELECT count(*) FROM choice WHERE bandit = ?", one._store.uid)
        assert 8 <= left < 30


def test_two_workers_agree_on_silence_and_delay(on_postgres, rng, clock):
    given = {"reward": {"window": "50 seconds", "default": 0.0}, "delay": 60.0, "clock": clock}
    with on_postgres.open(glm(), clock=clock) as one, on_postgres.open(glm(), **given) as two:
        for _ in range(13):
            two.choose(arms(rng))
        clock.now += 55.1
        one.tend()
        assert table(one, "SELECT count(*) FROM waiting") == [(0,)] and total(one).any()  # silence, by the first
        assert table(one, "SELECT visible_at FROM leaf") == [(1115.0,)] and one.version == two.version == 0
        on_postgres.open(glm(), clock=clock).close()
    assert told_names(one) == [{"delay", "default", "window"}] * 2


def told_names(stored):
    database = stored._database.another()
    with database.transaction() as run:
        found = run("SELECT what FROM event ORDER BY at")
    database.close()
    return [set(what.partition(": ")[2].split(", ")) for (what,) in found if what.startswith("settings")]


LEAVES = "SELECT step, noisy FROM leaf ORDER BY bandit, step"


def test_a_plan_with_another_tuning_opens_and_is_restored(on_sqlite, rng):
    """What was released stays, and the estimate from it is that of the present tuning."""
    with on_sqlite.open(glm(tuning=Tuning(ridge=4.0, explore=0.35))) as stored:
        play(stored, rng, 35, together=12)
        before, noisy, claimed = stored.theta, table(stored, LEAVES), stored.privacy
    with on_sqlite.open(glm()) as stored:
        assert stored.version == len(noisy) == 3 and table(stored, LEAVES) == noisy and stored.privacy == claimed
        now = stored.theta
        assert not np.allclose(now, before) and len(stored.history) == 4
    with pytest.raises(BadState, match="another epsilon"):
        restored(on_sqlite, glm(budget=Budget(2.0, 1e-5)))
    restored(on_sqlite, glm())
    with on_sqlite.open(glm()) as stored:
        assert stored.version == 0 and np.allclose(stored.theta, now)


def test_workers_of_two_tunings_share_what_is_released(on_postgres, rng):
    """As in a rolling deploy: each has its own estimate of the same leaves, and so has who starts again."""
    with on_postgres.open(glm(tuning=Tuning(ridge=4.0))) as one, on_postgres.open(glm()) as two:
        for i in range(18):
            play(one, rng, 1, prefix=f"one {i} ")
            play(two, rng, 1, prefix=f"two {i} ")
        one.tend()
        assert one.version == two.version == 3 and one.choices == 36 and one.privacy == two.privacy
        assert not np.allclose(one.theta, two.theta)
        noisy, found = table(one, LEAVES), [worker.theta for worker in (one, two)]
    for tuning, theta in zip((Tuning(ridge=4.0), None), found, strict=True):
        with on_postgres.open(glm(tuning=tuning)) as stored:
            assert stored.version == 3 and np.array_equal(stored.theta, theta) and table(stored, LEAVES) == noisy
