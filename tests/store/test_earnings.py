"""Estimates of what is earned, of a bandit on a database: they are the bandit's, from committed leaves alone."""

import math
import sqlite3

import numpy as np
import pytest

from tacit import Budget, Earnings, recover
from tacit.holders.requests import ANSWER, Answer
from tacit.mechanisms.waiting import NUMBER
from tests.store.places import Clock, Place, arms, glm, play, settle

GIVEN = Earnings(0.3, 5.0, 4)


@pytest.fixture
def place(folder):
    return Place(str(folder / "bandit.db"), folder / "keys")


def test_they_follow_from_the_leaves_and_survive_a_restart(place):
    rng = np.random.default_rng(0)
    with place.open(glm(earnings=GIVEN)) as stored:
        assert stored.earned is None and stored.history[0].earned is None
        play(stored, rng, 60)
        assert stored.earned._fields == ("average",) and 0 <= stored.earned.average.value <= 1
        assert [past.earned for past in stored.history][-1] == stored.earned
        seen, spent = [past.earned for past in stored.history], stored.privacy.releases
    assert [release.name for release in spent] == ["gaussian", "earnings"]
    with place.open(glm(earnings=GIVEN)) as stored:
        assert [past.earned for past in stored.history] == seen
    with pytest.raises(ValueError, match="earnings declares"), place.open(glm(earnings=GIVEN)) as stored:
        stored.choose(arms(rng, count=3))


def test_a_store_counts_what_the_bandit_alone_would(place, monkeypatch):
    """The same choices and rewards, noise of 0: the same estimates. Late and deferred rewards count; cancelled ones and
    people beyond their limit do not."""
    monkeypatch.setattr("tacit.privacy.noise.Secure.integers", lambda self, n, size, cells: np.zeros((n, size), int))
    rng = np.random.default_rng(1)
    got = []
    with place.open(glm(earnings=Earnings(0.3, 8.0, 4), max_rounds_per_person=1), on_limit="serve") as stored:
        for i in range(10):
            choice = stored.choose(arms(rng), person=i % 9, deferred=i == 2)
            if i == 2:
                stored.activate(choice)
            reward = None if i == 3 else float(rng.random())
            stored.observe(choice, reward)
            if i != 3 and i != 9:  # cancelled; beyond the limit
                got.append(reward)
        settle(stored)
        found = stored.earned
    assert found.average.value == pytest.approx(np.mean(got), abs=1e-3)


def test_what_is_earned_is_right_at_the_first_release(place):
    """Clicks come by and by, some of them late, and silence is 0. In 0.6.0 a click counted at once and silence later,
    and the first estimate was 1. An estimate that is off by more than 2.43 half widths of its interval of level .9,
    which is 4 standard deviations, fails: one in 16 000 does by chance."""
    rng, clock, hold, count, truth = np.random.default_rng(5), Clock(), 3600.0, 300, 0.17
    late = 0
    with place.open(glm(earnings=Earnings(0.3), first=count, budget=Budget(8.0, 1e-5)), clock=clock, hold=hold,
                    missing_as=0.0) as stored:  # fmt: skip
        coming = []
        for _ in range(count):
            choice = stored.choose(arms(rng))
            if rng.random() < truth / (1 - np.exp(-1.5)):  # so that `truth` of all choices have a click in time
                coming.append((clock.now + rng.exponential(hold / 1.5), choice.id))
            clock.now += 20.0
            for at, one in [found for found in coming if found[0] <= clock.now]:
                late += not stored.observe(one, 1.0)
                coming.remove((at, one))
            if clock.now % 400 == 0:
                stored.tend()
                assert stored.earned is None
        for at, one in sorted(coming):
            clock.now = max(clock.now, at)
            late += not stored.observe(one, 1.0)
        settle(stored)
        assert stored.version == 1 and late > 3
        average = stored.earned.average
    half = (average.high - average.low) / 2
    assert half < 0.1 and abs(average.value - truth) < 2.43 * half


def test_rows_of_a_log_count_in_no_estimate(place, monkeypatch):
    monkeypatch.setattr("tacit.privacy.noise.Secure.integers", lambda self, n, size, cells: np.zeros((n, size), int))
    rng = np.random.default_rng(6)
    with place.open(glm(earnings=GIVEN)) as stored:
        stored.learn_log({"x0": [0.1] * 5, "x1": [0.2] * 5, "x2": [0.3] * 5, "reward": [0.0] * 5}, log="before")
        for _ in range(5):
            stored.observe(stored.choose(arms(rng)), 1.0)
        settle(stored)
        assert stored.version == 1 and stored.earned.average.value == pytest.approx(1.0, abs=1e-3)


def test_what_waits_has_its_weight_sealed_with_it_in_rows_of_one_size(place):
    rng = np.random.default_rng(2)
    with place.open(glm(earnings=GIVEN)) as stored:
        for _ in range(5):
            stored.choose(arms(rng))
    rows = sqlite3.connect(place.where).execute("SELECT sealed FROM waiting").fetchall()
    assert len({len(sealed) for (sealed,) in rows}) == 1
    with place.open(glm(earnings=GIVEN)) as stored:
        assert stored.algorithm.plan.row == 3 + 2


def test_after_a_recovery_they_go_on_from_what_was_released(place):
    rng = np.random.default_rng(3)
    with place.open(glm(earnings=GIVEN)) as stored:
        play(stored, rng, 80)
        before = stored.earned
    assert recover(glm(earnings=GIVEN), place.where, keys=place.keys) == 2
    with place.open(glm(earnings=GIVEN), clock=Clock()) as stored:
        after = stored.earned
        assert after.average.value == pytest.approx(before.average.value)
        assert after.average.high == pytest.approx(before.average.high)
        assert stored.history[0].earned == after


def test_a_stored_propensity_has_its_error(place):
    rng = np.random.default_rng(4)
    with place.open(glm(dim=4)) as stored:
        for i in range(10):
            stored.observe(stored.choose(arms(rng, 6, 4)), float(i % 2))
        settle(stored)
        offered, posterior = arms(rng, 6, 4), stored._versions.fold.estimate.arrays
        posterior.theta[:], posterior.spread[:] = 0.0, 0.3  # explores in all four directions, whatever the noise was
        first = stored.choose(offered, request="a", propensity=True)
        again = stored.choose(offered, request="a")
        assert (again.propensity, again.propensity_error) == (first.propensity, first.propensity_error)
        exact = stored.choose(offered[:2], propensity=True)
        assert first.propensity_error > 0 and exact.propensity_error == 0  # many directions, and one


def test_answers_of_earlier_versions_can_be_read():
    whole = Answer(b"t" * 16, 3, 1, "ü", 0.25, 0.001).packed()
    assert Answer.unpacked(whole) == Answer(b"t" * 16, 3, 1, "ü", 0.25, 0.001) and len(whole) == ANSWER.size
    found = Answer.unpacked(whole[: -NUMBER.size])
    assert found.propensity == 0.25 and math.isnan(found.error)
    assert Answer.unpacked(whole[: -2 * NUMBER.size]).propensity is None
