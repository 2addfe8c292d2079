"""Bandits by fields, and by scores alone, on a database: estimates, built by release, are the same for whoever asks."""

import numpy as np
import pytest

from reticent import Budget
from reticent.features import Category, Number, Schema
from serve_tests.store.places import glm, restored, settle, sums

LITTLE_NOISE = Budget(50.0, 1e-3)
CONTEXT = {"age": Number(0, 100, bins=3), "plan": Category("free", "paid")}
KINDS = {"by fields": {}, "sums of scores": {"radius": 3.0, "model": "scores"}}  # by what is said of the statistic


def bandit(*names, **options):
    schema = Schema(context=CONTEXT, arms="disjoint", actions=names, max_actions=4)
    return glm(**{"features": schema, "first": 5} | options)


def play(stored, count, *, seed=0, together=1):
    """Choices with their rewards, which enter so many at once."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        choice = stored.choose({"age": float(rng.integers(100)), "plan": "free"})
        stored.observe(choice, float(rng.random() < 0.3 + 0.5 * (choice.name == "walk")))
        if (i + 1) % together == 0:
            settle(stored)
    settle(stored)


def alike(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def learnt(stored):
    """Of each place: whether anything is; of scores alone all of it is, or nothing."""
    parts = stored.theta.reshape(4, -1)
    assert "by fields" in stored.privacy.releases[0].statistic or all(part.any() == part.all() for part in parts)
    return [bool(part.any()) for part in parts]


def arrays(stored):
    return [np.copy(part) for part in stored._served.estimator.estimate.arrays]


@pytest.mark.parametrize("together", [1, 9])
@pytest.mark.parametrize("kind", KINDS)
def test_every_worker_has_the_same_estimate_and_history(on_sqlite, kind, together):
    """One that was there when an action came between releases, and followed them, and one that starts now."""
    with on_sqlite.open(bandit("walk", "sleep", **KINDS[kind])) as stored:
        play(stored, 23, together=together)
        assert stored.version > 2 and learnt(stored) == [True, True, False, False]
    with on_sqlite.open(bandit("walk", "sleep", "read", **KINDS[kind])) as stored:
        offered, person = arrays(stored), {"age": 30.0, "plan": "free"}
        if kind == "by fields":  # it is offered at once, by what was released before it came
            assert learnt(stored) == [True, True, True, False]
        play(stored, 30, seed=1, together=together)
        theta, seen, history, told = stored.theta, arrays(stored), stored.history, stored.offers(person)
        assert not alike(seen, offered) and learnt(stored) == [True, True, True, False]
        assert kind in stored.privacy.releases[0].statistic and stored.privacy.private
        assert all(len(step) == stored.one_pass.learnt.contribution.size for step in sums(stored).values())
        assert abs(told.probability.sum() - 1) < 1e-6
        assert (told.low <= told.mean).all() and (told.mean <= told.high).all()
    with on_sqlite.open(bandit("walk", "sleep", "read", **KINDS[kind])) as stored:
        assert np.array_equal(stored.theta, theta) and alike(arrays(stored), seen)
        assert np.array_equal(stored.offers(person).probability, told.probability)
        for one, other in zip(stored.history, history, strict=True):
            assert alike(one, other)


def test_another_window_does_not_change_what_was_shown(on_sqlite):
    """Which estimate a step's people were offered by is told by when they chose: with the window of that time."""
    with on_sqlite.open(bandit("walk", "sleep", budget=LITTLE_NOISE)) as stored:
        play(stored, 30, together=3)
        shown = arrays(stored)
    for window in ("1000 seconds", None):
        with on_sqlite.open(bandit("walk", "sleep", budget=LITTLE_NOISE), reward={"window": window}) as stored:
            assert alike(arrays(stored), shown) and stored.window == 1000.0
            stored._clock.now += 10_000
            play(stored, 8, seed=1, together=3)
            shown = arrays(stored)
    with on_sqlite.open(bandit("walk", "sleep", budget=LITTLE_NOISE), reward={"window": "5 seconds"}) as stored:
        assert alike(arrays(stored), shown) and [age for _, age in stored._shared.now.ages] == [10.0, 1000.0, 5.0]


def test_a_restore_starts_from_what_was_released(place):
    with place.open(bandit("walk", "sleep", budget=LITTLE_NOISE)) as stored:
        play(stored, 40)
        released, before = stored._served.estimator._released.copy(), stored.theta
    restored(place, bandit("walk", "sleep", budget=LITTLE_NOISE))
    with place.open(bandit("walk", "sleep", budget=LITTLE_NOISE)) as stored:
        estimator = stored._served.estimator
        assert stored.version == 0 and np.array_equal(estimator._released, released) and not estimator.estimate.random
        assert estimator.estimate.arrays.folded.tolist() == [0, 1]
        theta = stored.theta
        assert np.dot(theta, before) > 0.8 * np.linalg.norm(theta) * np.linalg.norm(before)
        assert (
            estimator.estimate.arrays.target[:, 0, 0].sum() / estimator.algorithm.plan.features.own[0].weight ** 2 > 20
        )
        play(stored, 20, seed=2)
        assert stored.version > 1 and not np.array_equal(stored.theta, theta)
