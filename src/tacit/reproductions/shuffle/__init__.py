"""The experiment that the shuffle paper did not run: its Algorithm 1 as published, with tight noise, and ours, beside
non-private B-GLinCB."""

from pathlib import Path

from tacit import environments
from tacit.bandits import BGLinCB, ShuffleGLM, ShuffleLinUCB, ShuffleNewton, Uniform
from tacit.experiments import figure
from tacit.experiments.result import Result
from tacit.experiments.runner import Progress, simulate
from tacit.experiments.spec import Spec
from tacit.experiments.table import render
from tacit.privacy.budget import Budget
from tacit.reproductions.outcome import Finding, Outcome, part

DELTA = 0.01
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
HORIZONS = {20_000: 20, 100_000: 10, 1_000_000: 3}  # horizon -> runs
SEED = 7001


def specs() -> list[Spec]:
    """Widths of the published ones are tuned on other seeds: with those of the theorems they play uniformly."""
    out = [Spec(Uniform), Spec(BGLinCB, width_scale=0.03, label="b-glin-cb, not private")]
    for epsilon in EPSILONS:
        budget = Budget(epsilon, DELTA)
        out += [
            Spec(ShuffleGLM, budget=budget, calibration="paper", label=f"Algorithm 1 as published ε={epsilon:g}"),
            Spec(ShuffleGLM, budget=budget, label=f"Algorithm 1, tight noise ε={epsilon:g}"),
            Spec(ShuffleLinUCB, budget=budget, width_scale=0.1, label=f"shuffle-lin-ucb ε={epsilon:g}"),
            Spec(ShuffleNewton, budget=budget, label=f"ours ε={epsilon:g}"),
            Spec(ShuffleNewton, budget=budget, explore="ucb", label=f"ours, diverse arms only ε={epsilon:g}"),
        ]
    return out


def reproduce(*, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    world = environments.ball(link="logistic", dim=5, arms=20, radius=3.0)
    plan = {5_000: 2} if quick else HORIZONS
    results = []
    for i, (horizon, count) in enumerate(plan.items()):
        report = part(progress, i / len(plan), (i + 1) / len(plan))
        found = simulate(specs(), world, horizon=horizon, runs=runs or count, seed=SEED, out=out, progress=report)
        results.append(found)
    _draw(results[-1], out / "figure.png")
    findings = [
        finding for result, horizon in zip(results, plan, strict=True) for finding in _findings(result, horizon)
    ]
    result = Result([run for each in results for run in each.runs])
    tables = [f"T = {horizon:,}\n{render(found.rows)}" for found, horizon in zip(results, plan, strict=True)]
    title = f"Shuffle privacy: logistic ball, d = 5, K = 20, S = 3, δ = {DELTA}"
    return Outcome(title, result, findings, "\n\n".join(tables))


def _draw(result: Result, path: Path) -> None:
    """At epsilon 1 or without noise; what plays at random would hide the rest."""
    canvas, axes = figure.subplots(1, 1, width=7.4)
    shown = [group for group in result.groups() if group[0].epsilon in (None, 1.0)]
    shown = [group for group in shown if "published" not in group[0].label and group[0].label != "uniform"]
    axis = axes[0, 0]
    figure.draw_panel(axis, shown, log=True)
    for line in axis.get_lines():
        line.set_label(line.get_label().removesuffix(" ε=1"))
    figure.at_ends(axis)
    axis.set_title(f"ball, logistic, ε = 1, δ = {DELTA}, mean of {len(shown[0])} runs", loc="left")
    figure.save(canvas, path)


def _findings(result: Result, horizon: int) -> list[Finding]:
    mean = {row["label"]: row["regret_mean"] for row in result.rows}
    out = []
    for epsilon in (1.0, 4.0):
        theirs, tight, ours = (
            mean[f"{name} ε={epsilon:g}"] for name in ("Algorithm 1 as published", "Algorithm 1, tight noise", "ours")
        )
        text = f"T = {horizon:,}, ε = {epsilon:g}: "
        out.append(
            Finding(
                text + "Algorithm 1 as published plays no better than at random",
                f"{theirs:.0f} against {mean['uniform']:.0f} for uniform play",
                theirs > 0.9 * mean["uniform"],
            )
        )
        out.append(Finding(text + "tight noise makes it learn", f"{tight:.0f}", tight < 0.5 * theirs))
        out.append(
            Finding(text + "one message and one round beat the optimiser", f"{ours:.0f} to {tight:.0f}", ours < tight)
        )
    return out
