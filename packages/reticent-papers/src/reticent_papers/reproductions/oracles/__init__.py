"""Where JointGLM's regret comes from: the same bandit with parts of its noise left out, which no private bandit can
do."""

import math
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table

from reticent.environments import Environment
from reticent.experiments.result import Result
from reticent.experiments.runner import Progress
from reticent.experiments.spec import Spec
from reticent.experiments.table import to_text
from reticent.joint import JointGLM
from reticent.privacy.budget import Budget
from reticent_lab.arena.worlds import small
from reticent_lab.environments import digits
from reticent_lab.experiments import figure
from reticent_lab.experiments.sweeps import simulate
from reticent_papers.outcome import Finding, Outcome
from reticent_papers.references.mle_ucb import MLEUCB
from reticent_papers.reproductions.findings import Regret, above_plain, anchored, part, regret, together
from reticent_papers.reproductions.oracles.bandit import OracleSpec

ROUNDS = 5000
SEED = 41
BUDGETS = {"digits": Budget(1, 1e-6)}  # of worlds whose budget is not SMALL
SMALL = Budget(1, 0.02)
PRIVATE, WITHOUT, REFERENCE = "joint-glm", "no noise", "mle-ucb, not private"
ORACLES = {
    "curvature without noise": "curvature",
    "moments without noise": "moments",
    "noise fresh in each release": "fresh",
    "no cost of continual release": "once",
    "floor: all of these but one draw of noise in the moments": "floor",
}


def worlds() -> list[Environment]:
    """The six small worlds, and one of many dimensions."""
    return [*small(), digits()]


def specs(budget: Budget) -> list[Spec]:
    return [
        Spec(JointGLM, budget=budget, model="curvature", label=PRIVATE),
        *(OracleSpec(left, budget=budget, model="curvature", label=n) for n, left in ORACLES.items()),
        Spec(JointGLM, budget=Budget(math.inf, budget.delta), label=WITHOUT),
        Spec(MLEUCB, label=REFERENCE),
    ]


def reproduce(*, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    listed = worlds()
    results: dict[str, Result] = {}
    for i, world in enumerate(listed):
        count = runs or ((2 if quick else 100) if world.dim < 12 else (1 if quick else 20))
        report = part(progress, i / len(listed), (i + 1) / len(listed))
        some = specs(BUDGETS.get(world.name, SMALL))
        results[world.name] = simulate(some, world, horizon=ROUNDS, runs=count, seed=SEED, out=out, progress=report)
    measured = {env: {row["label"]: regret(row) for row in result.rows} for env, result in results.items()}
    draw({env: {name: each.mean for name, each in rows.items()} for env, rows in measured.items()}, out / "figure.png")
    title = f"Where the regret of JointGLM at ε = 1 comes from: mean regret, T = {ROUNDS:,}"
    result = together(list(results.values()))
    served = Result([run for run in result.runs if run.label not in ORACLES])  # an oracle is not private
    return Outcome(title, result, [*findings(measured), above_plain(served)], render(results))


def findings(measured: dict[str, dict[str, Regret]]) -> list[Finding]:
    curvature, moments, floor = "curvature without noise", "moments without noise", list(ORACLES)[-1]
    more = [env for env, rows in measured.items() if rows[curvature].mean <= rows[moments].mean]
    above = [env for env, rows in measured.items() if rows[floor].mean > 2 * rows[WITHOUT].mean]
    found = [
        Finding(
            "the curvature's noise costs more than the moments', as before eigenvalues were shrunk by their noise",
            f"in {len(more)} of {len(measured)} worlds: {', '.join(more) or 'none'}",
            2 * len(more) > len(measured),
        ),
        Finding(
            "twice the regret without noise is out of reach at ε = 1, even of the floor",
            f"in {len(above)} of {len(measured)} worlds: {', '.join(above) or 'none'}",
            bool(above),
        ),
    ]
    return [anchored(each, [rows[name] for rows in measured.values() for name in (PRIVATE, floor)]) for each in found]


def render(results: dict[str, Result]) -> str:
    """Bandits down, worlds across: mean and standard error."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("", max_width=34)
    for env in results:
        table.add_column(env, justify="right", no_wrap=True)
    by = {env: {row["label"]: row for row in result.rows} for env, result in results.items()}
    for label in next(iter(by.values())):
        cells = [(by[env][label]["regret_mean"], by[env][label]["regret_se"]) for env in results]
        table.add_row(label, *(f"{m:.0f}" + ("" if se is None else f" ± {se:.0f}") for m, se in cells))
    return to_text(table)


def draw(means: dict[str, dict[str, float]], path: Path) -> None:
    """One panel a world: a bar for each bandit, the private one's on top."""
    canvas, axes = figure.subplots(2, 4, width=3.4, height=2.6)
    for axis in axes.flat[len(means) :]:
        axis.set_visible(False)
    for i, (axis, (env, mean)) in enumerate(zip(axes.flat, means.items(), strict=False)):
        names = list(mean)[::-1]
        colours = [figure.COLOURS[{PRIVATE: 0, WITHOUT: 2, REFERENCE: 7}.get(name, 4)] for name in names]
        bars = axis.barh(range(len(names)), [mean[name] for name in names], color=colours, height=0.7)
        axis.bar_label(bars, fmt="%.0f", padding=3, fontsize=9)
        axis.set_yticks(range(len(names)), [name.split(":")[0] for name in names] if i % 4 == 0 else [""] * len(names))
        axis.set_xlim(right=1.18 * max(mean.values()))
        axis.grid(visible=False, axis="y")
        axis.set_title(env.replace("_", "-"), loc="left")
        if i >= len(means) - 4:
            axis.set_xlabel("regret")
    figure.save(canvas, path)
