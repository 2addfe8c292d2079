"""docs/arena.md from kept rows: tables between two marks, and two pictures."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reticent_lab.arena.audit import RUNS
from reticent_lab.arena.table import Played
from reticent_lab.arena.worlds import EPSILONS, VERSION, arenas
from reticent_lab.experiments import figure

START, END = "<!-- arena: written by reticent arena --page -->\n", "<!-- end of arena -->"
ORDER = ("none", "joint", "shuffle", "local")
GROUPS = {
    "small": "The six small worlds",
    "random": "Random worlds",
    "page": "A front page with fresh items",
    "real": "Real data",
}
CROWDED = 0.75  # of uniform play's regret, from which on labels stand upright
BELOW = ("lin-ucb", "shariff-lin-ucb", "distributed-elimination", "joint-square-cb link=identity")  # else on others


def write(path: Path, rows: Sequence[Played], images: Path) -> None:
    """The page with its tables anew, and the pictures beside it."""
    text = path.read_text()
    if START not in text or END not in text:
        raise ValueError(f"Expected {START.strip()} and {END} in {path}, got a page without.")
    before, rest = text.split(START)
    now = [row for row in rows if row.version == VERSION]
    if not now:
        raise ValueError(f"Expected rows of the arena's version {VERSION}, got {len(rows)} of others.")
    path.write_text(before + START + "\n" + tables(now) + "\n" + END + rest.split(END)[1])
    draw(now, images)


def tables(rows: Sequence[Played]) -> str:
    """One a group of worlds and epsilon: mean regret, 95th percentile and runs; then what each promises."""
    out = []
    for group, title in GROUPS.items():
        worlds = [arena.name for arena in arenas() if arena.group == group]
        if any(row.world in worlds and row.mean is not None for row in rows):
            for epsilon in EPSILONS:
                out += [f"### {title}, ε = {epsilon:g}", "", *_regrets(rows, worlds, epsilon), ""]
    out += ["### What each promises, and costs", "", *_promises(rows), ""]
    if refused := _refused(rows):
        out += ["### Worlds that an algorithm does not take", "", *refused, ""]
    return "\n".join(out)


def _refused(rows: Sequence[Played]) -> list[str]:
    why: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.why:
            why.setdefault((row.name, row.why.replace("|", "\\|")), []).append(row.world)
    lines = [f"| {name} | {', '.join(dict.fromkeys(worlds))} | {said} |" for (name, said), worlds in why.items()]
    return ["| | worlds | what it says |", "|---|---|---|", *lines] if lines else []


def _regrets(rows: Sequence[Played], worlds: Sequence[str], epsilon: float) -> list[str]:
    found = {(row.name, row.world): row for row in rows if row.epsilon in (None, epsilon) and row.mean is not None}
    lines = ["| | trust | " + " | ".join(worlds) + " | runs |", "|---|---|" + "---|" * (len(worlds) + 1)]
    uniform = [next((row.uniform for (_, world), row in found.items() if world == each), None) for each in worlds]
    trust = {row.name: row.trust for row in found.values()}
    for name in sorted(trust, key=lambda name: (ORDER.index(trust[name]), _score(name, found, worlds, uniform))):
        mine = [found.get((name, world)) for world in worlds]
        runs = sorted({row.runs for row in mine if row is not None})
        cells = ["–" if row is None else f"{row.mean:.0f} / {row.p95:.0f}" for row in mine]
        if any(row is not None for row in mine):
            spread = " to ".join(map(str, dict.fromkeys((runs[0], runs[-1]))))
            lines.append(f"| {name} | {trust[name]} | {' | '.join(cells)} | {spread} |")
    return lines


def _score(
    name: str, found: dict[tuple[str, str], Played], worlds: Sequence[str], uniform: Sequence[float | None]
) -> float:
    """Mean of log regret over uniform play's, over the worlds that it plays."""
    logs = [
        math.log(max(row.mean, 1e-9) / most)
        for world, most in zip(worlds, uniform, strict=True)
        if (row := found.get((name, world))) is not None and row.mean is not None and most
    ]
    return sum(logs) / len(logs) if logs else math.inf


def _promises(rows: Sequence[Played]) -> list[str]:
    lines = [
        "| | trust | relation | true ε at 1 / 4 | audit: ε at least, at 1 / 4 | μs a round | code |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row.name for row in rows if row.mean is not None and row.epsilon is not None):
        mine = [row for row in rows if row.name == name and row.mean is not None]
        each = [next((row for row in mine if row.epsilon == epsilon), None) for epsilon in EPSILONS]
        true = " / ".join("–" if row is None else _true(row) for row in each)
        seen = " / ".join("–" if row is None or row.audit is None else _audit(row) for row in each)
        costs = sorted(row.us for row in mine if row.us is not None)
        parts = [
            name,
            mine[0].trust,
            mine[0].relation or "–",
            true,
            seen,
            f"{costs[len(costs) // 2]:.1f}",
            mine[-1].code,
        ]
        lines.append(f"| {' | '.join(parts)} |")
    return lines


def _audit(row: Played) -> str:
    return f"{row.audit:.2g}" + f" ({row.audit_runs} runs)" * (row.audit_runs < RUNS)


def _true(row: Played) -> str:
    return "none" if row.true is None else f"{row.true:.3g}" + " (stated)" * row.stated


def draw(rows: Sequence[Played], images: Path) -> None:
    """arena.png: means and 95th percentiles in the small worlds, over uniform play's. arena-cost.png: against time."""
    worlds = [arena.name for arena in arenas() if arena.group == "small"]
    canvas, axes = figure.subplots(1, len(EPSILONS), width=6.6, height=6.0)
    for axis, epsilon in zip(axes[0], EPSILONS, strict=True):
        found = {(row.name, row.world): row for row in rows if row.epsilon in (None, epsilon) and row.mean is not None}
        uniform = [next((row.uniform for (_, world), row in found.items() if world == each), None) for each in worlds]
        names = sorted(
            {name for name, world in found if world in worlds}, key=lambda n: -_score(n, found, worlds, uniform)
        )
        for place, name in enumerate(names):
            colour = figure.COLOURS[ORDER.index(next(row.trust for row in rows if row.name == name))]
            for world, most in zip(worlds, uniform, strict=True):
                row = found.get((name, world))
                if row is not None and row.mean is not None and row.p95 is not None and most:
                    axis.plot([row.mean / most, row.p95 / most], [place, place], color=colour, linewidth=0.8, alpha=0.5)
                    axis.plot(row.mean / most, place, marker="o", markersize=3.5, color=colour)
        axis.set(xscale="log", yticks=range(len(names)), yticklabels=names, title=f"ε = {epsilon:g}")
        axis.set_xlabel("regret / that of uniform play; line: to the 95th percentile")
        axis.tick_params(axis="y", labelsize=7)
    _legend(axes[0, 0])
    figure.save(canvas, images / "arena.png")
    canvas, axes = figure.subplots(1, 1, width=7.0, height=5.0)
    axis = axes[0, 0]
    for name in dict.fromkeys(row.name for row in rows if row.mean is not None):
        mine = [row for row in rows if row.name == name and row.world in worlds and row.epsilon in (None, EPSILONS[0])]
        logs = [math.log(row.mean / row.uniform) for row in mine if row.mean and row.uniform]
        costs = sorted(row.us for row in mine if row.us)
        if logs and costs:
            share, cost = math.exp(sum(logs) / len(logs)), costs[len(costs) // 2]
            axis.plot(cost, share, marker="o", color=figure.COLOURS[ORDER.index(mine[0].trust)])
            crowded = share > CROWDED
            where: dict[str, Any] = {
                "xytext": (0, 5) if crowded else (4, -7 if name in BELOW else 2),
                "rotation": 65 * crowded,
            }
            axis.annotate(name, (cost, share), fontsize=6, textcoords="offset points", rotation_mode="anchor", **where)
    axis.set(xscale="log", yscale="log", ylim=(None, 15), xlabel="μs a round (choose and learn)")
    axis.set_ylabel(f"regret / that of uniform play, ε = {EPSILONS[0]:g}, small worlds")
    _legend(axis)
    figure.save(canvas, images / "arena-cost.png")


def _legend(axis: Any) -> None:
    """Colours are trust."""
    for trust, colour in zip(ORDER, figure.COLOURS, strict=False):
        axis.plot([], [], marker="o", linestyle="", color=colour, label="no privacy" if trust == "none" else trust)
    axis.legend(loc="lower left", fontsize=7)
