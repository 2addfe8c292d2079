"""Measurements beside peers and limits: `tacit bench noise`, `tacit bench speed`, `tacit bench shuffle`,
`tacit bench local`, `tacit bench serve`, `tacit bench roles`, `tacit bench blocks`,
`tacit bench dimension`."""

import importlib
from collections.abc import Callable
from typing import Any


def run(name: str, progress: Callable[[float], None]) -> tuple[list[dict[str, Any]], str]:
    """Rows, and the same as text."""
    bench = importlib.import_module(f"tacit.bench.{name}")
    rows = bench.measure(progress)
    return rows, bench.render(rows)
