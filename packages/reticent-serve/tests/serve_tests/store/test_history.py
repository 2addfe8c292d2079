"""What a bandit on a database believed at each release, and what it would offer now: from committed rows alone."""

import numpy as np
import pytest

from serve_tests.store.places import Place, arms, glm, linear, play, table

MADE = {"glm": glm, "linear": linear}


@pytest.fixture(params=list(MADE))
def opened(request, folder):
    def one():
        return Place(str(folder / "bandit.db"), None).open(MADE[request.param]())

    return one


def test_history_is_the_same_after_a_restart_and_its_last_entry_is_what_is_served(opened):
    with opened() as stored:
        assert len(stored.history) == 1 and stored.history[0].choices == 0
        play(stored, np.random.default_rng(0), 60)
        found, estimator = stored.history, stored._served.estimator
        assert len(found) == stored.version + 1 >= 4
        assert [past.choices for past in found[:3]] == [0, 10, 20]  # as the public schedule says
        served, _ = estimator.algorithm.model.beliefs(
            estimator.estimate.arrays, np.eye(3), 0.9
        )  # the middle along each feature
        assert np.array_equal(found[-1].estimate, np.clip(served, -1, 1))
        assert all((past.low <= past.estimate).all() and (past.estimate <= past.high).all() for past in found)
    with opened() as stored:
        assert repr(stored.history) == repr(found)


def test_offers_are_what_people_with_these_arms_get(opened):
    """4000 picks differ from a simulated probability by more than 0.05 less than once in 10^5 runs."""
    with opened() as stored:
        rng = np.random.default_rng(1)
        mine = arms(rng)
        assert np.allclose(stored.offers(mine).probability.sum(), 1.0)
        play(stored, rng, 60)
        found = stored.offers({str(i): row for i, row in enumerate(mine)})
        estimator = stored._served.estimator
        picks = estimator.algorithm.pick(estimator.estimate, np.repeat(mine[None], 4000, axis=0), rng)
        assert np.abs(np.bincount(picks, minlength=4) / 4000 - found.probability).max() < 0.05
        assert (found.low <= found.mean).all() and (found.mean <= found.high).all()


def test_offers_change_nothing_and_draw_nothing(opened):
    with opened() as stored:
        rng = np.random.default_rng(2)
        play(stored, rng, 30)
        mine, policy = arms(rng), stored._curator.book._policy

        def state():
            tables = ("bandit", "choice", "waiting", "written", "open_step", "drawn", "leaf", "event")
            rows = [table(stored, f"SELECT * FROM {name}") for name in tables]
            return repr((rows, stored._served.estimator.estimate, policy.bit_generator.state))

        def refuse(*_):
            raise AssertionError("drawn")

        assert stored.choices == 30
        before = state()
        for name in ("rows", "integers"):
            setattr(stored._sources.source, name, refuse)
        found = stored.offers(mine)
        assert repr(stored.offers(mine)) == repr(found) and state() == before
