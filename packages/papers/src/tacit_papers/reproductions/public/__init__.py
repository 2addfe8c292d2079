"""What it buys to declare something public: regret of JointGLM beside that of the default."""

import contextlib
from pathlib import Path
from typing import Any, NamedTuple

from tacit.bandits import JointGLM
from tacit.environments import Environment
from tacit.errors import NotInstalled
from tacit.experiments.result import Result
from tacit.experiments.runner import Progress
from tacit.experiments.spec import Spec
from tacit.privacy.budget import Budget
from tacit_lab.arena.worlds import small
from tacit_lab.environments import breast_cancer, digits, fashion
from tacit_lab.environments.labelled import Labelled
from tacit_lab.experiments.figure import regret_curves
from tacit_lab.experiments.sweeps import simulate
from tacit_papers.outcome import Finding, Outcome
from tacit_papers.reproductions.findings import anchored, part, regret, together
from tacit_papers.reproductions.oracles import render
from tacit_papers.reproductions.public.bandits import FirstPublic, Silent

ROUNDS = 5000
LONG = {"fashion": 60_000}  # rounds of a world that has more to learn
SEED = 31
DELTA, SMALL_DELTA = 0.02, 1e-6
EPSILONS = (1.0, 4.0)  # of the worlds with many dimensions
GONE = 0.5
DEFAULT, PUBLIC = "default", "contexts public"
WARM = "first 200 users public"


def worlds() -> list[Environment]:
    """The six small worlds."""
    return small()


def wide_worlds() -> list[Labelled]:
    """Those of many dimensions that have unlabelled rows; fashion if it was fetched."""
    out: list[Labelled] = [digits(), breast_cancer()]
    with contextlib.suppress(NotInstalled):
        out.append(fashion())
    return out


def specs() -> list[Spec]:
    budget = Budget(1.0, DELTA)
    return [
        Spec(JointGLM, budget=budget, label=DEFAULT),
        Spec(JointGLM, budget=budget, contexts="public", label=PUBLIC),
        Spec(FirstPublic, budget=budget, label=WARM),
    ]


def silent_specs() -> list[Spec]:
    """Half of the rewards never come, evenly or not."""
    out = []
    for uneven, how in ((False, "half missing"), (True, "80 or 20 % missing")):
        for contexts in ("private", "public"):
            options: dict[str, Any] = {"budget": Budget(1.0, DELTA), "contexts": contexts}
            out.append(Spec(Silent, **options, gone=GONE, uneven=uneven, label=f"{how}, {contexts}"))
    return out


def wide_specs(epsilon: float) -> list[Spec]:
    budget = Budget(epsilon, SMALL_DELTA)
    return [
        Spec(JointGLM, budget=budget, label=DEFAULT),
        Spec(JointGLM, budget=budget, contexts="public", label=PUBLIC),
    ]


class Task(NamedTuple):
    table: str
    world: Environment
    specs: list[Spec]
    runs: int
    rounds: int


def tasks(count: int) -> list[Task]:
    few = count if count < 10 else count // 5  # of what takes longer
    out = [Task("six worlds", world, specs(), count, ROUNDS) for world in worlds()]
    out += [Task("rewards that never come", world, silent_specs(), few, ROUNDS) for world in worlds()]
    for epsilon in EPSILONS:
        for wide in wide_worlds():
            rounds, runs = LONG.get(wide.name, ROUNDS), few if wide.name not in LONG else max(1, few // 4)
            out.append(Task(f"ε = {epsilon:g}, δ = {SMALL_DELTA:g}", wide, wide_specs(epsilon), runs, rounds))
    return out


def reproduce(*, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    listed = tasks(runs or (2 if quick else 100))
    tables: dict[str, dict[str, Result]] = {}
    for i, (table, world, some, count, rounds) in enumerate(listed):
        report = part(progress, i / len(listed), (i + 1) / len(listed))
        result = simulate(some, world, horizon=rounds, runs=count, seed=SEED, out=out, progress=report)
        tables.setdefault(table, {})[world.name] = result
    first = next(iter(tables.values()))
    regret_curves([group for result in first.values() for group in result.groups()], out / "figure.png")
    title = f"What it buys to declare something public: regret, T = {ROUNDS:,}, ε = 1, δ = {DELTA} where not said"
    text = "\n\n".join(f"{table}\n{render(results)}" for table, results in tables.items())
    return Outcome(title, together([r for results in tables.values() for r in results.values()]), findings(first), text)


def findings(results: dict[str, Result]) -> list[Finding]:
    measured = {env: {row["label"]: regret(row) for row in result.rows} for env, result in results.items()}
    out = []
    for label in (PUBLIC, WARM):
        less = [env for env, rows in measured.items() if rows[label].mean < rows[DEFAULT].mean]
        text = f"in {len(less)} of {len(measured)} worlds"
        found = Finding(f"less regret than by default: {label}", text, len(less) == len(measured))
        out.append(anchored(found, [rows[label] for rows in measured.values()]))
    return out
