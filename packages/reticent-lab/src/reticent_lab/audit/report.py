"""What came of an audit, for a person: a table, and a picture of the two distributions of each score."""

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reticent_lab.audit.verdict import Row
from reticent_lab.experiments.figure import COLOURS, save, subplots

HEAD = f"{'attack':<32}{'adversary sees':<19}{'delta':>6}{'claimed':>8}{'at least':>9}{'runs':>8}{'conf.':>7}"
WIDTH = 100
WEAK = "weak"  # a claim that stands, of which little was seen


def text(rows: Sequence[Row]) -> str:
    """Claims first, then what must be convicted; below each line what was attacked and how."""
    lines = []
    for claimed, title in ((True, "Claims"), (False, "Planted bugs, and what is labelled not private")):
        chosen = [row for row in rows if row.attack.claimed == claimed]
        if chosen:
            lines += [title, "", HEAD]
            before = ""
            for row in chosen:
                lines += _lines(row, before)
                before = row.attack.how
            lines.append("")
    wrong = [row.attack.name for row in rows if not row.as_expected]
    alarms = sum(1 - row.confidence for row in rows if row.attack.claimed)
    claims = sum(row.attack.claimed for row in rows)
    good = [f"none of the claims is broken ({claims})"] * (claims > 0)
    good += [f"every planted bug is convicted ({len(rows) - claims})"] * (claims < len(rows))
    lines.append(f"Not as expected: {', '.join(wrong)}." if wrong else f"As expected: {', '.join(good)}.")
    if any(_verdict(row) == WEAK for row in rows):
        lines.append(f"'{WEAK}': the claim stands, but less than half of it was seen. More runs may tell more.")
    lines.append(
        "'at least': the bound on epsilon at that delta, with that confidence, from so many runs of each of two worlds "
        "that differ in one user."
    )
    if alarms:
        lines.append(f"Chance that a true claim is convicted by accident: below {alarms:.1%} for this table.")
    return "\n".join(textwrap.fill(line, WIDTH) if len(line) > WIDTH else line for line in lines)


def _lines(row: Row, before: str) -> list[str]:
    """The row and how it was attacked, unless that is as before."""
    a = row.attack
    confidence = "exact" if row.confidence == 1 else f"{row.confidence:.1%}"
    runs = f"{row.runs:,}" if row.runs else "-"
    line = (
        f"{a.name:<32}{a.view:<19}{a.delta:>6.3g}{a.epsilon:>8.3f}{row.epsilon_lower:>9.3f}{runs:>8}{confidence:>7}"
        f"  {_verdict(row)}"
    )
    if a.how == before:
        return [line]
    return [line, *textwrap.wrap(a.how, WIDTH, initial_indent="    ", subsequent_indent="    ")]


def _verdict(row: Row) -> str:
    if not row.attack.claimed:
        return "convicted" if row.convicted else "NOT FOUND"
    if row.convicted:
        return "BROKEN"
    return "holds" if row.epsilon_lower >= row.attack.epsilon / 2 else WEAK


def plot(rows: Sequence[Row], path: Path) -> None:
    """A panel an attack: how often each score came in each world."""
    columns = min(6, max(1, math.ceil(math.sqrt(len(rows)))))
    figure, axes = subplots(math.ceil(len(rows) / columns), columns, width=2.1, height=1.5)
    for axis in axes.flat[len(rows) :]:
        axis.set_visible(False)
    for axis, row in zip(axes.flat, rows, strict=False):
        _panel(axis, row)
    handles = axes.flat[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper left", ncols=3, fontsize=8)
    save(figure, path)


def _panel(axis: Any, row: Row) -> None:
    zero, one = row.scores
    both = np.concatenate([zero, one])
    low, high = np.quantile(both, [0.001, 0.999])
    values = np.unique(both)
    if len(values) <= 30:
        gap = float(np.diff(values).min()) if len(values) > 1 else 1.0
        edges = np.append(values - gap / 2, values[-1] + gap / 2)
    else:
        edges = np.linspace(low, high, 41) if high > low else np.array([low - 0.5, low + 0.5])
    for scores, label, colour in ((zero, "world 0", COLOURS[0]), (one, "world 1", COLOURS[1])):
        counts, _ = np.histogram(np.clip(scores, edges[0], edges[-1]), edges)
        axis.stairs(counts / len(scores), edges, fill=True, alpha=0.45, color=colour, label=label)
    mark = "" if row.as_expected else " (!)"
    colour = "#222222" if row.attack.claimed else "#A03000"
    axis.set_title(row.attack.name + mark, loc="left", fontsize=6.5, color=colour, pad=2)
    axis.text(
        0.98,
        0.96,
        f"claim {row.attack.epsilon:.3g}\n$\\geq$ {row.epsilon_lower:.3g}",
        transform=axis.transAxes,
        ha="right",
        va="top",
        fontsize=6.5,
    )
    axis.set_xticks([])
    axis.set_yticks([])
    axis.set_ylim(0, 1.25 * axis.get_ylim()[1])
