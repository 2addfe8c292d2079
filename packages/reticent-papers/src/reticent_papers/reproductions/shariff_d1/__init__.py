"""Shariff & Sheffet 2018, D.1 (figures 2 and 3): how the regret of LinUCB grows with the dimension on gap instances.

n = 10^5 rounds, K = d^2 arms, ridge 1, d logarithmically spaced in [4, 64], Gaussian and +-1 rewards. The figure adds
ours: ShariffLinUCB(release="batched") at epsilon = 1, delta = .1, up to d = 32 (+-1 rewards only: privacy needs bounded
ones)."""

from pathlib import Path
from typing import Any

import numpy as np

from reticent import LinUCB
from reticent.environments import gap
from reticent.experiments.result import Result
from reticent.experiments.runner import Progress
from reticent.experiments.spec import Spec
from reticent.experiments.table import render
from reticent.privacy.budget import Budget
from reticent_lab.experiments import figure
from reticent_lab.experiments.sweeps import simulate
from reticent_papers import ShariffLinUCB
from reticent_papers.outcome import Finding, Outcome
from reticent_papers.reproductions.findings import above_plain, anchored, claims, part, regret, together

BUDGET = Budget(1.0, 0.1)
QUICK, FULL = 10_000, 100_000  # rounds
DIMENSIONS = (4, 6, 8, 11, 16, 23, 32, 45, 64)


def reproduce(*, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    dimensions = DIMENSIONS[:5] if quick else DIMENSIONS
    horizon = QUICK if quick else FULL
    runs = runs or (5 if quick else 10)
    costs = np.cumsum([0.0, *(float(d) ** 4 + 1000 for d in dimensions)])
    results = []
    for i, d in enumerate(dimensions):
        report = part(progress, costs[i] / costs[-1], costs[i + 1] / costs[-1])
        plain = [Spec(LinUCB, label=f"lin-ucb d={d}")]
        ours: dict[str, Any] = {"release": "batched", "budget": BUDGET, "label": f"shariff-lin-ucb ε=1 d={d}"}
        private = [Spec(ShariffLinUCB, **ours)] if d <= 32 else []
        settings: dict[str, Any] = {"horizon": horizon, "runs": runs, "seed": 1810, "out": out}
        world: dict[str, Any] = {"dim": d, "arms": d * d, "gap": 0.1}
        results.append(simulate(plain, gap(**world, noise="gaussian"), **settings, progress=part(report, 0, 0.4)))
        results.append(simulate(plain + private, gap(**world), **settings, progress=part(report, 0.4, 1)))
    result = together(results)
    slopes = {
        "gaussian": slope(result, "lin-ucb", "gaussian"),
        "±1": slope(result, "lin-ucb", "bounded"),
        "shariff-lin-ucb": slope(result, "shariff-lin-ucb", "bounded"),
    }
    _draw(result, dimensions, slopes, out / "figure.png")
    limits = claims(__package__)
    findings = [
        Finding(
            f"log-log slope of regret in d about 2, {name} rewards",
            f"slope {value:.2f} ± {error:.2f} over d = {dimensions[0]}..{dimensions[-1]}, T = {horizon:,}",
            limits["slope_low"] <= value <= limits["slope_high"],
        )
        for name, (value, error) in slopes.items()
        if name != "shariff-lin-ucb"
    ]
    least = min(value - 2 * error for name, (value, error) in slopes.items() if name != "shariff-lin-ucb")
    text = f"slope at least {least:.2f}, two standard errors off"
    findings.append(Finding("clearly super-linear in d", text, least > 1))
    low, high = _total(result, "bounded"), _total(result, "gaussian")
    findings.append(
        Finding(
            "regret somewhat lower with ±1 than with Gaussian rewards",
            f"summed over d: {low:,.0f} with ±1, {high:,.0f} with Gaussian rewards",
            low < high,
        )
    )
    plainly = [regret(row) for row in result.rows if row["bandit"] == "lin-ucb"]
    findings = [*(anchored(finding, plainly) for finding in findings), above_plain(result)]
    title = "Shariff & Sheffet 2018, D.1: regret against dimension"
    extra = {"slopes": {name: {"slope": v, "se": e} for name, (v, e) in slopes.items()}}
    return Outcome(title, result, findings, render(result.rows), extra)


def points(result: Result, bandit: str, noise: str) -> tuple[list[int], list[list[float]]]:
    """Dimensions, and the regrets of their runs."""
    out: dict[int, list[float]] = {}
    for run in result.runs:
        if run.bandit == bandit and run.setting["noise"] == noise and run.regret is not None:
            out.setdefault(run.setting["dim"], []).append(run.regret)
    return list(out), list(out.values())


def slope(result: Result, bandit: str, noise: str) -> tuple[float, float]:
    """Least-squares slope of log regret (every run a point) on log d, and its standard error."""
    dimensions, regrets = points(result, bandit, noise)
    x = np.concatenate([np.full(len(r), np.log(d)) for d, r in zip(dimensions, regrets, strict=True)])
    y = np.log(np.concatenate(regrets))
    x = x - x.mean()
    value = float(x @ y / (x @ x))
    rest = y - y.mean() - value * x
    return value, float(np.sqrt(rest @ rest / (len(x) - 2) / (x @ x)))


def _total(result: Result, noise: str) -> float:
    return sum(float(np.mean(r)) for r in points(result, "lin-ucb", noise)[1])


def _draw(result: Result, dimensions: tuple[int, ...], slopes: dict[str, tuple[float, float]], path: Path) -> None:
    canvas, axes = figure.subplots(1, 3, width=5.2)
    for axis, noise, title in (
        (axes[0, 0], "gaussian", "Gaussian rewards"),
        (axes[0, 1], "bounded", "±1 rewards"),
    ):
        groups = [g for g in result.groups() if g[0].bandit == "lin-ucb" and g[0].setting["noise"] == noise]
        figure.draw_panel(axis, groups)
        axis.set_title(f"LinUCB, {title}", loc="left")
    axis = axes[0, 2]
    names = (
        ("lin-ucb", "gaussian", "gaussian"),
        ("lin-ucb", "bounded", "±1"),
        ("shariff-lin-ucb", "bounded", "shariff-lin-ucb"),
    )
    for i, (bandit, noise, key) in enumerate(names):
        xs, regrets = points(result, bandit, noise)
        means = [float(np.mean(r)) for r in regrets]
        value, error = slopes[key]
        label = f"{'ours, ε=1' if bandit != 'lin-ucb' else f'LinUCB, {key}'}: slope {value:.2f} ± {error:.2f}"
        axis.plot(xs, means, marker="o", markersize=4, label=label, **figure.style(i))
    axis.set(xscale="log", yscale="log", xlabel="dimension d", ylabel="regret at the end")
    axis.set_xticks(dimensions, [str(d) for d in dimensions])
    axis.minorticks_off()
    axis.set_title("Regret against dimension", loc="left")
    figure.below(axis)
    figure.save(canvas, path)
