"""Whether the error of the main paper's private optimisers is what it says (nu), whatever the contexts.

A review of the paper names what would settle its one concern: an instance of contexts that are bounded and no more, in
which the optimiser's error grows too fast for the regret bounds. These hold nu_2 of (57) (joint) and nu of (22)
(shuffle) under a square root. So the optimisers run as printed in worlds without diversity, over the horizon, the
dimension and epsilon; errors are in units of nu, with 1 for the constants under O(.), and beside those of theta = 0."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import default_rng

from reticent.experiments.result import Result
from reticent.experiments.runner import Progress
from reticent_lab.experiments import figure
from reticent_papers.outcome import Finding, Outcome
from reticent_papers.reproductions.optimiser import descent

Cell = dict[str, Any]
DIM, EPSILON = 3, 1.0  # where they are not varied
USERS = {"joint": (1_000, 5_000, 20_000, 50_000), "shuffle": (1_000, 3_000, 10_000, 30_000)}
DIMS, EPSILONS = (3, 5, 10), (0.5, 1.0, 4.0)
SEED = 2602
GROWTH = 2.0  # times that an error may grow in units of nu and is still called of its order


def reproduce(*, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    listed = [cell for model in descent.MODELS for cell in cells(model, quick)]
    found = []
    for i, cell in enumerate(listed):
        found.append(measure(cell, runs or (2 if quick else 10)))
        if progress is not None:
            progress((i + 1) / len(listed))
    _draw(found, out / "figure.png")
    title = (
        f"The optimiser's error against ν: d = {DIM}, ε = {EPSILON:g}, S = {descent.RADIUS:g}, δ = {descent.DELTA:g}"
    )
    findings = [finding for model in descent.MODELS for finding in said(found, model)] + [
        _first(max(cell["users"] for cell in listed))
    ]
    return Outcome(title, Result([]), findings, _table(found), {"errors": found})


def cells(model: str, quick: bool) -> list[Cell]:
    """Over T with all contexts; over d and epsilon at the longest T."""
    lengths = USERS[model][: -1 if quick else None]
    settings = [(n, DIM, EPSILON) for n in lengths]
    settings += [(lengths[-1], d, EPSILON) for d in DIMS] + [(lengths[-1], DIM, e) for e in EPSILONS]
    names = ("model", "users", "dim", "epsilon", "contexts")
    listed = [(model, *each, name) for each in dict.fromkeys(settings) for name in descent.CONTEXTS]
    return [dict(zip(names, each, strict=True)) for each in listed]


def measure(cell: Cell, runs: int) -> Cell:
    planned = descent.MODELS[cell["model"]](cell["dim"], cell["users"], cell["epsilon"])
    errors = []
    for run in range(runs):
        rng = default_rng([SEED, run, cell["users"], cell["dim"]])
        errors.append(descent.missed(planned, cell["contexts"], cell["dim"], cell["users"], rng))
    error, zero = (float(value) for value in np.mean(errors, axis=0))
    return cell | {"error": error, "zero": zero, "nu": planned.nu, "steps": planned.steps, "ratio": error / planned.nu}


def said(found: list[Cell], model: str) -> list[Finding]:
    """Growth is of the largest error over contexts, and is seen only of an optimiser that is better than none."""
    mine = [cell for cell in found if cell["model"] == model]
    usual = {"users": max(cell["users"] for cell in mine), "dim": DIM, "epsilon": EPSILON}
    ends = _where(mine, usual)
    ball = next(cell for cell in ends if cell["contexts"] == "ball")
    better = ball["error"] < ball["zero"] / 2
    text = f"{ball['error']:.0f}, where θ = 0 has {ball['zero']:.0f} and ν is {ball['nu']:.0f}, T = {usual['users']:,}"
    out = [Finding(f"{model}: in the ball its error is less than half of that of θ = 0", text, better)]
    for words, key in (("T grows", "users"), ("d grows", "dim"), ("ε falls", "epsilon")):
        some = _where(mine, {k: v for k, v in usual.items() if k != key})
        values = sorted({cell[key] for cell in some}, reverse=key == "epsilon")
        worst = [max(_where(some, {key: value}), key=lambda cell: float(cell["ratio"])) for value in values]
        text = ", ".join(f"{cell['ratio']:.2g} at {cell[key]:g} ({cell['contexts']})" for cell in worst)
        name = f"{model}: better than θ = 0, and its largest error over ν grows at most {GROWTH:g} times as {words}"
        out.append(Finding(name, text, better and worst[-1]["ratio"] <= GROWTH * worst[0]["ratio"]))
    most = max(ends, key=lambda cell: float(cell["error"]))
    text = f"{most['error'] / ball['error']:.2g} times ({most['contexts']})"
    name = f"{model}: better than θ = 0, and no contexts have more than {GROWTH:g} times the error of the ball"
    return [*out, Finding(name, text, better and most["error"] <= GROWTH * ball["error"])]


def _where(found: list[Cell], values: Cell) -> list[Cell]:
    return [cell for cell in found if all(cell[key] == value for key, value in values.items())]


def _first(users: int) -> Finding:
    """Computed: nu_1 of (56) beside all that there is to lose."""
    nu, whole = descent.numbers(DIM, users, EPSILON).nu_1, users * math.log(2)
    text = f"computed, T = {users:,}: ν_1 = {nu:.1e}, and the loss of θ = 0 is T ln 2 = {whole:.1e}"
    return Finding("joint: ν_1 of (56), the error for θ_o, is less than the whole loss of θ = 0", text, nu < whole)


def _table(found: list[Cell]) -> str:
    heads = f"{'steps':>8}{'error':>9}{'of θ = 0':>10}{'ν':>8}{'error / ν':>11}"
    lines = [f"{'':<8}{'T':>8}{'d':>4}{'ε':>5}  {'contexts':<26}{heads}"]
    for c in found:
        place = f"{c['model']:<8}{c['users']:>8,}{c['dim']:>4}{c['epsilon']:>5g}  {c['contexts']:<26}"
        lines.append(f"{place}{c['steps']:>8,}{c['error']:>9.0f}{c['zero']:>10.0f}{c['nu']:>8.0f}{c['ratio']:>11.2g}")
    return "\n".join(lines)


def _draw(found: list[Cell], path: Path) -> None:
    canvas, axes = figure.subplots(1, len(descent.MODELS), width=5.0, height=3.8)
    for axis, model in zip(axes[0], descent.MODELS, strict=True):
        for i, name in enumerate(descent.CONTEXTS):
            some = _where(found, {"model": model, "contexts": name, "dim": DIM, "epsilon": EPSILON})
            users = [c["users"] for c in some]
            axis.plot(users, [c["ratio"] for c in some], marker="o", markersize=4, label=name, **figure.style(i))
        axis.axhline(1.0, color="gray", linewidth=0.8, linestyle="--")
        axis.set(xscale="log", yscale="log", xlabel="users T", ylabel="error / ν")
        axis.set_title(f"{model}, d = {DIM}, ε = {EPSILON:g}", loc="left")
        figure.below(axis)
    figure.save(canvas, path)
