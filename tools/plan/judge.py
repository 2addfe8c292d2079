"""How far off a plan for a schema is in worlds that it knows nothing of: `python -m tools.plan.judge`.

For every world of `environments.random` that has a schema, of the numbers for validation: what the plan foretells from
schema, rate and deadline, and the share that the bandit has there, on average over RUNS draws of that world."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from reticent import Uniform
from reticent.experiments.runner import run_once
from reticent.experiments.spec import Spec
from reticent_lab.environments.random import random
from reticent_serve.planning import trials
from reticent_serve.planning.trials import DAY, JUDGED, PEOPLE, TASTES, Case, Question

RUNS, SEED, SOON, TOLERANCE = 8, 7, 0.9, 0.05
HIGH = 0.6  # from there on it is said how much too high that is
ROWS = Path(__file__).parent / "judged.json"


class Judged(msgspec.Struct, kw_only=True):
    """said: the mean share by tastes; low, high: of ordinary tastes, the worst and the best world."""

    number: int
    people: int
    rate: float
    arms: int
    numbers: int
    fields: int
    share: float
    said: dict[str, float]
    low: float
    high: float
    floor: float


def judge(number: int) -> list[Judged]:
    """A row for each number of people; none for a world of vectors, or of fewer people than a plan is for."""
    world = random(number=number)
    schema, ends = world.features, [n for n in PEOPLE if n <= world.horizon]
    if schema is None or not ends:
        return []
    asked = question(world)
    size = trials.full(schema.dim)._replace(most=ends[-1], longer=0)
    plan = trials.run(asked, size, lambda _: None, [Case(asked.epsilon, tastes=name) for name in TASTES])
    found = {each.case.tastes: each for each in plan.found}
    had = np.mean([shares(asked, world, run, ends) for run in range(RUNS)], axis=0)
    return [
        Judged(
            number=number,
            people=people,
            rate=world.setting.rate,
            arms=world.arms,
            numbers=world.setting.features,
            fields=len(schema.context),
            share=float(had[i]),
            said={name: float(each.mean[i] or 0.0) for name, each in found.items()},
            low=float(found["ordinary"].low[i] or 0.0),
            high=float(found["ordinary"].high[i] or 0.0),
            floor=plan.floor,
        )
        for i, people in enumerate(ends)
    ]


def question(world: random) -> Question:
    """What is declared of a world that has a schema."""
    assert world.features is not None
    window = None if world.delay is None else world.delay.soon(SOON)
    per_day = None if window is None else DAY
    return Question(schema=world.features, base_rate=world.setting.rate, window=window, per_day=per_day)


def shares(asked: Question, world: random, run: int, ends: Sequence[int]) -> list[float]:
    """Of people between n / 2 and n, in one draw of that world."""
    at = sorted({*ends, *(n // 2 for n in ends)})
    made = [
        run_once(spec, world, ends[-1], SEED, run, lambda _: None, world.delay, at)
        for spec in (asked.spec(asked.epsilon), Spec(Uniform))
    ]
    own, uniform = (dict(zip(each.at, each.curve, strict=True)) for each in made)
    return [1 - (own[n] - own[n // 2]) / max(uniform[n] - uniform[n // 2], 1e-9) for n in ends]


def error(rows: Sequence[Judged]) -> dict[str, float]:
    """What `reticent plan --schema` says of itself: the share there less what it said."""
    off = np.array([row.share - row.said["ordinary"] for row in rows])
    high = [row for row in rows if row.said["ordinary"] >= HIGH]
    return {
        "worlds": len({row.number for row in rows}),
        "numbers": len(rows),
        "tolerance": TOLERANCE,
        "within": round(float(np.mean(np.abs(off) <= TOLERANCE)), 3),
        "bias": round(float(np.median(off)), 3),
        "median": round(float(np.median(np.abs(off))), 3),
        "most": round(float(np.quantile(np.abs(off), 0.95)), 3),
        "high": HIGH,
        "high_bias": round(float(np.median([row.share - row.said["ordinary"] for row in high])), 3),
    }


def summary(rows: Sequence[Judged]) -> str:
    """Markdown: the share there less what is said of ordinary tastes, by what is said."""
    lines = [
        "| the plan says | numbers | within 0.05 | within 0.1 | median | 5 % to 95 % | between weak and strong |",
        "|---|---|---|---|---|---|---|",
    ]
    edges = (-9.0, 0.1, 0.3, HIGH, 9.0)
    names = ("less than 0.1", "0.1 to 0.3", "0.3 to 0.6", "0.6 or more")
    groups = [*zip(names, edges, edges[1:], strict=False), ("**all**", -9.0, 9.0)]
    for name, low, high in groups:
        own = [row for row in rows if low <= row.said["ordinary"] < high]
        off = np.array([row.share - row.said["ordinary"] for row in own])
        between = [min(r.said.values()) - TOLERANCE <= r.share <= max(r.said.values()) + TOLERANCE for r in own]
        lines.append(
            f"| {name} | {len(own)} | {np.mean(np.abs(off) <= TOLERANCE):.0%} | {np.mean(np.abs(off) <= 0.1):.0%} "
            f"| {np.median(off):+.2f} | {np.quantile(off, 0.05):+.2f} to {np.quantile(off, 0.95):+.2f} "
            f"| {np.mean(between):.0%} |"
        )
    return "\n".join(lines)


def main() -> None:
    rows: list[Judged] = []
    for number in random.VALIDATION:
        rows += judge(number)
        sys.stderr.write(f"{number}\n")
    ROWS.write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=0))
    JUDGED.write_text(json.dumps(error(rows), indent=1) + "\n")
    sys.stdout.write(f"{summary(rows)}\n\n{error(rows)}\n")


def read() -> list[Judged]:
    return msgspec.json.decode(ROWS.read_bytes(), type=list[Judged])


if __name__ == "__main__":
    main()
