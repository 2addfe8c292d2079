"""`python -m tools.control [PART...]`: what a control group costs the bandit, and whether its sums are right, as in
docs/measurements/experiments.md.

regret: of the bandit's own people in the world `ball`, with and without a control group: the same people in both, by
the same seeds; those whom the control gets are left out of both.
store: the real bandit on a database, whose people are of one kind and whose arms earn 0.4 and 0.6: how far released
sums are from what happened, in standard deviations of their noise."""

import math
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import default_rng

from tacit import Budget, Control, JointGLM, Simulated, Stored, environments
from tacit.data import Array, Integers

BUDGET = Budget(1.0, 1e-6)
SEED, RUNS, ROUNDS, HOLD = 2031, 20, 20_000, 50
CONTROLS = {
    "uniform, teaches half": Control(policy="uniform"),
    "uniform, silent": Control(policy="uniform", teach=0.0),
    "the first arm": Control(arm=0),
}


def played(run: int, control: Control | None, rounds: int = ROUNDS) -> tuple[Array, Integers]:
    """The regret of each number, and its side."""
    world = environments.ball(dim=5, arms=10)
    options: dict[str, Any] = {"hold": HOLD, "missing_as": 0.0, "control": control}
    source, policy = Simulated(1000 * SEED + run), default_rng([SEED, run, 1])
    bandit = JointGLM(dim=5, budget=BUDGET, radius=world.radius, source=source, policy=policy, **options)
    block = world.block(rounds)
    world.start(default_rng([SEED, run]), rounds).fill(block)
    bandit.play(block)
    sides: Integers = np.zeros(rounds, np.int64)
    if bandit._assignment is not None:
        sides = bandit._assignment.sides(range(1, rounds + 1))
    return block.regret.copy(), sides


def regret(runs: int = RUNS, rounds: int = ROUNDS) -> Iterator[str]:
    plain = [played(run, None, rounds)[0] for run in range(runs)]
    yield f"without a control group: {np.mean([one.sum() for one in plain]):.1f} of {rounds} people ({runs} runs)"
    for name, control in CONTROLS.items():
        own, same, others = [], [], []
        for run in range(runs):
            found, sides = played(run, control, rounds)
            own.append(found[sides == 0].sum())
            same.append(plain[run][sides == 0].sum())
            others.append(found[sides > 0].sum())
        more = np.array(own) - same
        error = more.std(ddof=1) / math.sqrt(runs)
        yield (
            f"{name}: the bandit's people {np.mean(own):.1f}, the same people without {np.mean(same):.1f} "
            f"({100 * more.mean() / np.mean(same):+.1f} % +- {100 * error / np.mean(same):.1f}); "
            f"the control's {np.mean(others):.1f}"
        )


class Clock:
    """Goes on by a second for each choice."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def distances(seed: int, rounds: int, control: Control) -> Array:
    """One run on an SQLite file: of the last look, how far each side's total is from what happened, in standard
    deviations of its noise."""
    rng, clock = default_rng([SEED, seed, 2]), Clock()
    bandit = JointGLM(dim=2, budget=BUDGET, control=control, policy=default_rng([SEED, seed, 3]))
    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {"hold": 3.0, "missing_as": 0.0, "delay": 0.0, "background": False}
        with Stored(bandit, Path(folder) / "bandit.db", clock=clock, **options) as stored:
            rewards = np.zeros(rounds + 1)
            while (done := stored.choices) < rounds:
                group = [stored.prepare(np.eye(2)) for _ in range(min(40, rounds - done))]
                choices: list[Any] = list(stored.choose_group(group))
                answers = [float(rng.random() < (0.4, 0.6)[choice.index]) for choice in choices]
                stored.write_group([stored.report(*one) for one in zip(choices, answers, strict=True)])
                rewards[done + 1 : done + 1 + len(answers)] = answers
                clock.now += 4.0
                stored.tend()
            found, sides = stored.trial_sums, stored._agreed.assignment.sides(range(1, rounds + 1))  # type: ignore[union-attr]
    assert found is not None
    look = found.looks[-1]
    at, q = sides[: look.people], rewards[1 : look.people + 1] - 0.5
    exact = np.array([q[at == side].sum() for side in range(len(found.sides))])
    out: Array = (np.array(look.totals) - exact) / look.taus
    return out


def store(runs: int = 200, rounds: int = 1000) -> Iterator[str]:
    control = Control(arm=0, arms=(1,), min_share=0.1)
    found = np.array([distances(seed, rounds, control) for seed in range(runs)])
    yield (
        f"{runs} runs of {rounds} people on a database: released sums of {found.shape[1]} sides are off by "
        f"{found.mean():+.3f} +- {found.std() / math.sqrt(found.size):.3f} standard deviations of their noise on "
        f"average, with a spread of {found.std():.3f}, {np.abs(found).max():.2f} at most"
    )


PARTS = {"regret": regret, "store": store}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        for line in PARTS[part]():
            print(line, flush=True)
