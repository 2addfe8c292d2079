"""What all workers of a bandit do alike: the one that was opened last decides, and the others follow."""

import numpy as np
import pytest

from tacit import Budget
from tacit.errors import BadState
from tacit.kernels.glm import Tuning
from tests.store.places import Clock, arms, contribution, glm, linear, play, restored, settle, table, total


def told(stored):
    return [what for _, what in stored.events]


def test_two_workers_let_a_choice_wait_as_long(on_postgres):
    """The second was started with another hold: from then on it is the first one's, too."""
    rng, bandit, clock = np.random.default_rng(0), linear(), Clock()
    with on_postgres.open(linear(), clock=clock, hold=100.0) as one:
        early = one.choose(arms(rng))
        with on_postgres.open(linear(), clock=clock, hold=4.0) as two:
            given = arms(rng)
            clock.now += 3.0
            choice = two.choose(given)
            clock.now += 2.0
            assert not one.observe(early, 1.0)  # five seconds later: late, by the settings that both have now
            assert one.observe(choice, 1.0)
            clock.now += 3.0 + one._database.skew
            one.tend()
            assert one.entered == 2 and np.array_equal(total(one), contribution(bandit, given[choice.index], 1.0))
            assert told(one) == told(two) == ["settings changed for all workers: hold"]
        with on_postgres.open(linear(), clock=clock, hold=4.0):  # nothing is new
            pass
        assert len(told(one)) == 1


def test_what_has_entered_is_late_though_hold_is_longer_now(place):
    """And what has not entered has more time, in the order of numbers still."""
    rng, clock = np.random.default_rng(0), Clock()
    with place.open(linear(), clock=clock, hold=5.0) as stored:
        early = stored.choose(arms(rng))
        settle(stored)
        late = stored.choose(arms(rng))
    with place.open(linear(), clock=clock, hold=500.0) as stored:
        assert stored.entered == 1 and not stored.observe(early, 1.0)
        assert table(stored, "SELECT count(*) FROM written") == [(0,)]
        clock.now += 100.0
        stored.tend()
        assert stored.entered == 1 and stored.observe(late, 1.0)


def test_the_expired_rows_of_all_workers_are_removed_alike(on_postgres):
    rng = np.random.default_rng(1)
    with on_postgres.open(glm(pending=800)) as one, on_postgres.open(glm(pending=800)) as two:
        for _ in range(30):
            two.choose(arms(rng))
        settle(one)
        assert table(one, "SELECT count(*) FROM choice") == [(30,)]
    with on_postgres.open(glm(pending=80), name="other") as one, on_postgres.open(glm(pending=8), name="other") as two:
        for _ in range(50):
            two.choose(arms(rng))
        settle(one)  # started with 80
        ((left,),) = table(one, "SELECT count(*) FROM choice WHERE bandit = ?", one._vault.uid)
        assert 8 <= left < 30


def test_two_workers_agree_on_silence_and_delay(on_postgres):
    rng, clock = np.random.default_rng(2), Clock()

    def bandit():
        return glm(pending=1000)

    given = {"missing_as": 0.0, "hold": 50.0, "delay": 60.0, "clock": clock}
    with on_postgres.open(bandit(), clock=clock) as one, on_postgres.open(bandit(), **given) as two:
        for _ in range(13):
            two.choose(arms(rng))
        clock.now += 55.1
        one.tend()
        assert table(one, "SELECT count(*) FROM waiting") == [(0,)] and total(one).any()  # silence, by the first
        assert table(one, "SELECT visible_at FROM leaf") == [(1115.0,)] and one.version == two.version == 0
        on_postgres.open(bandit(), clock=clock).close()
    assert told_names(one) == [{"delay", "missing_as", "hold"}] * 2


def told_names(stored):
    database = stored._database.another()
    with database.transaction() as run:
        found = run("SELECT what FROM event ORDER BY at")
    database.close()
    return [set(what.partition(": ")[2].split(", ")) for (what,) in found if what.startswith("settings")]


LEAVES = "SELECT step, noisy FROM leaf ORDER BY bandit, step"


def test_a_plan_with_another_tuning_opens_and_is_restored(on_sqlite):
    """What was released stays, and the estimate from it is that of the present tuning."""
    rng = np.random.default_rng(5)
    with on_sqlite.open(glm(tuning=Tuning(ridge=4.0, explore=0.35))) as stored:
        play(stored, rng, 35, together=12)
        before, noisy, claimed = stored.theta, table(stored, LEAVES), stored.privacy
    with on_sqlite.open(glm()) as stored:
        assert stored.version == len(noisy) == 3 and table(stored, LEAVES) == noisy and stored.privacy == claimed
        now = stored.theta
        assert not np.allclose(now, before) and len(stored.history) == 4
    with pytest.raises(BadState, match="another budget"):
        restored(on_sqlite, glm(budget=Budget(2.0, 1e-5)))
    restored(on_sqlite, glm())
    with on_sqlite.open(glm()) as stored:
        assert stored.version == 0 and np.allclose(stored.theta, now)


def test_workers_of_two_tunings_share_what_is_released(on_postgres):
    """As in a rolling deploy: each has its own estimate of the same leaves, and so has who starts again."""
    rng = np.random.default_rng(6)
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
