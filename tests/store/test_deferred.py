"""Choices of which it is known only later whether they were shown: they count once, if at all."""

import itertools
import struct

import numpy as np
import pytest

from tacit.errors import UnknownChoice
from tests.store.places import HOLD, arms, contribution, glm, linear, settle, table, total
from tests.store.test_together import at_once


def test_a_reward_counts_once_it_is_known_that_the_choice_was_shown(place):
    """In whichever order both come, and however often: the first reward counts, if the choice was shown."""
    rng, bandit = np.random.default_rng(0), linear()
    with place.open(linear()) as stored:
        orders = [o for n in (1, 2, 3) for o in itertools.product(("activate", "reward"), repeat=n)]
        expected = np.zeros_like(total(stored))
        for order in orders:
            features = arms(rng)
            choice = stored.choose(features, deferred=True)
            for i, what in enumerate(order):
                assert stored.activate(choice) if what == "activate" else stored.observe(choice, (1 + i) / 4)
            if {"activate", "reward"} <= set(order):
                expected += contribution(bandit, features[choice.index], (1 + order.index("reward")) / 4)
        settle(stored)
        assert np.array_equal(total(stored), expected) and expected.any()
        assert stored.entered == len(orders) and stored.version > 0  # shown or not, they are in the schedule


def test_what_is_never_shown_or_cancelled_teaches_nothing(place):
    rng = np.random.default_rng(1)
    with place.open(linear(pending=16), missing_as=0.5) as stored:
        never, cancelled, late = (stored.choose(arms(rng), deferred=True) for _ in range(3))
        stored.observe(never, 1.0)
        stored.observe(cancelled, None)
        stored.activate(cancelled)
        stored.observe(cancelled, 1.0)
        for unknown in ("", "00" * 24):
            with pytest.raises(UnknownChoice):
                stored.activate(unknown)
        for _ in range(40):
            stored.choose(arms(rng), deferred=True)
        settle(stored)
        assert not stored.observe(late, 1.0) and not stored.activate(late)
        settle(stored)
        assert stored.entered == 43 and not total(stored).any()
        for name in ("waiting", "written"):
            assert table(stored, f"SELECT count(*) FROM {name}") == [(0,)]


def test_what_is_not_deferred_need_not_be_shown(place):
    with place.open(linear()) as stored:
        usual, other = stored.choose(np.eye(3)), stored.choose(np.eye(3))
        stored.observe(usual, 0.5)
        assert stored.activate(usual) and stored.activate(other)  # nothing happens
        settle(stored)
        assert np.array_equal(total(stored), contribution(linear(), np.eye(3)[usual.index], 0.5))


def test_what_was_answered_is_not_cancelled_later(place):
    """As with a choice that is not deferred: the first that is said counts, and nothing tells which it was."""
    with place.open(linear()) as stored:
        for deferred in (False, True):
            before, choice = total(stored), stored.choose(np.eye(3), deferred=deferred)
            for reward in (1.0, None, 0.5):
                assert stored.observe(choice, reward)
            stored.activate(choice)
            settle(stored)
            expected = before + contribution(linear(), np.eye(3)[choice.index], 1.0)
            assert np.array_equal(total(stored), expected), deferred


def test_silence_is_of_those_who_saw_it(place):
    rng, bandit = np.random.default_rng(2), linear()
    with place.open(linear(), missing_as=0.25) as stored:
        given = [arms(rng) for _ in range(3)]
        choices = [stored.choose(one, deferred=True) for one in given]
        stored.activate(choices[0])
        settle(stored)
        expected = contribution(bandit, given[0][choices[0].index], 0.25)
        assert np.array_equal(total(stored), expected)
        assert not stored.activate(choices[1])  # its deadline has passed
        settle(stored)
        assert np.array_equal(total(stored), expected)


@pytest.mark.parametrize("on_limit", ["refuse", "serve"])
def test_a_person_is_counted_with_what_teaches(place, on_limit):
    """Where others are refused, a round counts when it is chosen; else when it enters with a reward."""
    rounds = {"refuse": 3, "serve": 1}[on_limit]
    with place.open(linear(max_rounds_per_person=rounds, require_person=False), on_limit=on_limit) as stored:
        never, cancelled, counts = (stored.choose(np.eye(3), person="ada", deferred=True) for _ in range(3))
        stored.observe(never, 1.0)
        stored.observe(cancelled, None)
        stored.activate(cancelled)
        stored.activate(counts)
        stored.observe(counts, 1.0)
        expected = contribution(linear(), np.eye(3)[counts.index], 1.0)
        settle(stored)
        assert np.array_equal(total(stored), expected)
        if on_limit == "serve":
            again = stored.choose(np.eye(3), person="ada")
            stored.observe(again, 1.0)
            settle(stored)
            assert np.array_equal(total(stored), expected)
        assert table(stored, "SELECT rounds FROM person") == [(rounds,)]


def test_two_workers_at_once(on_postgres):
    """Activations and rewards of the same choices, in any order: each counts once."""
    rng, bandit, expected = np.random.default_rng(3), linear(), 0
    with on_postgres.open(linear()) as one, on_postgres.open(linear()) as two:
        for _ in range(25):
            given = [arms(rng) for _ in range(4)]
            choices = one.choose_group([one.prepare(features, deferred=True) for features in given])
            shown = [one.activation(choice) for choice in choices]
            reports = [one.report(choice, 0.5) for choice in choices]
            at_once(
                lambda shown=shown: one.write_group(shown[::-1]),
                lambda both=[*reports, *shown]: two.write_group(both),
            )
            pairs = zip(choices, given, strict=True)
            expected = expected + sum(contribution(bandit, x[choice.index], 0.5) for choice, x in pairs)
        one._clock.now = two._clock.now = one._clock.now + HOLD + one._database.skew + 1.0
        at_once(one.tend, two.tend)
        one.tend()
        assert one.entered == 100 and np.array_equal(total(one), expected)


def test_rows_have_one_size_whatever_came(place):
    """Deferred or not, shown or not, cancelled or not, with a person or without."""
    rng = np.random.default_rng(4)
    with place.open(glm(max_rounds_per_person=2, require_person=False), on_limit="serve") as stored:
        people = ("ada", None)
        choices = [stored.choose(arms(rng), deferred=i % 2 == 0, person=people[i % 4 // 2]) for i in range(8)]
        for i, choice in enumerate(choices[:6]):
            stored.observe(choice, None if i == 3 else 1.0)
            stored.activate(choice)
        for name in ("waiting", "written", "choice"):
            assert len(table(stored, f"SELECT DISTINCT length(sealed) FROM {name}")) == 1
            found = table(stored, f"SELECT sealed FROM {name}")
            for number in (np.float64(1.0).tobytes(), struct.pack(">d", 1.0)):
                assert not any(number in bytes(sealed) for (sealed,) in found)
