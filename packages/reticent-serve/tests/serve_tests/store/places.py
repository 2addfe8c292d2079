"""What tests of the store share: bandits on a database with a clock of their own, and a look at what is raw."""

import dataclasses
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from core_tests import made
from reticent import Budget, Experiment
from reticent.mechanisms.opening import opened
from reticent_serve import Stored, restore
from reticent_serve.holders import leaf_rows, rows
from reticent_serve.holders.backups import Backup
from reticent_serve.holders.opening import database_at
from reticent_serve.holders.seal import place as place_of

BUDGET = Budget(1.0, 1e-5)
WINDOW, LASTS = "10 seconds", 10.0


class Clock:
    """Stands still unless told."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class Place(NamedTuple):
    where: str
    keys: object

    def open(self, algorithm, *, reward=None, **options):
        """Without a thread and with a clock that stands still, unless told. reward: settings of the algorithm's."""
        given = {"keys": self.keys, "background": False, "delay": 0.0, "clock": Clock()}
        return Stored(rewarded(algorithm, **reward or {}), self.where, **(given | options))


def rewarded(algorithm, **settings):
    """The same with these settings of its reward."""
    if isinstance(algorithm, Experiment):
        return Experiment(rewarded(algorithm.algorithm, **settings), algorithm.holdout)
    return dataclasses.replace(algorithm, reward=dataclasses.replace(algorithm.reward, **settings))


def glm(**settings):
    """A JointGLM, or an Experiment, by settings of one name each."""
    return made.algorithm(**({"features": 3, "budget": BUDGET, "first": 10, "window": WINDOW} | settings))


def linear(**options):
    """What a reward adds does not depend on what was released."""
    return glm(**({"horizon": 2000, "base_rate": 0.5} | options))


def arms(rng, count=4, dim=3):
    features = rng.normal(size=(count, dim))
    return features / np.linalg.norm(features, axis=1)[:, None]


def play(stored, rng, rounds, *, prefix="r", together=1):
    """Choices with their rewards, so many together, which enter before the next, and the releases that fall due."""
    out, limited = [], stored.one_pass.plan.limits.most is not None
    for start in range(0, rounds, together):
        places = range(start, min(rounds, start + together))
        named = [{"request": f"{prefix}{i}"} | ({"person": f"{prefix}{i}"} if limited else {}) for i in places]
        choices = stored.choose_group([stored.prepare(arms(rng), **one) for one in named])
        stored.write_group([stored.report(choice, float(rng.random() < 0.5)) for choice in choices])
        settle(stored)
        out += choices
    return out


def lived(place, rounds=12, kind=glm, *, seed=0, prefix="r"):
    """A bandit for so many choices together, with their rewards; these choices."""
    with place.open(kind()) as stored:
        return play(stored, np.random.default_rng(seed), rounds, prefix=prefix, together=rounds)


def settle(stored):
    """Time passes until all that was chosen has entered, and steps that are full are released."""
    stored._clock.now += stored.window + stored._database.skew + 0.01
    stored.tend()


def sums(stored):
    """Exact sums by step, opened: RAW. The last step is the one that is open."""
    line, found = stored._store, {}
    with stored._database.transaction() as run:
        last = rows.open_step(run, line.uid)
        parts = [(step, "leaf", sealed) for step, sealed in leaf_rows.sums(run, line.uid, 0)]
    for step, what, sealed in [*parts, (last.step, "open", last.sums)]:
        found[step] = np.frombuffer(line.seal.open("sums", place_of(line.uid, step, what), sealed), np.int64)
    return found


def total(stored):
    return np.sum(list(sums(stored).values()), axis=0)


def contribution(algorithm, x, reward):
    """What one reward adds before anything was released, in whole cells; of a linear bandit: whatever was released."""
    of = algorithm.one_pass(exact=True)
    grid, adder = of.plan.mechanism, of.adder(of.blank(of.live(())))
    out = np.zeros(grid.size, np.int64)
    row = opened(of.row(of.blank(of.live(())), np.asarray(x)[None], 0, 0, None, ()))
    adder.add(row[None], np.array([reward]), grid.cell, grid.longest, out)
    return out


def table(stored, statement, *arguments):
    with stored._database.transaction() as run:
        return run(statement, *arguments)


def rows_of(place, statement, *arguments):
    """Without a bandit."""
    database = database_at(place.where)
    with database.transaction() as run:
        found = run(statement, *arguments)
    database.close()
    return [tuple(bytes(v) if isinstance(v, memoryview) else v for v in row) for row in found]


def backed_up(place, file, name="bandit"):
    backup = Backup(file)
    backup.add(place.where, name=name, keys=place.keys)
    backup.finish()
    return file


def restored(place, algorithm, name="bandit", **options):
    """A new bandit from what is there now, by a backup; its uid."""
    with tempfile.TemporaryDirectory() as folder:
        file = backed_up(place, Path(folder) / "backup", name)
        return restore(algorithm, file, place.where, name=name, keys=place.keys, **options)
