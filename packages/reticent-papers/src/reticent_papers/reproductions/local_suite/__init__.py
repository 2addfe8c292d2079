"""All bandits of the local model in all environments, epsilon .5 to 8, pure and with delta 1e-6 and .01."""

import math
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table

from reticent import Uniform, environments
from reticent.environments import Environment
from reticent.experiments.result import Result
from reticent.experiments.runner import Progress
from reticent.experiments.spec import Spec
from reticent.experiments.table import to_text
from reticent.privacy.budget import Budget
from reticent_devices import LocalIRLS, Server
from reticent_lab.arena.worlds import small
from reticent_lab.environments import breast_cancer, digits
from reticent_lab.experiments import figure
from reticent_lab.experiments.sweeps import simulate
from reticent_papers import LocalAnytimeUCB, LocalCombiner, LocalGLM, LocalLinUCB, LocalOnlineUCB
from reticent_papers.outcome import Finding, Outcome
from reticent_papers.reproductions.findings import Regret, anchored, part, regret

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
DELTAS = (1e-6, 1e-2)
ROUNDS, QUICK = 2000, 500
RUNS = {"digits": 4, "breast-cancer": 20}  # fewer than 40 where a round takes long
SEED = 6106
PURE: dict[str, tuple[type[Server], dict[str, str]]] = {  # pure at each delta: no Gaussian noise is smaller
    "local-irls": (LocalIRLS, {}),
    "local-glm": (LocalGLM, {}),
    "local-glm, cap": (LocalGLM, {"randomizer": "cap"}),
}
GAUSSIAN: dict[str, type[Server]] = {
    "local-lin-ucb": LocalLinUCB,
    "local-online-ucb": LocalOnlineUCB,
    "local-anytime-ucb": LocalAnytimeUCB,
    "local-combiner": LocalCombiner,
}


def worlds() -> list[Environment]:
    return [
        *small(),
        environments.sphere(radius=3.0, link="probit"),
        environments.skewed(),
        environments.tail(radius=1.0),
        breast_cancer(),
        digits(),
    ]


def specs(world: Environment) -> list[Spec]:
    """Pure ones once; Gaussian ones at each delta, but at 10^-6 alone in 60 dimensions (a millisecond a round)."""
    out = [Spec(Uniform)]
    deltas = DELTAS[:1] if world.dim > 12 else DELTAS
    for epsilon in EPSILONS:
        for name, (kind, options) in PURE.items():
            out.append(Spec(kind, budget=Budget(epsilon, DELTAS[0]), label=label(name, epsilon, 0.0), **options))
        for delta in deltas:
            for name, each in GAUSSIAN.items():
                out.append(Spec(each, budget=Budget(epsilon, delta), label=label(name, epsilon, delta)))
    return out


def label(name: str, epsilon: float, delta: float) -> str:
    return f"{name} δ={delta:g} ε={epsilon:g}"


def reproduce(*, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    listed = worlds()
    results: dict[str, Result] = {}
    for i, world in enumerate(listed):
        name = world.name.replace("_", "-")
        count = runs or (2 if quick else RUNS.get(name, 40))
        rounds = (QUICK if quick else ROUNDS) // (2 if world.dim > 12 else 1)
        report = part(progress, i / len(listed), (i + 1) / len(listed))
        results[name] = simulate(specs(world), world, horizon=rounds, runs=count, seed=SEED, out=out, progress=report)
    draw(results, out / "figure.png")
    findings = [_finding(epsilon, results) for epsilon in EPSILONS]
    together = Result([run for each in results.values() for run in each.runs])
    title = f"All local bandits in all environments: mean regret over {QUICK if quick else ROUNDS:,} rounds"
    tables = [f"ε = {epsilon:g}\n{render(epsilon, results)}" for epsilon in EPSILONS]
    return Outcome(title, together, findings, "\n\n".join(tables))


def render(epsilon: float, results: dict[str, Result]) -> str:
    """Bandits down, environments across."""
    means = {env: {row["label"]: row["regret_mean"] for row in result.rows} for env, result in results.items()}
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=0)
    table.add_column("", no_wrap=True)
    table.add_column("δ", no_wrap=True)
    for env in means:
        table.add_column(env.replace("-", "-\n"), justify="right", no_wrap=True, vertical="bottom")
    lines = [(name, 0.0) for name in PURE] + [(name, delta) for delta in DELTAS for name in GAUSSIAN]
    for name, delta in lines:
        found = [means[env].get(label(name, epsilon, delta)) for env in means]
        table.add_row(name, f"{delta:g}", *("–" if mean is None else f"{mean:.0f}" for mean in found))
    table.add_row("uniform", "", *(f"{means[env]['uniform']:.0f}" for env in means))
    return to_text(table)


def draw(results: dict[str, Result], path: Path) -> None:
    """Regret against epsilon, one panel an environment; delta = 10^-6 for those that need one."""
    canvas, axes = figure.subplots(3, 4, width=3.1, height=2.5)
    means = [row["regret_mean"] for result in results.values() for row in result.rows]
    for axis in axes.flat[len(results) :]:
        axis.set_visible(False)
    for axis, (env, result) in zip(axes.flat, results.items(), strict=False):
        rows = {row["label"]: row for row in result.rows}
        for index, name in enumerate((*PURE, *GAUSSIAN)):
            some = [rows[label(name, e, 0.0 if name in PURE else DELTAS[0])] for e in EPSILONS]
            errors = [2 * (row["regret_se"] or 0.0) for row in some]
            axis.errorbar(EPSILONS, [row["regret_mean"] for row in some], errors, label=name, **figure.style(index))
        axis.axhline(rows["uniform"]["regret_mean"], color="#444444", linewidth=1, linestyle=":", label="uniform play")
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_yticks((30, 100, 300, 1000), ("30", "100", "300", "1000"))
        axis.set_ylim(0.8 * min(means), 1.3 * max(means))
        axis.minorticks_off()
        axis.set_xticks(EPSILONS, [f"{e:g}" for e in EPSILONS])
        axis.set_title(env, loc="left")
        axis.set_xlabel("ε")
        axis.set_ylabel("regret")
    handles, names = axes.flat[0].get_legend_handles_labels()
    canvas.legend(handles, names, loc="lower right", bbox_to_anchor=(0.99, 0.06), fontsize=9)
    figure.save(canvas, path)


def _finding(epsilon: float, results: dict[str, Result]) -> Finding:
    """Whether another bandit is ahead of ours anywhere, by more than two standard errors of the difference."""
    ahead: list[str] = []
    near: list[str] = []
    everywhere: list[Regret] = []
    for env, result in results.items():
        rows = {row["label"]: row for row in result.rows if row["epsilon"] == epsilon}
        ours = rows.pop(label("local-irls", epsilon, 0.0))
        everywhere.append(regret(ours))
        for name, row in rows.items():
            difference = ours["regret_mean"] - row["regret_mean"]
            if difference > 0:
                error = math.hypot(ours["regret_se"] or 0.0, row["regret_se"] or 0.0)
                text = f"{name} on {env} ({row['regret_mean']:.0f} to {ours['regret_mean']:.0f})"
                (ahead if difference > 2 * error else near).append(text)
    seen = f"ahead: {', '.join(ahead) or 'none'}; within the error: {', '.join(near) or 'none'}"
    found = Finding(f"ε = {epsilon:g}: no other bandit ahead of local-irls anywhere", seen, not ahead)
    return anchored(found, everywhere)
