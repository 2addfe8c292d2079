"""Every choice enters once, in the order of numbers, at its deadline, with what was written of it by then."""

import numpy as np
import pytest

from reticent.errors import Unavailable
from serve_tests.store.places import LASTS, arms, contribution, linear, restored, settle, table, total


def expected(played):
    """The sum of what these (arms, choice, reward) add."""
    return sum(contribution(linear(), given[choice.index], reward) for given, choice, reward in played)


def test_a_reward_enters_at_the_deadline_and_one_after_it_is_late_and_never_counts(place, rng, clock):
    with place.open(linear(), clock=clock) as stored:
        given = arms(rng)
        first, second = stored.choose(given), stored.choose(given)
        clock.now += LASTS
        assert stored.observe(first, 0.5)  # at the last moment
        clock.now += 0.01
        assert not stored.observe(second, 1.0) and not stored.observe(second, None)
        clock.now += stored._database.skew - 0.02
        stored.tend()
        assert stored.entered == 0 and not total(stored).any()
        clock.now += 0.02
        stored.tend()
        assert stored.entered == 2 and not stored.observe(first, 1.0) and not stored.observe(second, 1.0)
        settle(stored)
        assert np.array_equal(total(stored), expected([(given, first, 0.5)]))
        assert table(stored, "SELECT count(*) FROM waiting") == table(stored, "SELECT count(*) FROM written") == [(0,)]


def test_choices_enter_in_the_order_of_their_numbers(place, rng, clock):
    """Also where clocks differ: one that is due waits for those before it."""
    with place.open(linear(), clock=clock) as stored:
        clock.now += 3.0
        stored.observe(stored.choose(arms(rng)), 1.0)
        clock.now -= 3.0
        stored.observe(stored.choose(arms(rng)), 1.0)
        clock.now += LASTS + stored._database.skew + 0.5
        stored.tend()
        assert stored.entered == 0
        clock.now += 3.0
        stored.tend()
        assert stored.entered == 2


@pytest.mark.parametrize("default", [None, 0.25])
def test_what_enters_for_choices_without_a_reward(place, default, rng, clock):
    with place.open(linear(), clock=clock, reward={"default": default}) as stored:
        given = [arms(rng) for _ in range(4)]
        choices = [stored.choose(one) for one in given]
        stored.observe(choices[0], 1.0)
        stored.observe(choices[1], None)  # cancelled
        stored.observe(choices[1], 1.0)
        # choices[2]: silence
        stored.observe(choices[3], 0.5)
        stored.observe(choices[3], None)  # too late to cancel: the first that is said counts
        settle(stored)
        counts = [(0, 1.0), (3, 0.5)]
        counts += [] if default is None else [(2, default)]
        played = [(given[i], choices[i], reward) for i, reward in counts]
        assert stored.entered == 4 and np.array_equal(total(stored), expected(played))


def test_rows_below_what_has_entered_are_refused(on_postgres, rng, clock):
    """A choice whose worker slept could never count: it gets no answer, or another number (test_workers)."""
    with on_postgres.open(linear(), clock=clock) as stored:
        table(stored, "UPDATE open_step SET settled = ?", 1 << 40)
        with pytest.raises(Unavailable):
            stored.choose(arms(rng), request="a")
        for what in ("waiting", "choice"):
            assert table(stored, f"SELECT count(*) FROM {what}") == [(0,)]


def test_a_window_has_to_be_said_once(on_sqlite):
    with pytest.raises(ValueError, match="Reward.window="):
        on_sqlite.open(linear(horizon=3000), reward={"window": None})
    on_sqlite.open(linear(), reward={"window": "7 seconds"}).close()  # with other settings: nothing was made before
    with on_sqlite.open(linear(), reward={"window": None}) as stored:
        assert stored.window == 7.0
    with on_sqlite.open(linear(), reward={"window": "8 seconds"}) as stored:
        assert stored.window == 8.0 and "settings changed for all workers: window" in [
            what for _, what in stored.events
        ]
    restored(on_sqlite, linear())
    with on_sqlite.open(linear(), reward={"window": None}) as stored:
        assert stored.window == 8.0 and stored.events[0][1].startswith("restored: ")
    for wrong in (0.0, -1.0, 7.0, float("nan"), "0 days", "soon"):
        with pytest.raises(ValueError, match="window"):
            on_sqlite.open(linear(), reward={"window": wrong})


def test_when_the_next_release_is_due_is_known_from_its_last_choice_on(place, rng, clock):
    with place.open(linear(), clock=clock, delay=60.0) as stored:
        waits = LASTS + stored._database.skew
        for _ in range(stored.head.boundary - 1):
            stored.choose(arms(rng))
            clock.now += 1.0
        assert stored.due_at is None
        stored.choose(arms(rng))
        due = clock.now + waits + 60.0
        assert stored.due_at == due
        clock.now += 2.0
        for _ in range(stored.head.boundary):  # the next step's last choice comes before the first one is released
            stored.choose(arms(rng))
        assert stored.due_at == due
        clock.now += waits - 1.9
        stored.tend()
        assert stored.due_at == due and stored.version == 0  # it is drawn
        clock.now = due
        stored.tend()
        assert stored.version == 1 and stored.due_at > due


def test_times_may_be_said_in_words(on_sqlite):
    with on_sqlite.open(linear(), reward={"window": "2 hours"}, delay="1 minute") as stored:
        assert stored.window == 7200.0 and stored._shared.now.delay == 60.0
        said = stored.privacy.deadline
        assert said.startswith("each choice enters once, 2 hours after it was made") and said.endswith(
            "without one, as nothing"
        )
    with on_sqlite.open(linear(), reward={"window": "1 day", "default": 0.25}) as stored:
        assert "1 day after it was made" in str(stored.privacy) and stored.privacy.deadline.endswith("as 0.25")
