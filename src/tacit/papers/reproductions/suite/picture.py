"""Regret over time in every environment, on one page with one legend."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from tacit.experiments import figure
from tacit.experiments.result import Result, SimulatedRun

# label -> colour and dashes; a trust model has a colour, a smaller budget dashes
SHOWN: dict[str, tuple[str, str]] = {
    "uniform": ("#BBBBBB", ":"),
    "lin-ucb": ("#7F7F7F", "-"),
    "mle-ucb": ("#000000", "-"),
    "joint-lin-ucb ε=1": ("#E69F00", "--"),
    "joint-reweighted ε=1": ("#CC79A7", "--"),
    "joint-glm-rare ε=4": ("#009E73", "-"),
    "local-irls ε=1": ("#56B4E9", "--"),
    "shuffle-newton ε=1": ("#0072B2", "--"),
    "joint-glm ε=1": ("#D55E00", "--"),
    "joint-glm ε=4": ("#D55E00", "-"),
    "joint-glm forget=500 ε=1": ("#D55E00", ":"),
}
COLUMNS = 4


def draw(result: Result, path: Path) -> None:
    worlds: dict[str, list[list[SimulatedRun]]] = {}
    for group in result.groups():
        if group[0].label in SHOWN:
            worlds.setdefault(group[0].env, []).append(group)
    rows = math.ceil(len(worlds) / COLUMNS)
    canvas, axes = figure.subplots(rows, COLUMNS, width=3.5, height=2.7)
    for axis in axes.flat[len(worlds) :]:
        axis.set_visible(False)
    lines: dict[str, Any] = {}
    for axis, (name, groups) in zip(axes.flat, worlds.items(), strict=False):
        for group in groups:
            curve = np.array([run.curve for run in group]).mean(axis=0)
            colour, dashes = SHOWN[group[0].label]
            (line,) = axis.plot(group[0].at, np.maximum(curve, 0.1), color=colour, linestyle=dashes, linewidth=1.6)
            lines.setdefault(group[0].label, line)
        axis.set(yscale="log", xlim=(0, groups[0][0].horizon))
        top = max(group[0].curve[-1] for group in groups)
        axis.set_ylim(max(3.0, top / 300), 1.3 * top)
        axis.xaxis.set_major_formatter(figure.thousands)
        axis.yaxis.set_major_formatter(figure.thousands)
        axis.set_title(name, loc="left")
    for axis in axes[:, 0]:
        axis.set_ylabel("regret")
    shown = {label: lines[label] for label in SHOWN if label in lines}
    canvas.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=6, fontsize=10)
    figure.save(canvas, path)
