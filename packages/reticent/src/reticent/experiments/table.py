"""The summary table on a terminal: a line that says what was run, then what came of it, for each environment."""

import io
import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

WIDTH = 100  # columns of a terminal that every table fits
CUT = "…"  # what rich puts where a cell is too narrow
SHORT = {"dim": "d", "arms": "K"}
REGRET = ("mean", "se", "p95", "max")

Row = Mapping[str, Any]


def render(rows: Sequence[Row]) -> str:
    """Rows of Result.rows as a text table."""
    worlds: dict[str, list[Row]] = {}
    for row in rows:
        worlds.setdefault(json.dumps([row["env"], row["setting"], row["horizon"]], sort_keys=True), []).append(row)
    return "\n\n".join(f"{heading(members)}\n{_world(members)}" for members in worlds.values())


def heading(rows: Sequence[Row]) -> str:
    """What these rows of one environment have in common."""
    first = rows[0]
    setting = first["setting"]
    rest = {name: value for name, value in setting.items() if name not in SHORT and value not in (None, "bounded")}
    deltas = dict.fromkeys(row["delta"] for row in rows if row["delta"] is not None)
    runs = dict.fromkeys(row["runs"] for row in rows)
    parts = [f"{short} = {setting[name]}" for name, short in SHORT.items()]
    parts.append(f"T = {first['horizon']}")
    parts += [f"δ = {' or '.join(f'{delta:g}' for delta in deltas)}"] * bool(deltas)
    parts += [f"{name} = {f'{value:g}' if isinstance(value, float) else value}" for name, value in rest.items()]
    parts += [f"seed {first['seed']}", f"{' or '.join(map(str, runs))} run{'s' * (runs != {1: None})}"]
    return textwrap.fill(f"{first['env']}: {', '.join(parts)}", WIDTH, subsequent_indent="  ")


def _world(rows: Sequence[Row]) -> str:
    """Bandits of one environment, and uniform play."""
    logged = all(row["regret_mean"] is None for row in rows)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("bandit", overflow="fold")
    for name in ("reward", "rounds that matched") if logged else ("regret", "± s.e.", "95 %", "max", "reward"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("µs/round", justify="right", no_wrap=True)
    for row in rows:
        table.add_row(row["label"], *_numbers(row, logged), f"{row['us_per_round']:.1f}")
    if not any(row["bandit"] == "uniform" for row in rows):
        table.add_row("uniform play, expected", *_numbers(rows[0]["uniform"], logged), "–")
    return to_text(table)


def _numbers(row: Row, logged: bool) -> list[str]:
    reward = "–" if row["reward_mean"] is None else f"{row['reward_mean']:.3f}"
    if logged:
        matched = f"{row['rounds_mean']:.0f} of {row['horizon']}" if "rounds_mean" in row else "–"
        return [reward, matched]
    return [*(number(row[f"regret_{part}"]) for part in REGRET), reward]


def to_text(table: Table) -> str:
    """Any rich table as plain text: of WIDTH columns, or of as many more as it takes to cut nothing."""
    width, text = WIDTH, CUT
    while CUT in text:
        buffer = io.StringIO()
        Console(file=buffer, width=width, color_system=None).print(table)
        text, width = buffer.getvalue(), width + 10
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def number(value: float | None) -> str:
    """As many decimals as its size deserves, or a dash."""
    if value is None:
        return "–"
    return f"{value:,.{0 if abs(value) >= 1000 else 1 if abs(value) >= 1 else 3}f}"
