"""Choices and rewards: one answer and one contribution for each request, whatever is sent again."""

import copy
import math
import pickle

import numpy as np
import pytest

from reticent import Bandit, Budget, JointGLM, LinUCB, Simulated
from reticent.errors import BadState, HorizonReached, UnknownChoice
from reticent_serve import Stored
from serve_tests.store.places import arms, contribution, glm, linear, play, settle, table, total


def test_a_request_that_is_sent_again_has_the_same_answer(place, rng):
    with place.open(glm()) as stored:
        first = stored.choose(arms(rng), request="a")
        for again in (arms(rng), arms(rng, count=2)):
            other = stored.choose(again, request="a")
            assert (other.index, other.id, other.version) == (first.index, first.id, first.version)
        assert stored.choices == 1 and stored.choose(arms(rng), request="a", asker="another key").id != first.id
        assert stored.choose(arms(rng), request="b").id != first.id
        assert stored.choose(arms(rng)).id != stored.choose(arms(rng)).id and stored.choices == 5
    with place.open(glm()) as stored:
        assert stored.choose(arms(rng), request="a").id == first.id and stored.choices == 5


def test_names_masks_and_propensities(place):
    with place.open(glm()) as stored:
        given = {"left": [1.0, 0, 0], "right": [0, 1.0, 0], "neither ü": [0, 0, 1.0]}
        choice = stored.choose(given, request="a", available=[False, False, True])
        assert (choice.index, choice.name, choice.propensity) == (2, "neither ü", 1.0)
        again = stored.choose(given, request="a")
        assert again == choice and again.name == "neither ü"
        with pytest.raises(BadState):
            _ = again.propensity  # it was not asked for with the first
        for kept in (None, "ü" * 127):
            named = {kept: [1.0, 0, 0], "b": [0, 1.0, 0]} if kept else np.eye(3)[:2]
            first = stored.choose(named, request=f"p{kept}", propensity=True)
            again = stored.choose(named, request=f"p{kept}")
            assert (again.id, again.name, again.propensity) == (first.id, first.name, 0.5) and first.propensity == 0.5
        with pytest.raises(ValueError):
            stored.choose({"x" * 256: [1.0, 0, 0]})


def test_each_reward_counts_once(place):
    rng, bandit = np.random.default_rng(1), linear()
    with place.open(linear()) as stored:
        expected = 0
        for i in range(30):
            features = arms(rng)
            choice = stored.choose(features, request=f"{i}")
            said = [(i % 5) / 5] * (1 + i % 3) + [1.0, None]  # the first one counts, and nothing tells
            if i % 2:  # in one group
                assert all(stored.write_group([stored.report(choice, one) for one in said]))
            assert all(stored.observe(choice.id if one is None else choice, one) for one in said)
            expected = expected + contribution(bandit, features[choice.index], (i % 5) / 5)
            settle(stored)
        assert stored.version == 3 and np.array_equal(total(stored), expected)
        assert table(stored, "SELECT count(*) FROM waiting") == table(stored, "SELECT count(*) FROM written") == [(0,)]


def test_cancelled_and_expired_choices_add_nothing(place, rng):
    """A cancelled one is answered like any other. That a reward was late is told; what it was leaves no row."""
    with place.open(linear(), pending=16) as stored:
        cancelled, late = stored.choose(arms(rng)), stored.choose(arms(rng), request="a")
        assert stored.observe(cancelled, None) and stored.observe(cancelled, 1.0)
        for _ in range(40):
            stored.choose(arms(rng))
        assert stored.observe(cancelled, 1.0)  # forty later choices: its deadline is a time
        settle(stored)
        assert not stored.observe(cancelled, 1.0) and not stored.observe(late, 1.0) and not stored.observe(late, None)
        assert stored.entered == 42 and not total(stored).any()
        assert table(stored, "SELECT min(number) FROM choice") == [(26,)]  # 42 - 16; two choices share a key
        assert table(stored, "SELECT count(*) FROM written") == [(0,)]
        assert stored.choose(arms(rng), request="a").id != late.id  # no id is given out again
        assert not stored.observe(late, 1.0)  # its key is gone, too
        settle(stored)
        assert not total(stored).any()


def test_ids_are_opaque(place):
    with place.open(glm()) as stored, place.open(glm(), name="other") if "://" in place.where else stored:
        choice = stored.choose(np.eye(3))
        for wrong in (choice.index, 0, None, choice.id.encode()):
            with pytest.raises(ValueError):
                stored.observe(wrong, 1.0)
        for unknown in ("", "1", "00" * 24, choice.id[:-1] + ("0" if choice.id[-1] != "0" else "1")):
            with pytest.raises(UnknownChoice):
                stored.observe(unknown, 1.0)
        with pytest.raises(ValueError, match="outside"):
            stored.observe(choice, 1.5)
        with pytest.raises(ValueError):
            stored.observe(choice, float("nan"))
        for copied in (pickle.dumps, copy.copy):
            with pytest.raises(TypeError):
                copied(choice)
            with pytest.raises(TypeError):
                copied(stored)


def test_a_bad_request_is_refused_alone_and_changes_nothing(place):
    with place.open(glm()) as stored:
        for bad in (np.full((2, 3), np.nan), np.full((2, 3), 2.0), np.eye(2), [[1e999, 0, 0]]):
            with pytest.raises(ValueError):
                stored.choose(bad)
        assert stored.choices == 0
        answers = stored.choose_group([stored.prepare(np.eye(3), request=name) for name in "aba"])
        assert answers[0].id == answers[2].id != answers[1].id and stored.choices == 2


def test_numbers_are_in_the_order_of_requests(place):
    """Also within a group, some of whose requests have an answer: groups form by chance, and steps follow numbers."""
    with place.open(glm()) as stored:
        for names in ("a", "bcb", "cad", "ef"):
            answers = stored.choose_group([stored.prepare(np.eye(3), request=name) for name in names])
            numbers = dict(zip(names, (stored._store.tickets.read(one).number for one in answers), strict=True))
            assert all(numbers[name] == 1 + "abcdef".index(name) for name in names)


def test_the_horizon_ends_choices_and_nothing_else(on_sqlite):
    with on_sqlite.open(linear(horizon=20)) as stored:
        last = play(stored, np.random.default_rng(3), 20)[-1]
        with pytest.raises(HorizonReached):
            stored.choose(np.eye(3), request="more")
        assert stored.choose(np.eye(3), request="r19").id == last.id and stored.choices == 20


def test_other_settings_are_refused(place):
    place.open(glm()).close()
    for other in (glm(first=11), glm(budget=Budget(0.9, 1e-5)), glm(radius=2.0), glm(features=4), linear()):
        with pytest.raises(BadState, match="settings"):
            place.open(other)
    place.open(glm(), pending=50).close()


WRONG = (
    *({"name": "../other"}, {"pending": 0}),
    *({"delay": -1.0}, {"delay": 1e-320}),  # of which no second is a finite multiple
)
WRONG_REWARD = ({"default": 2.0}, {"default": math.nan}, {"window": math.inf}, {"window": 10})


def test_what_a_store_cannot_hold_and_wrong_options_are_refused(on_sqlite):
    endless = Budget(math.inf, 1e-5)
    for other in (LinUCB(dim=3), JointGLM, Bandit(glm(window=None))):
        with pytest.raises(ValueError, match="Expected an algorithm"):
            Stored(other, on_sqlite.where, keys=on_sqlite.keys)
    with pytest.raises(ValueError, match="Expected a finite budget"):
        on_sqlite.open(glm(budget=endless))
    with pytest.raises(ValueError, match="Expected secure noise"):
        on_sqlite.open(glm(), source=Simulated(0))
    for wrong in WRONG_REWARD:
        with pytest.raises(ValueError, match=f"Expected.* {next(iter(wrong))}"):
            on_sqlite.open(linear(), reward=wrong)
    for wrong in WRONG:
        with pytest.raises(ValueError, match=f"Expected.* {next(iter(wrong))}"):
            on_sqlite.open(linear(), **wrong)
