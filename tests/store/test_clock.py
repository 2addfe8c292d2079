"""A clock that is set forwards or back: the schedule does not look at it, no release is held up, nothing is shown twice
or otherwise. Within a process time is what has passed, whatever the clock is set to (`Steady`); the other clocks here
are of a process that was started again meanwhile."""

import itertools

import numpy as np
import pytest

from tacit.clock import Steady
from tests.store.places import Clock, arms, contribution, glm, linear, play, table, total

HOUR, DAY = 3600.0, 24 * 3600.0


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_steps_and_expiry_are_by_the_number_of_choices(place, jump):
    heads = []
    for name, jumps in (("steady", itertools.repeat(1.0)), ("jumping", itertools.cycle((jump, 1.0, -jump, 1.0)))):
        rng, clock = np.random.default_rng(0), Clock()
        with place.open(linear(pending=16), name=name, delay=2.0, clock=clock) as stored:
            for i in range(60):
                clock.now += next(jumps)
                stored.choose(arms(rng), request=f"{i}")
                stored.tend()
            uid = stored._line.uid
            oldest = table(stored, "SELECT min(number) FROM choice WHERE bandit = ?", uid)
            steps = table(stored, "SELECT step FROM leaf WHERE bandit = ? ORDER BY step", uid)
            heads.append((stored.head[:4], oldest, steps))
    assert heads[0] == heads[1] and len(heads[0][2]) > 3


def test_a_clock_that_is_set_back_holds_no_release_up(place):
    """Neither one that waits to be shown, nor one whose step ended before."""
    rng, clock = np.random.default_rng(1), Clock()
    clock.now += DAY
    with place.open(glm(), delay=60.0, clock=clock) as stored:
        for _ in range(11):
            stored.choose(arms(rng))
        stored.tend()
        assert stored.version == 0
        clock.now -= HOUR
        assert stored.version == 1
        while stored.head.step < 2:
            stored.choose(arms(rng))
        clock.now -= HOUR
        stored.tend()
        ((visible_at,),) = table(stored, "SELECT visible_at FROM leaf WHERE step = 1")
        assert visible_at <= clock.now + 60.0 and stored.version == 2


def test_a_clock_that_is_set_forwards_makes_a_release_late_and_no_second_one(place):
    rng, clock = np.random.default_rng(2), Clock()
    with place.open(glm(), delay=60.0, clock=clock) as stored:
        for _ in range(11):
            stored.choose(arms(rng))
        clock.now += DAY
        stored.tend()
        stored.tend()
        assert table(stored, "SELECT count(*) FROM leaf") == [(1,)] and stored.version == 0
        assert [what.partition(":")[0] for _, what in stored.events] == ["release late"]
        clock.now += 120.0
        assert stored.version == 1


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_what_was_shown_is_shown_after_a_restart_too(place, jump):
    rng, clock = np.random.default_rng(3), Clock()
    with place.open(glm(), delay=60.0, clock=clock) as stored:
        play(stored, rng, 25)
        clock.now += 120.0
        version, theta = stored.version, stored.theta.copy()
        answer = stored.choose(arms(rng), request="mine")
    clock.now += jump
    with place.open(glm(), delay=60.0, clock=clock) as stored:
        assert stored.version == version > 0 and np.array_equal(stored.theta, theta)
        again = stored.choose(arms(rng), request="mine")
        assert (again.id, again.index, again.version) == (answer.id, answer.index, version)


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_silence_is_measured_by_what_has_passed(place, jump):
    """A clock that is set makes nobody silent sooner or later; that it was set is told, each time."""
    rng, wall, passed, bandit = np.random.default_rng(4), Clock(), Clock(), linear()
    steady = Steady(wall, passed)
    with place.open(linear(), missing_as=0.25, after=60.0, rate=100.0, clock=steady) as stored:
        first, second = arms(rng), arms(rng)
        early, late = stored.choose(first), stored.choose(second)
        for seconds, ahead in ((4.0, jump), (4.0, 0.0), (4.0, -jump)):  # there, and back
            passed.now += seconds
            wall.now += seconds + ahead
            stored.tend()
            assert not total(stored).any()
        stored.observe(early, 1.0)
        clicked = contribution(bandit, first[early.index], 1.0)
        assert np.array_equal(total(stored), clicked)
        assert [what.partition(":")[0] for _, what in stored.events] == ["the system's clock was set"] * 2
        passed.now += 50.0
        wall.now += 50.0
        stored.tend()
        stored.observe(late, 1.0)  # after its time
        assert np.array_equal(total(stored), clicked + contribution(bandit, second[late.index], 0.25))
