"""Choices of which it is known only later whether they were shown: they count once, if at all."""

import itertools

import numpy as np
import pytest

from tacit.errors import UnknownChoice
from tests.store.places import Clock, arms, contribution, glm, linear, play, table, total
from tests.store.test_together import at_once


def test_a_reward_counts_once_it_is_known_that_the_choice_was_shown(place):
    """In whichever order both come, and however often: the first reward counts, after the first activation."""
    rng, bandit = np.random.default_rng(0), linear()
    with place.open(linear()) as stored:
        orders = [o for n in (2, 3) for o in itertools.product(("activate", "reward"), repeat=n)]
        expected = np.zeros_like(total(stored))
        for order in orders:
            features = arms(rng)
            choice = stored.choose(features, deferred=True)
            came = []
            for what in order:
                if what == "activate":
                    stored.activate(choice)
                else:
                    stored.observe(choice, (1 + len(came)) / 4)
                came.append(what)
                if {"activate", "reward"} <= set(came):
                    first = (1 + came.index("reward")) / 4
                    counted = expected + contribution(bandit, features[choice.index], first)
                else:
                    counted = expected
                assert np.array_equal(total(stored), counted), (order, came)
            expected = counted
            stored.tend()
        assert stored.choices == len(orders) and stored.version > 0  # shown or not, they are in the schedule


def test_what_is_never_shown_or_cancelled_teaches_nothing(place):
    rng = np.random.default_rng(1)
    with place.open(linear(pending=16)) as stored:
        never, cancelled, late, usual = (stored.choose(arms(rng), deferred=i < 3) for i in range(4))
        stored.observe(never, 1.0)
        stored.observe(cancelled, None)
        stored.activate(cancelled)
        stored.observe(cancelled, 1.0)
        stored.activate(usual)  # it was never deferred
        for unknown in ("", "00" * 24):
            with pytest.raises(UnknownChoice):
                stored.activate(unknown)
        for _ in range(16):
            stored.choose(arms(rng))
        stored.observe(late, 1.0)
        stored.activate(late)  # sixteen later choices
        assert not total(stored).any()
        for _ in range(40):
            stored.choose(arms(rng), deferred=True)
            stored.tend()
        assert not total(stored).any()
        assert table(stored, "SELECT count(*) FROM deferred WHERE number < 30") == [(0,)]


def test_what_was_answered_is_not_cancelled_later(place):
    """As with a choice that is not deferred: the first that is said counts, and nothing tells which it was."""
    with place.open(linear()) as stored:
        for deferred in (False, True):
            before, choice = total(stored), stored.choose(np.eye(3), deferred=deferred)
            for reward in (1.0, None, 0.5):
                stored.observe(choice, reward)
            stored.activate(choice)
            expected = before + contribution(linear(), np.eye(3)[choice.index], 1.0)
            assert np.array_equal(total(stored), expected), deferred


def test_silence_is_of_those_who_saw_it(place):
    rng, clock, bandit = np.random.default_rng(2), Clock(), linear()
    with place.open(linear(), missing_as=0.25, after=60.0, rate=100.0, clock=clock) as stored:
        given = [arms(rng) for _ in range(3)]
        choices = [stored.choose(one, deferred=True) for one in given]
        stored.activate(choices[0])
        clock.now += 60.0
        stored.tend()
        expected = contribution(bandit, given[0][choices[0].index], 0.25)
        assert np.array_equal(total(stored), expected)
        stored.activate(choices[1])  # counted from the choice on: silence is over by now
        stored.tend()
        assert np.array_equal(total(stored), expected + contribution(bandit, given[1][choices[1].index], 0.25))


def test_a_person_is_counted_with_the_choice(place):
    with place.open(glm(max_rounds_per_person=1), on_limit="serve") as stored:
        first, second = (stored.choose(np.eye(3), person="ada", deferred=True) for _ in range(2))
        stored.activate(second)
        stored.observe(second, 1.0)
        assert not total(stored).any()
        stored.activate(first)
        stored.observe(first, 1.0)
        assert total(stored).any()


def test_two_workers_at_once(on_postgres):
    """Activations and rewards of the same choices, in any order: each counts once."""
    rng, bandit, expected = np.random.default_rng(3), linear(), 0
    with on_postgres.open(linear()) as one, on_postgres.open(linear()) as two:
        for _ in range(25):
            given = [arms(rng) for _ in range(4)]
            choices = [one.choose(features, deferred=True) for features in given]
            tickets = [one.ticket(choice) for choice in choices]
            reports = [one.report(choice, 0.5) for choice in choices]
            at_once(
                lambda tickets=tickets: one.activate_group(tickets[::-1]),
                lambda reports=reports: two.observe_group(reports),
            )
            pairs = zip(choices, given, strict=True)
            expected = expected + sum(contribution(bandit, x[choice.index], 0.5) for choice, x in pairs)
        assert np.array_equal(total(one), expected)


def test_rows_have_one_size_whatever_came(place):
    rng = np.random.default_rng(4)
    with place.open(glm()) as stored:
        choices = [stored.choose(arms(rng), deferred=True) for _ in range(6)]
        play(stored, rng, 3)
        for choice in choices[:3]:
            stored.observe(choice, 1.0)
        assert len(table(stored, "SELECT DISTINCT length(sealed) FROM deferred")) == 1
        features = table(stored, "SELECT sealed FROM deferred")
        assert not any(np.float64(1.0).tobytes() in bytes(sealed) for (sealed,) in features)
