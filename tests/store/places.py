"""What tests of the store share: bandits on a database with a clock of their own, and a look at what is raw."""

import os
import signal
from typing import NamedTuple

import numpy as np

from tacit import Budget, JointGLM, JointLinUCB, Stored
from tacit.holders import leaf_rows, rows
from tacit.holders.incarnation import database_at
from tacit.holders.incarnation import place as place_of
from tacit.mechanisms import leaves

BUDGET = Budget(1.0, 1e-5)


class Clock:
    """Stands still unless told."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class Place(NamedTuple):
    where: str
    keys: object

    def open(self, bandit, **options):
        """Without a thread and with a clock that stands still, unless told."""
        given = {"keys": self.keys, "background": False, "delay": 0.0, "clock": Clock()}
        return Stored(bandit, self.where, **(given | options))


def glm(**options):
    return JointGLM(**({"dim": 3, "budget": BUDGET, "first": 10} | options))


def linear(**options):
    return JointLinUCB(**({"dim": 3, "horizon": 2000, "budget": BUDGET, "first": 10} | options))


def arms(rng, count=4, dim=3):
    features = rng.normal(size=(count, dim))
    return features / np.linalg.norm(features, axis=1)[:, None]


def play(stored, rng, rounds, *, prefix="r"):
    """Choices with their rewards, and the releases that fall due."""
    out = []
    for i in range(rounds):
        choice = stored.choose(arms(rng), request=f"{prefix}{i}")
        stored.tend()
        stored.observe(choice, float(rng.random() < 0.5))
        out.append(choice)
    return out


def sums(stored):
    """Exact sums by step, opened: RAW. Steps that are not released are the sum of their shards."""
    line, size, found = stored._line, stored._bandit.mechanism.size, {}
    with stored._database.transaction() as run:
        parts = [(step, "leaf", sealed) for step, sealed in leaf_rows.sums(run, line.uid, 0)]
        parts += rows.all_open_sums(run, line.uid, "")
    for step, shard, sealed in parts:
        opened = line.seal.open("sums", place_of(line.uid, step, shard), sealed)
        found[step] = found.get(step, 0) + leaves.exact(opened, size)
    return found


def total(stored):
    return np.sum(list(sums(stored).values()), axis=0)


def contribution(bandit, x, reward):
    """What one reward of a linear bandit adds, in whole cells: whatever was released."""
    opened = bandit._state.prefix.open
    opened[:] = 0
    bandit._learn(x, reward)
    out = opened.copy()
    opened[:] = 0
    return out


def table(stored, statement, *arguments):
    with stored._database.transaction() as run:
        return run(statement, *arguments)


def dies_at(number, place, work, begun=lambda: ()):
    """Does it in a process that is killed before that statement of the database; whether it was. What it is given by
    `begun` is made before, by statements that do not count."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            given, database = begun(), type(database_at(place.where))
            run, seen = database._run, [0]

            def dying(self, statement, /, *arguments):
                if seen[0] == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                seen[0] += 1
                return run(self, statement, *arguments)

            database._run = dying
            work(*given)
            status = 0
        finally:
            os._exit(status)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL)
    return status == signal.SIGKILL
