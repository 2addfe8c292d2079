"""A clock that is set forwards or back: what is in a step does not depend on it, no release is held up, nothing is
shown twice or otherwise. Within a process time is what has passed, whatever the clock is set to (`Steady`); the other
clocks here are of a process that was started again meanwhile."""

import itertools

import numpy as np
import pytest

from reticent.process import Steady
from serve_tests.store.places import LASTS, Clock, arms, contribution, glm, linear, settle, sums, table, total

HOUR, DAY = 3600.0, 24 * 3600.0


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_steps_and_expiry_are_by_the_number_of_choices(place, jump):
    """When a step is full may be another moment; what is in it is not."""
    heads = []
    for name, jumps in (("steady", itertools.repeat(1.0)), ("jumping", itertools.cycle((jump, 1.0, -jump, 1.0)))):
        rng, clock = np.random.default_rng(0), Clock()
        clock.now += DAY
        with place.open(linear(), pending=16, name=name, delay=2.0, clock=clock) as stored:
            for i in range(60):
                clock.now += next(jumps)
                assert stored.observe(stored.choose(arms(rng, count=1), request=f"{i}"), (i % 3) / 3)
                stored.tend()
            for _ in range(2):  # what enters now makes later answers expire
                clock.now += 2 * DAY
                stored.tend()
            oldest = table(stored, "SELECT min(number) FROM choice WHERE bandit = ?", stored._store.uid)
            found = {step: one.tolist() for step, one in sums(stored).items()}
            heads.append((stored.head[:4], stored.entered, oldest, found))
    assert heads[0] == heads[1] and heads[0][1] == 60 and len(heads[0][3]) > 3


def full(stored, rng):
    """Ten choices, which fill a step, and the time until they have entered."""
    for _ in range(10):
        stored.choose(arms(rng))
    settle(stored)


def test_a_clock_that_is_set_back_holds_no_release_up(place, rng, clock):
    """Neither one that waits to be shown, here or after a restart, nor one whose step ended, and that is drawn now."""
    clock.now += DAY
    with place.open(glm(), delay=60.0, clock=clock) as stored:
        full(stored, rng)
        assert stored.version == 0 and len(table(stored, "SELECT * FROM leaf")) == 1
        clock.now -= HOUR
        assert stored.version == 1
        full(stored, rng)
        assert stored.version == 1 and len(table(stored, "SELECT * FROM leaf")) == 2
        theta, answer = stored.theta.copy(), stored.choose(arms(rng), request="mine")
    clock.now -= DAY + HOUR
    with place.open(glm(), delay=60.0, clock=clock) as stored:
        assert stored.version == 1 and np.array_equal(stored.theta, theta)  # what was shown is shown
        again = stored.choose(arms(rng), request="mine")
        assert (again.id, again.index, again.version) == (answer.id, answer.index, 1)
        clock.now += 120.0
        assert stored.version == 2 and stored._steps.visible_at(clock.now + HOUR, clock.now) <= clock.now + 120.0


@pytest.mark.parametrize("restarted", [False, True])
def test_a_clock_that_is_set_back_holds_no_choice_up(on_sqlite, restarted):
    """They enter when they have waited as long again, with the rewards that came by then; later ones are late."""
    rng, clock, bandit = np.random.default_rng(5), Clock(), linear()
    clock.now += DAY
    stored, given = on_sqlite.open(linear(), clock=clock), arms(rng, count=1)
    first, second = stored.choose(given), stored.choose(given)
    stored.observe(first, 1.0)
    clock.now -= HOUR
    if restarted:
        stored.close()
        stored = on_sqlite.open(linear(), clock=clock)
    stored.tend()
    clock.now += LASTS - 0.01
    stored.tend()
    assert stored.entered == 0 and stored.observe(second, 0.5)
    clock.now += 0.02
    stored.tend()
    expected = contribution(bandit, given[0], 1.0) + contribution(bandit, given[0], 0.5)
    assert stored.entered == 2 and np.array_equal(total(stored), expected)
    assert not stored.observe(second, 0.5)  # though its id says that there is time
    stored.close()


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_deadlines_are_measured_by_what_has_passed(place, jump):
    """A clock that is set makes nobody silent sooner or later; that it was set is told, each time."""
    rng, wall, passed, bandit = np.random.default_rng(4), Clock(), Clock(), linear()
    steady = Steady(wall, passed)
    with place.open(linear(), reward={"window": "60 seconds", "default": 0.25}, clock=steady) as stored:
        first, second = arms(rng), arms(rng)
        early, late = stored.choose(first), stored.choose(second)
        for seconds, ahead in ((4.0, jump), (4.0, 0.0), (4.0, -jump)):  # there, and back
            passed.now += seconds
            wall.now += seconds + ahead
            stored.tend()
            assert stored.entered == 0
        assert stored.observe(early, 1.0)
        assert [what.partition(":")[0] for _, what in stored.events] == ["the system's clock was set"] * 2
        for seconds, entered in ((47.9, 0), (0.2 + stored._database.skew, 2)):
            passed.now += seconds
            wall.now += seconds
            stored.tend()
            assert stored.entered == entered
        assert not stored.observe(late, 1.0)  # after its time
        expected = contribution(bandit, first[early.index], 1.0) + contribution(bandit, second[late.index], 0.25)
        assert np.array_equal(total(stored), expected)
