"""The summary table on a terminal."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table


def render(rows: Sequence[Mapping[str, Any]], *, width: int | None = None) -> str:
    """Rows of Result.rows as a text table."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    several = len({row["env"] for row in rows}) > 1
    if several:
        table.add_column("environment")
    table.add_column("bandit", no_wrap=True)
    for name in ("regret", "± s.e.", "95 %", "max", "reward", "runs", "µs/round"):
        table.add_column(name, justify="right", no_wrap=True)
    previous = None
    for row in rows:
        cells = [] if not several else [row["env"] if row["env"] != previous else ""]
        previous = row["env"]
        regret = [number(row[f"regret_{part}"]) for part in ("mean", "se", "p95", "max")]
        cells += [
            row["label"],
            *regret,
            f"{row['reward_mean']:.3f}",
            str(row["runs"]),
            f"{row['us_per_round']:.1f}",
        ]
        table.add_row(*cells)
    return to_text(table, width)


def to_text(table: Table, width: int | None = None) -> str:
    """Any rich table as plain text."""
    buffer = io.StringIO()
    console = Console(file=buffer, width=width or 160, color_system=None)
    console.print(table)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()).strip("\n")


def number(value: float | None) -> str:
    """As many decimals as its size deserves, or a dash."""
    if value is None:
        return "–"
    return f"{value:,.{0 if abs(value) >= 1000 else 1 if abs(value) >= 1 else 3}f}"
