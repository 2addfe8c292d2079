"""`python -m tools.segments [--runs 12] [--seed 1100]`: how far off the dashboard's own estimates are, for
docs/measurements/fields.md.

In each run a bandit learns in a new world of messages. What it then says that its choices, random messages and the best
single one earn is held against what they do earn, from people who come after. Progress goes to stderr."""

import argparse
import math
import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.random import SeedSequence, default_rng

from reticent import Bandit, Budget, JointGLM, Simulated, Spec, environments
from reticent.data import Array
from reticent.features.schema import Schema
from reticent.models import segments
from reticent.models.segments import Likely
from reticent_serve.service import demo

DELTA, AFTER, BLOCK = 1e-6, 8000, 500
FEWEST = 150  # people with a value, for its mean to be taken as known
NAMES = ("chosen", "random", "single", "adds", "gains")
TITLES = ("chosen now", "random", "best single", "chosen over single", "chosen over random")
ROWS: tuple[tuple[int, float, dict[str, Any] | None], ...] = (  # people, epsilon, the world; None: the demonstration
    (2000, 1.0, {}),
    (5000, 1.0, {}),
    (20_000, 1.0, {}),
    (5000, 4.0, {}),
    (20_000, 4.0, {}),
    (5000, 1.0, {"dependent": True}),
    (20_000, 1.0, {"base_rate": 0.05}),
    (12_000, 1.0, None),
)


class Found(NamedTuple):
    """Of one run: how far each estimate is off, and was before the correction, whether its interval holds the truth,
    which share of intervals of single values does, and of those for whom another message was said to be clearly better,
    for how many it is."""

    off: list[float]
    before: list[float]
    held: list[bool]
    values: float
    better: list[bool]


def run(people: int, epsilon: float, world: dict[str, Any], seed: int) -> Found:
    environment = environments.messages(disjoint=True, **world)
    bandit: Any = Spec(JointGLM, budget=Budget(epsilon, DELTA)).build(environment, people, SeedSequence([seed, 11]))
    started, block = environment.start(default_rng([seed, 12]), people), environment.block(BLOCK)
    for _ in range(people // BLOCK):
        started.fill(block)
        bandit.play(block)
    after = environment.block(AFTER)
    started.fill(after)
    return held_against(bandit, environment.features, after.arms, after.means, seed)


def demonstration(people: int, seed: int) -> Found:
    """In the world of `reticent serve --demo`, where tastes are strong."""
    rng, features = default_rng([seed, 13]), demo.FEATURES
    budget, source, policy = Budget(1.0, DELTA), Simulated(seed), default_rng([seed, 14])
    bandit = Bandit(JointGLM(features, budget), source=source, policy=policy)
    for _ in range(people):
        who = demo.person(rng)
        choice = bandit.choose(who)
        bandit.observe(choice, float(rng.random() < demo.chance(who, choice.name or "")))
    later = [demo.person(rng) for _ in range(AFTER)]
    means = np.array([[demo.chance(who, message) for message in demo.MESSAGES] for who in later])
    return held_against(bandit, features, np.stack([features.placed(who)[1] for who in later]), means, seed)


def held_against(bandit: Any, features: Schema, arms: Array, means: Array, seed: int) -> Found:
    """The truth about those people, with these arms and mean rewards."""
    algorithm, estimate = bandit.one_pass, bandit.sums.estimator.estimate
    said = algorithm.segments(estimate, np.arange(means.shape[1]))
    picked = algorithm.pick(estimate, arms, default_rng(seed))
    chosen, random, single = means[np.arange(AFTER), picked].mean(), means.mean(), means[:, said.best].mean()
    truth = (chosen, random, single, chosen - single, chosen - random)
    likely = [getattr(said, name) for name in NAMES]
    live = np.arange(means.shape[1])
    model, arrays = algorithm.model, estimate.arrays
    noise = algorithm.course.std(estimate.step) * math.sqrt(model.contribution.blocks) / model.contribution.count
    low, high = algorithm.plan.reward.range
    plain = segments.of(features, model.mean, high - low, arrays, estimate.step, live, noise, fond=0.0)
    off, before = ([100 * (getattr(one, name).value - true) for name, true in zip(NAMES, truth, strict=True)]
                   for one in (said, plain))  # fmt: skip
    values, better = _by_value(features, said, arms[:, 0, :-1], means)
    held = [holds(one, true) for one, true in zip(likely, truth, strict=True)]
    return Found(off, before, held, values, better)


def holds(one: Likely, true: float) -> bool:
    return bool(one.low <= true <= one.high)


def _by_value(features: Schema, said: Any, rows: Array, means: Array) -> tuple[float, list[bool]]:
    parts = {part.names: part for part in features.own}
    held, better = [], []
    for field in said.fields:
        part = parts[(field.name,)]
        for v, (best, instead) in enumerate(zip(field.best, field.instead, strict=True)):
            mine = means[rows[:, part.start + v] > 0.999 * part.weight]
            if len(mine) >= FEWEST:
                true = mine.mean(axis=0)
                held.append(np.mean((field.low[v] <= true) & (true <= field.high[v])))
                if instead.low > 0:
                    better.append(bool(true[best] > true[said.best]))
    return float(np.mean(held)), better


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tools.segments", description="Errors of the dashboard's estimates."
    )
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1100)
    given = parser.parse_args()
    more = (
        "over random, uncorrected",
        "held, of the five",
        "least of them",
        "held, by value",
        "clearly better, and is",
    )
    print("| people | ε | " + " | ".join((*TITLES, *more)) + " |")
    print("|---|---|" + "---|" * (len(TITLES) + len(more)), flush=True)
    for people, epsilon, world in ROWS:
        found = []
        for seed in range(given.seed, given.seed + given.runs):
            print(f"{people} people, epsilon {epsilon:g}, {world}: seed {seed}", file=sys.stderr)
            found.append(demonstration(people, seed) if world is None else run(people, epsilon, world, seed))
        off = np.array([[*one.off, one.before[-1]] for one in found])
        error = off.std(axis=0, ddof=1) / len(off) ** 0.5
        cells = [
            f"{mean:+.1f} ± {std:.1f}".replace("-", "−") for mean, std in zip(off.mean(axis=0), error, strict=True)
        ]
        words = " (the demonstration)" if world is None else "".join(f" ({k}={v:g})" for k, v in world.items())
        held = np.array([one.held for one in found]).mean(axis=0)
        shares = (held.mean(), held.min(), np.mean([one.values for one in found]))
        better = [each for one in found for each in one.better]
        cells += [*(f"{100 * share:.0f} %" for share in shares), f"{sum(better)} of {len(better)}"]
        print(f"| {people}{words} | {epsilon:g} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
