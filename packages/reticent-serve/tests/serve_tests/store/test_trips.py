"""Trips to PostgreSQL: a group of choices, or of rewards, is one. And a reward that is sent again is as much work."""

import os

import numpy as np
import pytest

from serve_tests.store.places import arms, contribution, linear, settle, table, total
from tools.bench.network import Network

SIZE = 8


@pytest.fixture
def network(on_postgres):
    made = Network(on_postgres.where, 0.0)
    yield made
    made.close()


def trips(network, work):
    before = network.trips
    return work(), network.trips - before


@pytest.mark.parametrize("most", [None, 2])
def test_a_group_of_choices_is_one_trip_and_one_of_rewards_too(on_postgres, network, most):
    """Also where people are named. The first group takes its numbers before."""
    with on_postgres._replace(where=network.address).open(linear(first=500, rounds=most)) as stored:
        named = [{} if most is None else {"person": i % 5} for i in range(SIZE)]
        stored.choose(np.eye(3), **named[0])
        groups = [[stored.prepare(np.eye(3), **one) for one in named] for _ in range(4)]
        asked = [
            trips(network, lambda i=i: stored.choose_group(groups[i], lambda: [*groups, []][i + 1])) for i in range(4)
        ]
        assert [count for _, count in asked] == [2, 1, 1, 1]
        assert stored.choices == 1 + 4 * SIZE and table(stored, "SELECT count(*) FROM waiting") == [(1 + 4 * SIZE,)]
        reports = [stored.report(one, 1.0) for one in [one for found, _ in asked for one in found]]
        done, count = trips(network, lambda: stored.write_group(reports))
        assert count == 1 and done == [True] * len(reports)
        settle(stored)
        assert stored.entered == stored.choices


def test_numbers_that_were_taken_for_others_than_come_enter_as_nothing(on_postgres):
    rng, bandit = np.random.default_rng(0), linear()
    with on_postgres.open(linear()) as stored:
        first, second, given = arms(rng, count=1), arms(rng, count=1), stored.prepare(np.eye(3))
        (one,) = stored.choose_group([stored.prepare(first)], lambda: [given, given])
        (two,) = stored.choose_group([stored.prepare(second)])
        assert [stored._store.tickets.read(choice.id).number for choice in (one, two)] == [1, 3]
        stored.write_group([stored.report(choice, 0.5) for choice in (one, two)])
        settle(stored)
        assert stored.entered == 3
        assert np.array_equal(total(stored), sum(contribution(bandit, x[0], 0.5) for x in (first, second)))


def test_a_release_between_numbers_and_their_rows_is_no_rollback(on_postgres):
    """What was taken ahead is older than what is known when it is used."""
    with on_postgres.open(linear()) as stored:
        groups = [[stored.prepare(np.eye(3)) for _ in range(SIZE)] for _ in range(3)]
        for i, group in enumerate(groups):
            stored.choose_group(group, lambda i=i: [*groups, []][i + 1])
            settle(stored)
        assert stored.version == 2 and stored.choices == 3 * SIZE and stored.entered == 3 * SIZE


def test_a_request_that_has_an_answer_takes_no_number_on_the_way(on_postgres):
    with on_postgres.open(linear()) as stored:
        before = stored.choose(np.eye(3), request="a")
        groups = [[stored.prepare(np.eye(3), request=name) for name in names] for names in ("bc", "aed")]
        stored.choose_group(groups[0], lambda: groups[1])
        again, *_ = stored.choose_group(groups[1])
        assert again.id == before.id and stored.choices == 5


def test_a_reward_that_is_sent_again_is_written_to_the_disk_like_the_first(place):
    """Else its answer comes sooner, by the time that a disk takes."""

    def at(stored):
        if stored._database.several_hosts:
            return table(stored, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")[0][0]
        return os.stat(f"{place.where}-wal").st_size

    with place.open(linear()) as stored:
        choice = stored.choose(np.eye(3))
        for reward in (1.0, 0.5, None):
            before = at(stored)
            stored.observe(choice, reward)
            assert at(stored) > before
        assert table(stored, "SELECT count(*) FROM written") == [(1,)]
        assert table(stored, "SELECT count(*) FROM event WHERE bandit = ''") == [(0,)]
