"""Shariff & Sheffet 2018, D.3 (figure 5): the shift of the regulariser, for several gaps.

As D.2, with the shift varied: the x-axis is rho_min, the bound on the smallest eigenvalue that the shift leaves. The
published noise, and ours (exact Gaussian) at the same budget. The text names no gaps but 0 and .1; one is added."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from reticent.data import Array
from reticent.environments import gap
from reticent.experiments.result import Result
from reticent.experiments.runner import Progress
from reticent.experiments.spec import Spec
from reticent.experiments.table import number, to_text
from reticent.privacy.budget import Budget
from reticent.privacy.noise import Simulated
from reticent_lab.experiments import figure
from reticent_lab.experiments.sweeps import simulate
from reticent_papers import ShariffLinUCB
from reticent_papers.outcome import Finding, Outcome
from reticent_papers.reproductions.findings import Regret, anchored, claims, part, regret, together

BUDGET = Budget(1.0, 0.1)
QUICK, FULL = 300_000, 50_000_000  # rounds
GAPS = (0.0, 0.05, 0.1)
USUAL = 2  # which point of a sweep has the usual shift
Curves = dict[tuple[str, float], tuple[Array, Array, Array]]  # (noise, gap): rho_min, regret, its standard error
VARIANTS = {
    "Wishart": {"noise": "wishart", "calibration": "paper"},
    "Gaussian": {"noise": "gaussian", "calibration": "paper"},
    "ours": {"noise": "gaussian", "release": "batched"},
}


def reproduce(*, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    horizon = QUICK if quick else FULL
    runs = runs or (2 if quick else 3)
    points = 5 if quick else 6
    results = []
    for i, (name, options) in enumerate(VARIANTS.items()):
        plain = ShariffLinUCB(dim=5, horizon=horizon, budget=BUDGET, pending=1, source=Simulated(), **options)  # type: ignore[arg-type]
        specs = [
            Spec(
                ShariffLinUCB,
                budget=BUDGET,
                **options,
                shift=float(floor - plain.regularizer.floor + plain.regularizer.shift),
                label=f"{name} ρ={floor:.3g}",
            )
            for floor in floors(plain, points)
        ]
        worlds = [gap(dim=5, arms=25, gap=g) for g in GAPS]
        report = part(progress, i / len(VARIANTS), (i + 1) / len(VARIANTS))
        results.append(simulate(specs, worlds, horizon=horizon, runs=runs, seed=53, out=out, progress=report))
    result = together(results)
    curves = {(name, g): _curve(result, name, g) for name in VARIANTS for g in GAPS}
    known: dict[str, Any] = {"dim": 5, "horizon": horizon, "budget": BUDGET, "pending": 1, "source": Simulated()}
    usual = {name: ShariffLinUCB(**(known | options)).regularizer.floor for name, options in VARIANTS.items()}
    _draw(curves, usual, out / "figure.png")
    title = f"Shariff & Sheffet 2018, D.3: regret against the shift, {horizon:,} rounds, ε = 1, δ = 0.1"
    findings = [*_said(curves, usual), *_findings(curves)]
    findings = [anchored(each, _variant(result, each.expected)) for each in findings] + _shifts(known)
    return Outcome(title, result, findings, _table(curves))


def floors(plain: ShariffLinUCB, points: int) -> Array:
    """rho_min from a sixteenth of the usual one, by the usual one, to that of unshifted Wishart noise (Gaussian: 64
    times it)."""
    usual = plain.regularizer.floor
    most = usual - plain.regularizer.shift if plain.noise == "wishart" else 64 * usual
    return np.concatenate([np.geomspace(usual / 16, usual, 3), np.geomspace(usual, most, points - 2)[1:]])


def _curve(result: Result, name: str, g: float) -> tuple[Array, Array, Array]:
    rows = [r for r in result.rows if r["label"].startswith(f"{name} ρ=") and r["setting"]["gap"] == g]
    floor = np.array([float(r["label"].split("ρ=")[1]) for r in rows])
    error = [math.nan if r["regret_se"] is None else r["regret_se"] for r in rows]
    return floor, np.array([r["regret_mean"] for r in rows]), np.array(error)


def _variant(result: Result, name: str) -> list[Regret]:
    """Regrets of the variant that a finding begins with, at every shift and gap."""
    start = name.replace(",", ":").partition(":")[0]
    return [regret(row) for row in result.rows if row["label"].startswith(f"{start} ρ=")]


def _said(curves: Curves, usual: dict[str, float]) -> list[Finding]:
    """What D.3 says of the results."""
    ratio = {g: float(curves["Wishart", g][1][-1] / curves["Wishart", g][1][USUAL]) for g in GAPS}
    text = ", ".join(f"{ratio[g]:.2f} times at gap {g:g}" for g in GAPS)
    name = "Wishart: unshifted over shifted changes drastically with the gap (to half the excess or less)"
    out = [Finding(name, text, ratio[0.0] > 1 and ratio[0.1] - 1 <= 0.5 * (ratio[0.0] - 1))]
    for variant in ("Wishart", "Gaussian"):
        best = [int(curves[variant, g][1].argmin()) for g in GAPS]
        places = ", ".join(f"{curves[variant, g][0][i]:.3g}" for g, i in zip(GAPS, best, strict=True))
        text = f"best ρ_min at gap {', '.join(f'{g:g}' for g in GAPS)}: {places} (usual {usual[variant]:.3g})"
        name = f"{variant}: the best shift does not depend on the gap (within a step of the sweep)"
        out.append(Finding(name, text, max(best) - min(best) <= 1))
    return out


def _shifts(known: dict[str, Any]) -> list[Finding]:
    """What D.3 says of rho_min, by arithmetic."""
    name = "changing the shift changes ρ_min by the same amount"
    steps = []
    for noise in ("wishart", "gaussian"):
        plain = ShariffLinUCB(**known, noise=noise, calibration="paper")
        shift = plain.regularizer.shift + 100.0
        more = ShariffLinUCB(**known, noise=noise, calibration="paper", shift=shift)
        steps.append(more.regularizer.floor - plain.regularizer.floor)
    text = f"100 more: {steps[0]:.6g} more for Wishart, {steps[1]:.6g} for Gaussian"
    out = [Finding(name, text, bool(np.allclose(steps, 100.0)))]
    gaussian = ShariffLinUCB(**known, noise="gaussian", calibration="paper").regularizer
    least = gaussian.floor - gaussian.shift
    text = f"without its shift, ρ_min = {least:.3g}"
    out.append(Finding("Gaussian noise has no unshifted variant (eigenvalues below 0)", text, least < 0))
    return out


def _findings(curves: Curves) -> list[Finding]:
    """What the figure shows."""
    flat = claims(__package__)["flat"]
    out = []
    for name in ("Wishart", "Gaussian"):
        spread = {g: float(curves[name, g][1].max() / curves[name, g][1].min()) for g in GAPS}
        out.append(
            Finding(
                f"{name}: the shift matters without a gap, much less with a gap of 0.1",
                f"largest / smallest regret {spread[0.0]:.2f} without a gap, {spread[0.1]:.2f} with",
                spread[0.1] - 1 <= flat * (spread[0.0] - 1),
            )
        )
    for name in ("Wishart", "Gaussian"):
        ends = curves[name, 0.1][1]
        more = float(ends[-1] / ends[len(ends) // 2])
        out.append(
            Finding(
                f"{name}, gap 0.1: too much regularisation does not hurt appreciably",
                f"regret at the largest shift is {more:.2f} times that in the middle",
                more <= 1.5,
            )
        )
    return out


def _table(curves: Curves) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("noise")
    for column in ("ρ_min", *(f"regret, gap {g}" for g in GAPS)):
        table.add_column(column, justify="right")
    for name in VARIANTS:
        floor = curves[name, GAPS[0]][0]
        for i in range(len(floor)):
            cells = [f"{number(curves[name, g][1][i])} ± {number(curves[name, g][2][i])}" for g in GAPS]
            table.add_row(name if i == 0 else "", f"{floor[i]:.3g}", *cells, end_section=i == len(floor) - 1)
    return to_text(table)


def _draw(curves: Curves, usual: dict[str, float], path: Path) -> None:
    canvas, axes = figure.subplots(1, len(VARIANTS), width=4.6)
    for axis, name in zip(axes[0], VARIANTS, strict=True):
        for i, g in enumerate(GAPS):
            floor, ends, error = curves[name, g]
            axis.errorbar(
                floor,
                ends,
                yerr=2 * np.nan_to_num(error),
                marker="o",
                markersize=4,
                label=f"gap {g}",
                **figure.style(i),
            )
        axis.axvline(usual[name], color="#7F7F7F", linestyle=":", linewidth=1.2, label="usual shift")
        axis.set(xscale="log", yscale="log", xlabel="ρ_min", ylabel="regret at the end")
        axis.set_title(name if name == "ours" else f"{name}, as published", loc="left")
        figure.below(axis)
    figure.save(canvas, path)
