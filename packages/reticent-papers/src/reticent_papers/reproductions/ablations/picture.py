"""The parts in six panels."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reticent.experiments.result import Result
from reticent_lab.experiments import figure
from reticent_papers.reproductions.ablations.parts import EPSILONS

Rows = list[dict[str, Any]]
NAMES = (
    "joint-glm-rare",
    "joint-glm",
    "shuffle-newton",
    "local-irls",
    "shuffle-glm",
    "rs-glin-ucb",
    "mle-ucb",
    "uniform",
)
REFERENCES = ("glm-ucb", "gloc", "ecolog", "b-glin-cb, not private")  # in grey
TICKS = (1, 3, 10, 30, 100, 300, 1000, 3000)


def draw(results: dict[str, Result], path: Path) -> None:
    canvas, axes = figure.subplots(2, 3, width=5.4, height=4.4)
    rows = {name: result.rows for name, result in results.items()}
    radii = sorted({row["setting"]["radius"] for row in rows["kappa"]})
    _lines(axes[0, 0], rows["kappa"], radii, "radius", "regret_mean")
    axes[0, 0].set(xlabel="S (κ grows as e^S)", ylabel="regret", yscale="log")
    axes[0, 0].set_title("sensitivity to κ, d = 3", loc="left")
    _by_epsilon(axes[0, 1], rows["shuffle"])
    _bars(axes[0, 2], rows["ablation"])
    dims = sorted({row["setting"]["dim"] for row in rows["dimension"]})
    _lines(axes[1, 0], rows["dimension"], dims, "dim", "us_per_round")
    axes[1, 0].set(xlabel="dimension d", ylabel="µs a round", xscale="log", yscale="log")
    axes[1, 0].set_xticks(dims, [str(d) for d in dims])
    axes[1, 0].set_title("running time, T = 1000", loc="left")
    horizons = sorted({row["horizon"] for row in rows["horizon"]})
    _lines(axes[1, 1], rows["horizon"], horizons, "", "regret_mean")
    axes[1, 1].set(xlabel="horizon T", ylabel="regret", xscale="log", yscale="log")
    axes[1, 1].set_xticks(horizons, [f"{t:,}" for t in horizons])
    axes[1, 1].set_title("the cost of privacy over time, d = 5", loc="left")
    _worlds(axes[1, 2], rows["contexts"])
    for axis in (axes[0, 0], axes[0, 1], axes[1, 0], axes[1, 1]):
        low, high = axis.get_ylim()
        axis.set_yticks([tick for tick in TICKS if low <= tick <= high], [f"{t}" for t in TICKS if low <= t <= high])
        axis.minorticks_off()
        figure.at_ends(axis)
    figure.save(canvas, path)


def _look(label: str) -> dict[str, Any]:
    """One colour a bandit in all panels; dashes for the smaller of two budgets."""
    name = label.partition(" ε=")[0]
    if name in REFERENCES:
        return {"color": "#999999", "linestyle": figure.DASHES[REFERENCES.index(name)]}
    return {"color": figure.COLOURS[NAMES.index(name)], "linestyle": "--" if label.endswith("ε=1") else "-"}


def _lines(axis: Any, rows: Rows, at: Sequence[float], key: str, value: str) -> None:
    for label in dict.fromkeys(row["label"] for row in rows):
        mine = {row["setting"][key] if key else row["horizon"]: row[value] for row in rows if row["label"] == label}
        axis.plot(at, [mine[x] for x in at], marker="o", markersize=3.5, label=label, **_look(label))


def _by_epsilon(axis: Any, rows: Rows) -> None:
    regret = {row["label"]: row["regret_mean"] for row in rows}
    for name in ("shuffle-glm", "shuffle-newton", "joint-glm"):
        values = [regret[f"{name} ε={epsilon:g}"] for epsilon in EPSILONS]
        axis.plot(EPSILONS, values, marker="o", markersize=3.5, label=name, **_look(name))
    for name in ("uniform", "b-glin-cb, not private"):
        axis.plot(EPSILONS, [regret[name]] * len(EPSILONS), label=name.partition(",")[0], **_look(name))
    axis.set(xlabel="ε", ylabel="regret", xscale="log", yscale="log")
    axis.set_xticks(EPSILONS, [f"{e:g}" for e in EPSILONS])
    axis.set_title("shuffle privacy, d = 5", loc="left")


def _bars(axis: Any, rows: Rows) -> None:
    rows = rows[::-1]
    names = [row["label"].partition(": ") for row in rows]
    colours = ["#999999" if name[0] == "shariff-lin-ucb" else _look(name[0])["color"] for name in names]
    errors = [2 * (row["regret_se"] or 0.0) for row in rows]
    axis.barh(range(len(rows)), [row["regret_mean"] for row in rows], xerr=errors, color=colours, height=0.7)
    axis.set_yticks(
        range(len(rows)), [name[2] if name[2] and name[0] != "shariff-lin-ucb" else name[0] for name in names]
    )
    axis.tick_params(axis="y", labelsize=8.5)
    axis.grid(visible=False, axis="y")
    axis.set(xlabel="regret", xlim=(0, None))
    axis.set_title("ablations, ε = 4, d = 3", loc="left")


def _worlds(axis: Any, rows: Rows) -> None:
    worlds = list(dict.fromkeys(row["env"] for row in rows))
    names = [name for name in dict.fromkeys(row["label"] for row in rows) if name != "uniform"]
    for i, name in enumerate(names):
        share = [row["regret_mean"] / row["uniform"]["regret_mean"] for row in rows if row["label"] == name]
        axis.bar(np.arange(len(worlds)) + (i - 0.5) * 0.38, share, 0.36, label=name, color=_look(name)["color"])
    axis.set_xticks(range(len(worlds)), worlds, rotation=30, ha="right")
    axis.grid(visible=False, axis="x")
    axis.set(ylabel="share of uniform play's regret")
    axis.set_title("contexts of every kind", loc="left")
    axis.legend(fontsize=8.5)
