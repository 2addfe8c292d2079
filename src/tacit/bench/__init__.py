"""Measurements beside peers and limits: `tacit bench noise`, `tacit bench speed`."""

from collections.abc import Callable
from typing import Any

NAMES = ("speed", "noise")


def run(name: str, progress: Callable[[float], None]) -> tuple[list[dict[str, Any]], str]:
    """Rows, and the same as text."""
    if name == "noise":
        from tacit.bench.noise import measure, render
    else:
        from tacit.bench.speed import measure, render
    rows = measure(progress)
    return rows, render(rows)
