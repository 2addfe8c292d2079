"""Shariff & Sheffet 2018, D.2 (figure 4): the private variants over time, with and without a gap.

epsilon = 1, delta = .1, n = 5 10^7 rounds, d = 5, K = 25, +-1 rewards. The paper's variants have calibration="paper";
ours, at the same budget, stand beside them."""

from pathlib import Path

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
from reticent_papers.reproductions.findings import above_plain, alike, anchored, claims, mean

BUDGET = Budget(1.0, 0.1)
QUICK, FULL = 1_000_000, 50_000_000  # rounds
GAPS = (0.0, 0.1)
SPECS = (
    Spec(LinUCB, label="NonPrivate"),
    Spec(ShariffLinUCB, budget=BUDGET, calibration="paper", noise="gaussian", label="Gaussian"),
    Spec(ShariffLinUCB, budget=BUDGET, calibration="paper", noise="wishart", label="Wishart"),
    Spec(ShariffLinUCB, budget=BUDGET, calibration="paper", noise="wishart-unshifted", label="WishartUnshifted"),
    Spec(ShariffLinUCB, budget=BUDGET, noise="wishart", label="ours, wishart"),
    Spec(ShariffLinUCB, budget=BUDGET, label="ours, tree"),
    Spec(ShariffLinUCB, release="batched", budget=BUDGET, label="ours"),
)


def reproduce(*, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    horizon = QUICK if quick else FULL
    worlds = [gap(dim=5, arms=25, gap=g) for g in GAPS]
    result = simulate(
        SPECS,
        worlds,
        horizon=horizon,
        runs=runs or (2 if quick else 10),
        seed=2018,
        out=out,
        progress=progress,
    )
    _draw(result, out / "figure.png")
    title = f"Shariff & Sheffet 2018, D.2: private variants over {horizon:,} rounds, ε = 1, δ = 0.1"
    blocks = [f"gap {g}\n{render([r for r in result.rows if r['setting']['gap'] == g])}" for g in GAPS]
    return Outcome(title, result, _findings(result), "\n\n".join(blocks))


def _findings(result: Result) -> list[Finding]:
    limits = claims(__package__)
    like, flat = limits["like"], limits["flat"]
    found = {(label, g): mean(result, label, gap=g) for label in (s.label for s in SPECS) for g in GAPS}
    out = []
    for g in GAPS:
        gaussian, wishart = found["Gaussian", g], found["Wishart", g]
        text = f"{gaussian.mean:,.0f} against {wishart.mean:,.0f}"
        out.append(
            anchored(Finding(f"Gaussian below Wishart, gap {g}", text, gaussian.mean < wishart.mean), [gaussian])
        )
    worst, others = found["WishartUnshifted", 0.0].mean, (found["Gaussian", 0.0], found["Wishart", 0.0])
    most = max(each.mean for each in others)
    text = f"{worst:,.0f}, the others at most {most:,.0f}"
    out.append(anchored(Finding("WishartUnshifted worst without a gap", text, worst > most), others))
    pair = found["WishartUnshifted", 0.1], found["Wishart", 0.1]
    out.append(alike("WishartUnshifted like Wishart at gap 0.1", *pair, like))
    small = max(found["NonPrivate", g].mean / found["Gaussian", g].mean for g in GAPS)
    unseen = Finding("NonPrivate too small to see", f"at most {small:.2%} of Gaussian", small < 0.02)
    out.append(anchored(unseen, [found["Gaussian", g] for g in GAPS]))
    for label in ("Gaussian", "Wishart", "WishartUnshifted"):
        late = [_late(result, label, g) for g in GAPS]
        text = ", ".join(f"{share:.0%} at gap {g:g}" for g, share in zip(GAPS, late, strict=True))
        name = f"{label}: essentially flat after two fifths of the rounds (at most {flat:.0%} of the regret comes then)"
        out.append(anchored(Finding(name, text, max(late) <= flat), [found[label, g] for g in GAPS]))
    return [*out, above_plain(result)]


def _late(result: Result, label: str, gap: float) -> float:
    """The share of the regret that comes after two fifths of the rounds (2 10^7 of 5 10^7)."""
    runs = [run for run in result.runs if run.label == label and run.setting["gap"] == gap]
    early = sum(float(np.interp(0.4 * run.horizon, run.at, run.curve)) for run in runs)
    return 1 - early / sum(run.regret or 0.0 for run in runs)


def _draw(result: Result, path: Path) -> None:
    canvas, axes = figure.subplots(1, len(GAPS), width=6.0)
    for axis, g in zip(axes[0], GAPS, strict=True):
        figure.draw_panel(axis, [x for x in result.groups() if x[0].setting["gap"] == g], log=True)
        figure.at_ends(axis)
        axis.set_title(f"gap {g}", loc="left")
    figure.save(canvas, path)
