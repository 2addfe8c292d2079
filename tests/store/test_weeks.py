"""A person's rounds by the week, on a database: the counts are those of a bandit in memory, for all
workers and after a restart."""

import numpy as np
import pytest
from tacit.holders.people import WEEK

from tacit import recover
from tests.store.places import contribution, glm, linear, table, total

ARM = [[1.0, 0.0, 0.0]]
NOBODY = [[0.0, 0.0, 0.0]]


def weekly(**options):
    return linear(**{"first": 4, "growth": 1.001, "max_rounds_per_person": 2, "week": 8} | options)


def visit(stored, person, arms=ARM):
    stored.observe(stored.choose(arms, person=person), 1.0)


def pass_time(stored, choices):
    for _ in range(choices):
        stored.choose(NOBODY)
        stored.tend()


def test_each_week_has_its_own_limit_across_a_restart(place):
    one = contribution(weekly(), np.array(ARM[0]), 1.0)
    with place.open(weekly()) as stored:
        for _ in range(3):
            visit(stored, "ada")
    with place.open(weekly()) as stored:
        visit(stored, "ada")
        visit(stored, "bob")
        assert np.array_equal(total(stored), 3 * one)  # two of ada, one of bob
        pass_time(stored, 4)  # the second week begins, and lasts for seven choices more
        late = stored.choose(ARM, person="ada")
        for _ in range(3):
            visit(stored, "ada")
        stored.observe(late, 1.0)
        assert np.array_equal(total(stored), 5 * one)
        assert "one person in one week of 8 choices or more" in stored.privacy.unit and stored.privacy.over


def test_weeks_are_counted_by_the_step_that_an_answer_joins(place):
    """Chosen in the first week and answered in the second, with others: it is one of the second's."""
    one = contribution(weekly(), np.array(ARM[0]), 1.0)
    with place.open(weekly()) as stored:
        waiting = [stored.choose(ARM, person="ada") for _ in range(3)]
        pass_time(stored, 9)
        stored.observe_group([stored.report(choice, 1.0) for choice in waiting])
        assert np.array_equal(total(stored), 2 * one)


def test_counts_of_weeks_that_are_over_are_deleted(place):
    with place.open(weekly()) as stored:
        kept = []
        for week in range(5):
            for person in ("ada", "bob", f"only {week}"):
                visit(stored, person)
            pass_time(stored, 8)
            kept.append(len(table(stored, "SELECT digest FROM person")))
        assert kept[-1] <= 6 and kept[-1] == kept[-2]
        digests = [bytes(digest) for (digest,) in table(stored, "SELECT digest FROM person")]
        assert all(len(digest) == WEEK.size + 16 for digest in digests)


def test_what_the_bandit_says_of_people_beyond_the_limit_is_the_default(on_sqlite):
    with on_sqlite.open(glm(max_rounds_per_person=1, on_limit="serve")) as stored:
        for _ in range(2):
            stored.choose(np.eye(3), person="ada")
    with pytest.raises(ValueError, match="which refuses nobody, got refuse"):
        on_sqlite.open(glm(max_rounds_per_person=1, week=100), on_limit="refuse")


def test_deferred_choices_count_when_they_are_activated_and_rows_do_not_tell_who_is_named(place):
    one = contribution(weekly(max_rounds_per_person=1), np.array(ARM[0]), 1.0)
    with place.open(weekly(max_rounds_per_person=1)) as stored:
        shown, waiting = (stored.choose(ARM, person="ada", deferred=True) for _ in range(2))
        for choice in (shown, waiting):
            stored.observe(choice, 1.0)
        assert not total(stored).any()
        stored.choose(ARM)
        stored.choose(ARM, person="bob")
        assert len(table(stored, "SELECT DISTINCT length(sealed) FROM waiting")) == 1
        for choice in (shown, waiting):
            stored.activate(choice)
        assert np.array_equal(total(stored), one)  # the second is one too many
        stored.erase("bob")
        assert len(table(stored, "SELECT ticket FROM waiting")) == 1


def test_a_recovered_bandit_counts_weeks_anew_and_says_what_that_costs(place):
    with place.open(weekly()) as stored:
        visit(stored, "ada")
        one, over = stored.privacy.epsilon, stored.privacy.over
    assert recover(weekly(), place.where, keys=place.keys) == 2
    with place.open(weekly()) as stored:
        before = total(stored)
        for _ in range(3):
            visit(stored, "ada")
        assert np.array_equal(total(stored) - before, 2 * contribution(weekly(), np.array(ARM[0]), 1.0))
        assert stored.privacy.epsilon > 1.3 * one and stored.privacy.over[4] > 1.3 * over[4]


def test_counts_of_two_weeks_do_not_tell_that_they_are_one_persons(place):
    with place.open(weekly()) as stored:
        visit(stored, "ada")
        pass_time(stored, 8)
        visit(stored, "ada")
        digests = [bytes(digest) for (digest,) in table(stored, "SELECT digest FROM person")]
        weeks = [digest[WEEK.size :] for digest in digests if len(digest) > WEEK.size + 15]
        assert len(weeks) == len(set(weeks)) == 2
