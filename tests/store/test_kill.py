"""kill -9 at random moments of choices, rewards and releases: what was acknowledged is there, once."""

import hashlib
import os
import random
import signal
import time

import numpy as np
import pytest

from tests.store.places import arms, contribution, linear, table, total

LATE = 2  # a reward comes so many users later


def bandit():
    return linear(horizon=200_000, first=5)


def user(i):
    """The arms and reward of one user: the same each time it is sent."""
    return arms(np.random.default_rng(i)), (i % 7) / 7


ENOUGH = 150  # users for some steps, where a busy machine lets few live long


def operation(stored, k, ids, say):
    """The k-th thing that clients do: a choice, then the reward of an earlier one. It is said once acknowledged."""
    i, rewarding = divmod(k, 2)
    if not rewarding:
        choice = stored.choose(user(i)[0], request=f"{i}", deferred=i % 3 == 0)
        say("choice", k, i, choice.id, choice.index)
        ids[i] = choice.id
    elif i >= LATE:
        if i % 2:
            stored.activate(ids[i - LATE])  # before the reward or after it; a third were deferred
        stored.observe(ids[i - LATE], user(i - LATE)[1])
        if not i % 2:
            stored.activate(ids[i - LATE])
        say("reward", k, i - LATE, "-", 0)


def life(place, made, at, ids, end, pipe):
    """A worker: from operation `at` on, with some that were acknowledged before sent again."""

    def say(*words):
        os.write(pipe, (" ".join(map(str, words)) + "\n").encode())

    again = random.Random(at)
    stored = place.open(made(), background=True, delay=0.002, clock=time.time)
    shown = 0
    for k in range(at, end):
        operation(stored, k, ids, say)
        if k > 10 and again.random() < 0.1:
            operation(stored, again.randrange(k // 2) * 2, dict(ids), say)
        if stored._versions.shown > shown:
            shown = stored._versions.shown
            released = stored._bandit._state.prefix.noise.table[:shown].tobytes()
            say("version", -1, shown, hashlib.sha256(released).hexdigest(), 0)
    stored.close()


def lives(place, made, kills, seed):
    """Workers of the bandit that `made` makes, one after the other, each killed; then one that is not. Returns the
    number of users, their answers and the number of versions that were seen."""
    moments, at, ids, answers, versions = random.Random(seed), 0, {}, {}, {}
    for n in range(kills + 1):
        reading, writing = os.pipe()
        end = 10**9 if n < kills else 2 * max(at // 2 + 10, ENOUGH)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.close(reading)
                life(place, made, at, ids, end, writing)
                status = 0
            finally:
                os._exit(status)
        os.close(writing)
        if n < kills:
            time.sleep(moments.uniform(0.02, 0.3))
            os.kill(child, signal.SIGKILL)
        with os.fdopen(reading) as lines:
            for line in lines.read().splitlines():
                what, k, i, word, index = line.split()
                if what == "choice":
                    assert answers.setdefault(int(i), (word, index)) == (word, index), "another answer to a request"
                    ids[int(i)] = word
                elif what == "version":
                    assert versions.setdefault(int(i), word) == word, "another noise for a step"
                at = max(at, int(k) + 1)
        status = os.waitpid(child, 0)[1]
        assert status == (signal.SIGKILL if n < kills else 0)
    return at // 2, answers, len(versions)


def check(place, kills, seed):
    warm = bandit()
    warm.warm_up()
    users, answers, versions = lives(place, bandit, kills, seed)
    with place.open(bandit(), clock=time.time) as stored:
        stored.tend()
        steps = [step for (step,) in table(stored, "SELECT step FROM leaf ORDER BY step")]
        assert steps == list(range(len(steps))) and len(steps) > 5 and versions > 2
        assert stored.choices == users == len(answers)
        rewarded = range(users - LATE)
        expected = sum(contribution(warm, user(i)[0][int(answers[i][1])], user(i)[1]) for i in rewarded)
        assert np.array_equal(total(stored), expected)


def test_twenty_kills(place):
    check(place, 20, 1)


@pytest.mark.full
def test_a_hundred_kills(place):
    check(place, 100, 2)
