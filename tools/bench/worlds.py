"""Bandits in random worlds as users have them: how often is a private bandit worse than doing something simple?"""

import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from reticent import JointGLM, Uniform, checks
from reticent.experiments.result import SimulatedRun
from reticent.experiments.spec import Spec
from reticent.experiments.table import number as shown
from reticent.experiments.table import to_text
from reticent.flat import fitting
from reticent.privacy.budget import Budget
from reticent_lab.environments.random import random
from reticent_lab.experiments.sweeps import simulate
from reticent_papers.references.mle_ucb import MLEUCB
from tools.bench.commit import ExploreThenCommit

NUMBERS = {"tuning": random.TUNING, "validation": random.VALIDATION, "reporting": random.REPORTING}
RUNS, SEED = 5, 0
QUICK, QUICK_RUNS, QUICK_ROUNDS = 10, 2, 2000  # worlds, runs and rounds at most
SOON = 0.9  # share of rewards that have come by the deadline of a bandit that has one
CLEARLY = 2.0  # standard errors
KINDS = {"in all": (True, False), "of fields": (True,), "of vectors": (False,)}  # of worlds
WORST = 10
RIVALS = {"uniform": "uniform play", "single": "best single action", "commit": "explore, then commit"}


def measure(
    progress: Callable[[float], None],
    *,
    bandits: Sequence[Spec] | None = None,
    numbers: str = "validation",
    budget: Budget | None = None,
    runs: int | None = None,
    quick: bool = False,
    out: Path | None = None,
) -> list[dict[str, Any]]:
    """A row for each bandit in each world, and for three to compare with. bandits: joint-glm and its identity link, by
    default; where rewards come late and a bandit can have a deadline, it has one by which SOON of them have come, and
    silence counts 0."""
    checks.one_of(list(NUMBERS), numbers=numbers)
    budget = Budget(1.0, 1e-6) if budget is None else budget
    usual = [Spec(JointGLM, budget=budget), Spec(JointGLM, budget=budget, link="identity")]
    beside = [Spec(MLEUCB), Spec(ExploreThenCommit, budget=budget, label=RIVALS["commit"]), Spec(Uniform)]
    played = [*(usual if bandits is None else bandits), *beside]
    worlds = [random(number=each) for each in NUMBERS[numbers]][: QUICK if quick else None]
    rows: list[dict[str, Any]] = []
    for i, world in enumerate(worlds):
        result = simulate(
            [_suited(spec, world) for spec in played],
            world,
            horizon=min(world.horizon, QUICK_ROUNDS) if quick else world.horizon,
            runs=runs or (QUICK_RUNS if quick else RUNS),
            seed=SEED,
            out=out,
            progress=functools.partial(_told, progress, i, len(worlds)),
        )
        groups = [result.runs[i :: len(played)] for i in range(len(played))]
        for spec, group in zip(played, groups, strict=True):
            rows.append(_row(spec, world, group, reference=groups[-3], commit=groups[-2]))
    return rows


def _told(progress: Callable[[float], None], before: int, worlds: int, share: float) -> None:
    progress((before + share) / worlds)


def _suited(spec: Spec, world: random) -> Spec:
    """That bandit without what has no effect in the world, and with a deadline where it can have one and rewards are
    late."""
    kind, options = spec.kind, spec.options
    if issubclass(kind, JointGLM):
        known = fitting({"features": world.features or world.dim} | options)
        options = {name: value for name, value in options.items() if name in known}
        if world.delay is not None and "window" not in options:
            options |= {"window": world.delay.soon(SOON), "default": 0.0}
    return Spec(spec.kind, label=spec.label, **options)


def _row(
    spec: Spec,
    world: random,
    group: Sequence[SimulatedRun],
    *,
    reference: Sequence[SimulatedRun],
    commit: Sequence[SimulatedRun],
) -> dict[str, Any]:
    """Mean regrets, and by how many standard errors of the difference, run by run, the bandit lost to each rival."""
    regret = np.array([run.regret for run in group], float)
    rivals = {
        "uniform": np.array([run.uniform_regret for run in group], float),
        "single": np.array([run.single_regret for run in group], float),
        "commit": np.array([run.regret for run in commit], float),
        "reference": np.array([run.regret for run in reference], float),
    }
    drawn = world.setting._asdict()
    columns = {name: type(field.column).__name__ for name, field in drawn.pop("fields").items()}
    return {
        "label": spec.label,
        "number": world.number,
        "regret": float(regret.mean()),
        **{name: float(values.mean()) for name, values in rivals.items()},
        "ratio": float(regret.mean() / max(rivals["reference"].mean(), 1e-9)),
        "lost_by": {name: _errors(regret - rivals[name]) for name in RIVALS},
        "rounds": group[0].horizon,
        "runs": len(group),
        "us_per_round": float(np.median([run.us_per_round for run in group])),
        "setting": drawn | {"delay": drawn["delay"] and str(drawn["delay"]), "fields": columns, "dim": world.dim},
    }


def _errors(difference: Any) -> float:
    """A mean in standard errors; 0 where one run tells of none."""
    if len(difference) < 2:
        return 0.0
    return float(difference.mean() / max(difference.std(ddof=1) / math.sqrt(len(difference)), 1e-12))


def summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each bandit over all worlds, and over those of each kind."""
    out = []
    for of, kinds in KINDS.items():
        for label in dict.fromkeys(row["label"] for row in rows):
            own = [row for row in rows if row["label"] == label and row["setting"]["schema"] in kinds]
            ratios = np.array([row["ratio"] for row in own])
            if own:
                sizes = {
                    "ratio_mean": float(ratios.mean()),
                    "ratio_geometric": float(np.exp(np.log(np.maximum(ratios, 1e-9)).mean())),
                    "of_uniform": float(np.mean([row["regret"] / max(row["uniform"], 1e-9) for row in own])),
                }
                lost = {f"lost_to_{name}": _share(own, name) for name in RIVALS}
                out.append({"of": of, "worlds": len(own), "label": label} | sizes | lost)
    return out


def _share(rows: Sequence[dict[str, Any]], rival: str) -> float:
    return float(np.mean([row["lost_by"][rival] > CLEARLY for row in rows]))


def render(rows: Sequence[dict[str, Any]]) -> str:
    numbers = sorted({row["number"] for row in rows})
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("worlds", no_wrap=True)
    table.add_column("bandit", no_wrap=True)
    for name in ("regret /\nmle-ucb,\nmean", "geometric\nmean", "regret /\nuniform,\nmean"):
        table.add_column(name, justify="right")
    for name in RIVALS.values():
        table.add_column("lost to\n" + name.replace(", ", ",\n"), justify="right")
    found = summary(rows)
    for each, following in zip(found, [*found[1:], {"of": ""}], strict=True):
        table.add_row(
            f"{each['worlds']} {each['of']}",
            each["label"],
            *(f"{each[name]:.2f}" for name in ("ratio_mean", "ratio_geometric", "of_uniform")),
            *(f"{100 * each[f'lost_to_{name}']:.0f} %" for name in RIVALS),
            end_section=each["of"] != following["of"],
        )
    head = f"{len(numbers)} random worlds, numbers {numbers[0]} to {numbers[-1]}, {rows[0]['runs']} runs each."
    lost = f"Lost: regret is larger by more than {CLEARLY:g} standard errors of the difference.\n"
    return f"{head} {lost}\n{to_text(table)}\n\n{_worst(rows)}"


def _worst(rows: Sequence[dict[str, Any]]) -> str:
    """Of the first bandit."""
    own = sorted((row for row in rows if row["label"] == rows[0]["label"]), key=lambda row: -row["ratio"])[:WORST]
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in ("number", "regret", "mle-ucb", "uniform", "single", "commit"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("setting", overflow="fold")
    for row in own:
        regrets = (shown(row[name]) for name in ("regret", "reference", "uniform", "single", "commit"))
        table.add_row(str(row["number"]), *regrets, _words(row))
    return f"The {len(own)} worst worlds of {rows[0]['label']}, by regret / mle-ucb:\n{to_text(table)}"


def _words(row: dict[str, Any]) -> str:
    s = row["setting"]
    kind = f"fields {len(s['fields'])}" if s["schema"] else "vectors"
    parts = [kind, f"d = {s['dim']}, K = {s['arms']}, T = {row['rounds']}, rate {s['rate']:.3f}, {s['link']}"]
    parts += [f"radius {s['radius']:g}", f"strength {s['strength']:.1f}"]
    parts += [f"{name} {s[name]:g}" for name in ("alone", "irrelevant", "dependent", "alike", "drift") if s[name]]
    return ", ".join([*parts, *[s["wrong"]] * bool(s["wrong"]), *[f"delay {s['delay']}"] * bool(s["delay"])])
