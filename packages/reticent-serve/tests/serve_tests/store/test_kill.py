"""kill -9 at random moments of choices, rewards, entries and releases, and at chosen ones: what was acknowledged is
there, once, and sums are those of the run nobody killed."""

import contextlib
import itertools
import os
import random
import signal
import time
import traceback
from typing import NamedTuple

import numpy as np
import pytest

from reticent.core.bandit import warm_up
from reticent.kernels.rounds import next_boundary
from reticent_serve.holders import leaf_rows, rows
from reticent_serve.holders.choosing import Choosing
from reticent_serve.holders.postgres import Postgres
from reticent_serve.holders.seal import place as place_of
from reticent_serve.holders.steps import Steps
from serve_tests.store.places import Clock, arms, contribution, linear, settle, sums, table
from serve_tests.store.processes import KILLED, die, forked

LATE = 2  # a reward comes so many users later
ENOUGH = 150  # users for some steps, where a busy machine lets few live long
SILENT = 0.25  # the reward of those who have none
REAL = {"delay": 0.002, "clock": time.time}


@contextlib.contextmanager
def short_skew():
    """On PostgreSQL choices wait 5 seconds more, for clocks that differ and slow commits: here is one clock."""
    before, Postgres.skew = Postgres.skew, 0.3
    try:
        yield
    finally:
        Postgres.skew = before


def bandit():
    return linear(horizon=200_000, first=5, window="0.05 seconds", default=SILENT)


def user(i):
    """The arms and reward of one user: the same each time it is sent."""
    return arms(np.random.default_rng(i)), (i % 7) / 7


def operation(stored, k, ids, say):
    """The k-th thing that clients do: a choice, then what became of an earlier one. It is said once acknowledged."""
    i, rewarding = divmod(k, 2)
    if not rewarding:
        choice = stored.choose(user(i)[0], request=f"{i}")
        say("choice", k, i, choice.id, choice.index)
        ids[i] = choice.id
    elif i >= LATE:
        j = i - LATE
        say("reward", k, j, ids[j], int(stored.observe(ids[j], user(j)[1])))


def life(place, made, at, ids, end, pipe):
    """A worker: from operation `at` on, with some that were acknowledged before sent again."""

    def say(*words):
        os.write(pipe, (" ".join(map(str, words)) + "\n").encode())

    again = random.Random(at)
    stored, shown = place.open(made(), background=True, **REAL), []

    def show():
        for version in range(len(shown), stored._served.version):
            say("version", -1, version, stored._served._digests[version + 1], 0)  # of all leaves so far
            shown.append(version)

    for k in range(at, end):
        operation(stored, k, ids, say)
        if k > 10 and again.random() < 0.1:
            operation(stored, again.randrange(k // 2) * 2, dict(ids), say)
        show()
    while stored.entered < stored.choices or stored.version < stored.head.step:
        time.sleep(0.01)
    show()
    stored.close()


class Lives(NamedTuple):
    answers: dict  # user -> (id, index), of all that were acknowledged
    outcomes: dict  # user -> the rewards that it may have entered with
    versions: int  # that were seen


def lives(place, made, kills, seed):
    """Workers of the bandit that `made` makes, one after the other, each killed; then one that is not. Of what was
    under way when a worker was killed nobody knows whether it happened in time: no other outcome may be one of two."""
    moments, at, ids, answers, versions, outcomes = random.Random(seed), 0, {}, {}, {}, {}
    for n in range(kills + 1):
        reading, writing = os.pipe()
        end, unknown = 10**9 if n < kills else 2 * max(at // 2 + 10, ENOUGH), at
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.close(reading)
                life(place, made, at, ids, end, writing)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(writing)
        if n < kills:
            time.sleep(moments.uniform(0.02, 0.3))
            os.kill(child, signal.SIGKILL)
        with os.fdopen(reading) as lines:
            for line in lines.read().splitlines():
                what, k, i, word, last = line.split()
                if what == "choice":
                    assert answers.setdefault(int(i), (word, int(last))) == (word, int(last)), "another answer"
                    ids[int(i)] = word
                elif what == "version":
                    assert versions.setdefault(int(i), word) == word, "another noise for a step"
                else:
                    outcomes[int(i)] = [user(int(i))[1] if last == "1" else SILENT]
                    if n and int(k) == unknown:
                        outcomes[int(i)] = [user(int(i))[1], SILENT]
                at = max(at, int(k) + 1)
        status = os.waitpid(child, 0)[1]
        assert status == (signal.SIGKILL if n < kills else 0)
    for i in answers:
        outcomes.setdefault(i, [SILENT])  # the last ones
    return Lives(answers, outcomes, len(versions))


def by_step(stored, found):
    """Users by the step of their number, which follows from the schedule alone."""
    numbers = {stored._store.tickets.read(name).number: i for i, (name, _) in found.answers.items()}
    assert len(numbers) == len(found.answers)
    out, start, step = {}, 0, 0
    while start < stored.choices:
        end = int(next_boundary(start, *stored.one_pass.plan.schedule))
        out[step] = [numbers[number] for number in range(start + 1, end + 1) if number in numbers]
        start, step = end, step + 1
    return out


def explains(users, outcomes, found, vector, equal):
    """Whether what is in a step is what these users may have added, each once."""
    return any(
        equal(sum((vector(i, reward) for i, reward in zip(users, case, strict=True)), np.zeros_like(found)), found)
        for case in itertools.product(*(outcomes[i] for i in users))
    )


def check(place, kills, seed):
    algorithm = bandit()
    warm_up(algorithm)

    def vector(i, reward):
        x = user(i)[0][found.answers[i][1]]
        return 0 if reward is None else contribution(algorithm, x, reward)

    with short_skew():
        found = lives(place, bandit, kills, seed)
        with place.open(bandit(), **REAL) as stored:
            steps = [step for (step,) in table(stored, "SELECT step FROM leaf ORDER BY step")]
            assert steps == list(range(len(steps))) and len(steps) > 5 and found.versions > 2
            assert sorted(found.answers) == list(range(len(found.answers)))
            lost = stored.choices - len(found.answers)  # numbers whose rows never came
            assert stored.entered == stored.choices and (lost == 0 or "://" in place.where) and lost <= kills
            exact = sums(stored)
            for step, users in by_step(stored, found).items():
                assert explains(users, found.outcomes, exact[step], vector, np.array_equal), step
    assert sum(rewards[0] not in (None, SILENT) for rewards in found.outcomes.values()) > 10  # that were in time


@pytest.mark.parametrize("kills", [3, pytest.param(100, marks=pytest.mark.full)])
def test_workers_that_are_killed_at_any_moment(place, kills):
    check(place, kills, 1)


# chosen moments


POINTS = {  # a worker is killed before it does this
    "entries": (rows, "entered"),
    "the sums of a step": (rows, "put_step"),
    "the insert of a leaf, after its noise": (leaf_rows, "draw"),
    "the commit of a leaf": (rows, "advance"),
    "the witness, after the commit": (Steps, "_unseal"),
    "unsealing, after the witness": (leaf_rows, "take"),
    "the commit of what is unsealed": (leaf_rows, "keep"),
}


def killed(owner, name, work):
    """Does that in a process that is killed before it calls a function."""

    def dies():
        setattr(owner, name, die)
        work()

    assert forked(dies) == KILLED, name


def tend(place, clock):
    with place.open(linear(growth=1.001), clock=clock) as stored:
        stored.tend()


def test_entries_and_releases_that_are_killed_happen_once(place):
    """One noise for a step: what was committed is shown, what was not never was."""
    rng, clock, expected = np.random.default_rng(3), Clock(), []
    for step, (point, (owner, name)) in enumerate(POINTS.items()):
        with place.open(linear(growth=1.001), clock=clock) as stored:
            given = [arms(rng, count=1) for _ in range(10)]
            choices = stored.choose_group([stored.prepare(one) for one in given])
            stored.write_group([stored.report(choice, 0.5) for choice in choices])
            expected.append(sum(contribution(linear(), one[0], 0.5) for one in given))
            clock.now += stored.window + stored._database.skew + 1.0
        killed(owner, name, lambda: tend(place, clock))
        with place.open(linear(growth=1.001), clock=clock) as stored:
            was = [bytes(noisy) for (noisy,) in table(stored, "SELECT noisy FROM drawn")]
            assert bool(was) == (step >= 4), point
            committed = [
                stored._store.seal.open("sums", place_of(stored._store.uid, step, "noisy"), one) for one in was
            ]
            stored.tend()
            assert stored.version == step + 1 and stored.entered == 10 * (step + 1), point
            found, exact = table(stored, "SELECT noisy FROM leaf ORDER BY step"), sums(stored)
            assert committed in ([], [bytes(found[step][0])]), point
            assert all(np.array_equal(exact[s], one) for s, one in enumerate(expected)), point


@pytest.mark.parametrize("point", [(Choosing, "_place"), (rows, "placing")], ids=lambda point: point[1])
def test_a_choice_and_a_reward_that_are_killed_before_their_commit_are_sent_again(place, point, clock):
    """On SQLite the choice has not happened; on PostgreSQL its number is lost, and enters as nothing."""

    def work(act):
        with place.open(linear(), clock=clock) as stored:
            act(stored)

    def choose(stored):
        return stored.choose(np.eye(3)[:1], request="mine")

    work(lambda stored: stored.observe(stored.choose(np.eye(3)[1:2]), 1.0))
    killed(*point, lambda: work(choose))
    with place.open(linear(), clock=clock) as stored:
        lost = stored.choices - 1
        assert lost == ("://" in place.where)
        for rows_of_choices in ("choice", "waiting"):
            assert table(stored, f"SELECT number FROM {rows_of_choices}") == [(1,)]
        settle(stored)
        assert stored.entered == 1  # the lost number may be on its way
        choice = choose(stored)
        assert choose(stored).id == choice.id and stored.choices == 2 + lost
    killed(rows, "writing", lambda: work(lambda stored: stored.observe(choice.id, 1.0)))
    with place.open(linear(), clock=clock) as stored:
        assert not table(stored, "SELECT * FROM written") and stored.observe(choice.id, 0.5)
        settle(stored)
        assert stored.entered == 2 + lost
        one, other = (contribution(linear(), np.eye(3)[i], reward) for i, reward in enumerate((0.5, 1.0)))
        assert np.array_equal(sums(stored)[0], one + other)
