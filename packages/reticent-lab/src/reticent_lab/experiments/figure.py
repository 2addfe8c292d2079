"""Figures that read well in print and on a dark page: opaque paper, few colours, labels at the lines' ends."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

from reticent.experiments.result import SimulatedRun

# Okabe & Ito's palette: told apart by people who see colours differently, and in grey
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#7F7F7F")
DASHES = ("-", "--", "-.", ":")
DASHED = ("--", (0, (9, 2)), "-.", (0, (6, 2, 1, 2, 1, 2)), (0, (2, 2)))  # upper bounds
DOTTED = (":", (0, (1, 4)), (0, (1, 1, 1, 5)), (0, (1, 1, 1, 1, 1, 5)))  # lower ones
GREYS = ("black", "#888888", "#8B4513")
NAME, LINE = 9.5, 11.5  # points: the size of names at lines' ends, and from one to the next
STYLE = {
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
    "axes.edgecolor": "#444444",
    "axes.labelcolor": "#222222",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "text.color": "#222222",
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "font.size": 10,
    "axes.titlesize": 11,
    "lines.linewidth": 1.8,
    "legend.frameon": False,
}


class Line(NamedTuple):
    """A bound on regret, ready to be drawn."""

    label: str
    at: list[int]
    values: list[float]
    lower: bool


def subplots(rows: int, columns: int, *, width: float = 6.4, height: float = 4.2) -> tuple[Any, Any]:
    """A figure and its axes in our style, without a display."""
    matplotlib.use("Agg")
    plt.rcParams.update(STYLE)
    figure, axes = plt.subplots(
        rows, columns, figsize=(width * columns, height * rows), layout="constrained", squeeze=False
    )
    return figure, axes


def save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def style(index: int) -> dict[str, Any]:
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index // len(COLOURS) % len(DASHES)]}


def regret_curves(
    groups: Sequence[Sequence[SimulatedRun]],
    path: Path,
    *,
    title: str | None = None,
    log: bool = False,
    bounds: Mapping[str, Sequence[Line]] | None = None,
) -> None:
    """One panel an environment; mean regret and the band of two standard errors; bounds by environment."""
    worlds: dict[str, list[Sequence[SimulatedRun]]] = {}
    for group in groups:
        if group[0].curve:
            worlds.setdefault(group[0].env, []).append(group)
    if not worlds:
        raise ValueError("Expected runs with a regret curve to plot, got none (replayed logs have no regret).")
    columns = min(3, len(worlds))
    figure, axes = subplots(math.ceil(len(worlds) / columns), columns)
    for axis in axes.flat[len(worlds) :]:
        axis.set_visible(False)
    for axis, (name, members) in zip(axes.flat, worlds.items(), strict=False):
        draw_panel(axis, members, log=log)
        draw_bounds(axis, (bounds or {}).get(name, ()))
        axis.set_title(name if len(worlds) > 1 or title is None else title, loc="left")
    if title is not None and len(worlds) > 1:
        figure.suptitle(title, x=0.01, ha="left")
    save(figure, path)


def draw_panel(axis: Any, groups: Sequence[Sequence[SimulatedRun]], *, log: bool = False) -> None:
    """Curves of one environment on one axis, with a legend; more curves than colours have their names at their ends."""
    for index, group in enumerate(groups):
        at = np.array(group[0].at)
        curves = np.array([run.curve for run in group])
        mean = curves.mean(axis=0)
        axis.plot(at, mean, label=group[0].label, **style(index))
        if len(group) > 1:
            band = 2 * curves.std(axis=0, ddof=1) / math.sqrt(len(group))
            axis.fill_between(at, mean - band, mean + band, color=style(index)["color"], alpha=0.18, linewidth=0)
    axis.set_xlabel("round")
    axis.set_ylabel("regret")
    if log:
        axis.set_xscale("log")
        axis.set_yscale("log")
    else:
        axis.set_xlim(left=0)
        axis.set_ylim(bottom=0)
        axis.xaxis.set_major_formatter(thousands)
    (below if len(groups) <= len(COLOURS) else at_ends)(axis)


def draw_bounds(axis: Any, lines: Sequence[Line]) -> None:
    """Lower bounds are dotted, upper ones dashed, each in its own way. The curves stay readable: a bound far above them
    is not followed; the legend says so, and has its value at the end."""
    if not lines:
        return
    low, high = axis.get_ylim()
    high = max(high, *(line.values[-1] for line in lines if line.values[-1] <= 2 * high), high)
    before = {True: 0, False: 0}
    for line in lines:
        away = (
            ", above the picture"
            if min(line.values) > high
            else ", leaves the picture"
            if line.values[-1] > high
            else ""
        )
        draw_bound(axis, line._replace(label=line.label + away), before[line.lower])
        before[line.lower] += 1
    axis.set_ylim(low, high)
    below(axis)


def draw_bound(axis: Any, line: Line, index: int = 0) -> None:
    """index: among those of its kind."""
    dashes = DOTTED if line.lower else DASHED
    look = {"linestyle": dashes[index % len(dashes)], "color": GREYS[index // len(dashes) % len(GREYS)]}
    axis.plot(line.at, line.values, linewidth=1, label=line.label, **look)


def below(axis: Any) -> None:
    """The legend under the axis, where it hides no line."""
    count = len(axis.get_legend_handles_labels()[1])
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2 if count <= 8 else 3, fontsize=8.5)


def at_ends(axis: Any) -> None:
    """Names at the lines' right ends instead of a legend, spread so that none lies on another."""
    for old in [axis.get_legend(), *(text for text in axis.texts if text.get_gid() == "name")]:
        if old is not None:
            old.remove()
    lines = [line for line in axis.get_lines() if not line.get_label().startswith("_")]
    axis.set_xlim(right=max(line.get_xdata()[-1] for line in lines))
    low, high = axis.get_ylim()
    scale = np.log if axis.get_yscale() == "log" else np.asarray
    lines.sort(key=lambda line: float(line.get_ydata()[-1]))
    ends = np.array([line.get_ydata()[-1] for line in lines])
    shares = (scale(ends) - scale(low)) / (scale(high) - scale(low))  # of the axis' height
    line_height = LINE / (axis.get_window_extent().height / axis.figure.dpi * 72)
    groups: list[list[float]] = []  # names that touch: they stand together, around the mean of their places
    for i, share in enumerate(shares):
        groups.append([share - i * line_height])
        while len(groups) > 1 and np.mean(groups[-2]) >= np.mean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    places = np.repeat([np.mean(group) for group in groups], [len(group) for group in groups])
    shares = np.maximum(places, line_height / 2) + np.arange(len(lines)) * line_height
    for line, share in zip(lines, shares, strict=True):
        look = {"color": line.get_color(), "fontsize": NAME, "va": "center", "gid": "name"}
        axis.text(1.02, share, line.get_label(), transform=axis.transAxes, **look)


def thousands(value: float, _position: int) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
