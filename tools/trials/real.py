"""python -m tools.trials.real [--runs 200] [--people 3000]: trials end to end, by the real bandit on an SQLite file,
among two kinds of people for whom another arm is better: whether the truth is ever outside."""

import argparse
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.random import default_rng

from reticent import Budget, Experiment, Holdout, JointGLM, Reward
from reticent.data import Array
from reticent.features import Category, Schema
from reticent_serve import Stored
from reticent_serve.trials.trial import course

SEED, GROUP = 4041, 50
NAMES, KINDS = ("a", "b", "c"), ("new", "old")
SCHEMA = Schema(context={"kind": Category(*KINDS)}, arms="disjoint", actions=NAMES)
CHANCES = np.array([[0.3, 0.6, 0.2], [0.3, 0.2, 0.6]])  # of each kind of people, for each arm
HOLDOUTS = (
    Holdout(action="a", actions=("b", "c"), min_share=0.05),
    Holdout(action="a", actions=("b", "c")),  # bounds from the bandit's own people
)


class Clock:
    """Goes on when it is told to."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Found(NamedTuple):
    """Of a run: whether the truth was outside at any look, of the comparison and of an arm; from which person on it was
    clear; and half the width of the last interval of an arm."""

    wrong: bool
    arm_wrong: bool
    since: int | None
    half: float


def run(seed: int, holdout: Holdout, people: int) -> Found:
    rng, clock = default_rng([SEED, seed]), Clock()
    kinds = rng.integers(0, 2, people)
    would = (rng.random((people, 3)) < CHANCES[kinds]).astype(float)  # what each person would bring, by arm
    reward = Reward(window="3 seconds", default=0.0)
    algorithm = Experiment(JointGLM(SCHEMA, Budget(1.0, 1e-6), reward), holdout)
    got = np.zeros(people)
    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {"delay": 0.0, "background": False, "policy": default_rng([SEED, seed, 1])}
        with Stored(algorithm, Path(folder) / "bandit.db", clock=clock, **options) as stored:
            for start in range(0, people, GROUP):
                own = range(start, min(start + GROUP, people))
                asked = [stored.prepare({"kind": KINDS[kinds[i]]}) for i in own]
                choices: list[Any] = list(stored.choose_group(asked))
                got[start : own.stop] = [would[i, choice.index] for i, choice in zip(own, choices, strict=True)]
                stored.write_group([stored.report(c, float(got[i])) for i, c in zip(own, choices, strict=True)])
                clock.now += 4.0
                stored.tend()
            sums = stored.trial_sums
            groups = stored._shared.assignment.groups(range(1, people + 1))  # type: ignore[union-attr]
    assert sums is not None
    return _judged(course(sums), got, would, np.asarray(groups))


def _judged(looks: list[Any], got: Array, would: Array, groups: Any) -> Found:
    """What the bandit would have brought to others is taken to be what it brought to its own nine of ten."""
    wrong = arm_wrong = False
    for look in looks:
        n = look.people
        truth = got[:n][groups[:n] == 0].mean() - would[:n, 0].mean()
        wrong |= not look.low <= truth <= look.high
        for name, one in look.arms.items():
            arm_wrong |= not one.low <= would[:n, NAMES.index(name)].mean() <= one.high
    last = looks[-1]
    return Found(wrong, arm_wrong, last.since, max(one.width / 2 for one in last.arms.values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="half of them with arms of 5 %, half with bounds alone")
    parser.add_argument("--people", type=int, default=3000)
    given = parser.parse_args()
    for i, holdout in enumerate(HOLDOUTS):
        found = [run(2 * seed + i, holdout, given.people) for seed in range(given.runs // 2)]
        since = [one.since for one in found if one.since is not None]
        print(
            f"{'arms of 5 %' if holdout.min_share else 'bounds'}, {len(found)} runs: the comparison ever outside "
            f"{sum(one.wrong for one in found)}, an arm {sum(one.arm_wrong for one in found)}; better found in "
            f"{len(since)}, median after {np.median(since) if since else float('nan'):.0f} people; an arm's half width "
            f"{100 * np.mean([one.half for one in found]):.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
