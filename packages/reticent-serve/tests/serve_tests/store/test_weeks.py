"""How often a person teaches, on a database: rounds count when they enter, by week, for all workers and restarts."""

import itertools
import sys

import numpy as np
import pytest

from reticent.algorithms.schedules import Weeks
from reticent.kernels.rounds import next_boundary
from reticent_serve.holders.limits import WEEK
from serve_tests.store.places import Clock, arms, contribution, linear, restored, settle, table, total
from serve_tests.store.processes import at_once

ARM, NOBODY = [[1.0, 0.0, 0.0]], [[0.0, 0.0, 0.0]]


def weekly(**options):
    return linear(**{"first": 4, "growth": 1.001, "rounds": 2, "per": 8} | options)


def visit(stored, person, times=1):
    for _ in range(times):
        stored.observe(stored.choose(ARM, person=person), 1.0)
    settle(stored)


def pass_time(stored, choices, person="visitor"):
    """So many people come who teach nothing."""
    stored.choose_group([stored.prepare(NOBODY, person=person) for _ in range(choices)])
    settle(stored)


def test_weeks_are_counted_by_the_step_of_a_choices_number(place):
    """Chosen in one moment, they enter two weeks, whenever their rewards came; without one a round is not used."""
    one, clock = contribution(weekly(), np.array(ARM[0]), 1.0), Clock()
    with place.open(weekly(), clock=clock) as stored:
        choices = [stored.choose(ARM, person="ada") for _ in range(15)]
        for i in (1, 2, 3, 14, 9, 10):
            clock.now += 1.0
            stored.observe(choices[i], 1.0)
        settle(stored)
        assert np.array_equal(total(stored), 4 * one) and stored.version == 3
        assert [rounds for (rounds,) in table(stored, "SELECT rounds FROM person")] == [2, 2]


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
        assert len({digest[: WEEK.size] for digest in digests}) == 2
        assert len({digest[WEEK.size :] for digest in digests}) == len(
            digests
        )  # nothing tells that two are of one person


def test_a_restored_bandit_counts_weeks_anew(place):
    with place.open(weekly()) as stored:
        visit(stored, "ada")
        one, over = stored.privacy.epsilon, stored.privacy.over
    restored(place, weekly())
    with place.open(weekly()) as stored:
        before = total(stored)
        visit(stored, "ada", 3)
        assert np.array_equal(total(stored) - before, 2 * contribution(weekly(), np.array(ARM[0]), 1.0))
        assert stored.privacy.epsilon == one and stored.privacy.over == over and over
        assert "one person in one week of 8 choices or more" in stored.privacy.unit


def test_requests_and_entries_ask_for_weeks_at_once(on_sqlite):
    """Two threads of a worker, whose steps differ: each gets its own week, or people would be counted in another."""
    with on_sqlite.open(weekly()) as stored:
        schedule, wrong, usual = stored.one_pass.plan.schedule, [], sys.getswitchinterval()
        expected = [Weeks(schedule, 8).of(step) for step in range(60)]

        def asks(steps):
            wrong.extend(step for step in steps if stored._people._week(step) != expected[step])

        sys.setswitchinterval(1e-6)
        try:
            at_once(*(lambda n=n: asks(list(range(n, 60, 7)) * 200) for n in range(4)))
        finally:
            sys.setswitchinterval(usual)
        assert not wrong


class Reference:
    """Who teaches, slowly: choices by number, each with person and reward; and counts by (person, week)."""

    def __init__(self, most, week):
        self.most, self.week, self.rows, self.counts, self.entered = most, week, [], {}, 0
        schedule = weekly().one_pass(exact=True).plan.schedule
        self.ends = list(itertools.accumulate(range(200), lambda end, _: int(next_boundary(end, *schedule)), initial=0))
        self.weeks = Weeks(schedule, week or 8)

    def once_more(self, person, week):
        had = self.counts.get((person, week), 0)
        self.counts[person, week] = min(self.most, had + 1)
        return had < self.most

    def enter(self, upto):
        """What these add: (features, reward)."""
        out = []
        for number in range(self.entered + 1, upto + 1):
            person, x, reward = self.rows[number - 1]
            step = next(i for i, end in enumerate(self.ends[1:]) if number <= end)
            week = None if self.week is None else self.weeks.of(step)
            if reward is not None and self.once_more(person, week):
                out.append((x, reward))
        self.entered = upto
        return out


@pytest.mark.parametrize("week", [None, 8])
def test_nobody_teaches_more_often_than_the_limit(place, week):
    """A random schedule of choices, rewards, waiting and restarts: the exact sums are those of a slow reference."""
    for seed in range(1 if "://" in place.where else 5):
        check_schedule(place, week, seed)


def check_schedule(place, week, seed):
    def bandit():
        return linear(first=4, growth=1.001, rounds=2, per=week)

    rng, clock, reference, waiting, expected = np.random.default_rng(seed), Clock(), Reference(2, week), [], 0
    for _ in range(6):
        with place.open(bandit(), name=f"b{seed}", clock=clock) as stored:
            for _ in range(12):
                act = rng.random()
                if act < 0.6:
                    given, person = arms(rng), rng.choice(["ada", "bob", "eve"], p=[0.7, 0.2, 0.1])
                    choice = stored.choose(given, person=person)
                    reference.rows.append([person, given[choice.index], None])
                    waiting.append((choice, len(reference.rows)))
                elif act < 0.9 and waiting:
                    choice, number = waiting.pop(rng.integers(len(waiting)))
                    said = rng.choice([0.5, None], p=[0.8, 0.2])  # who cancels uses no round
                    if stored.observe(choice, said):
                        reference.rows[number - 1][2] = said
                else:
                    clock.now += rng.uniform(0.0, 20.0)
                    stored.tend()
                    for x, reward in reference.enter(stored.entered):
                        expected = expected + contribution(bandit(), x, reward)
            assert stored.choices == len(reference.rows) and (total(stored) == expected).all()
    assert max(reference.counts.values()) == 2 and np.any(expected)
