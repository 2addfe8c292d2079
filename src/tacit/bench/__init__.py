"""Measurements beside peers and limits: `tacit bench noise`, `tacit bench speed`, `tacit bench shuffle`,
`tacit bench local`."""

from collections.abc import Callable
from typing import Any

NAMES = ("speed", "noise", "shuffle", "local")


def run(name: str, progress: Callable[[float], None]) -> tuple[list[dict[str, Any]], str]:
    """Rows, and the same as text."""
    if name == "noise":
        from tacit.bench.noise import measure, render
    elif name == "shuffle":
        from tacit.bench.shuffle import measure, render
    elif name == "local":
        from tacit.bench.local import measure, render
    else:
        from tacit.bench.speed import measure, render
    rows = measure(progress)
    return rows, render(rows)
