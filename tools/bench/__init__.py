"""Measurements beside peers and limits: `reticent bench noise`, `reticent bench speed`, `reticent bench shuffle`,
`reticent bench local`, `reticent bench serve`, `reticent bench roles`, `reticent bench blocks`,
`reticent bench dimension`, `reticent bench worlds`."""

import importlib
from collections.abc import Callable
from typing import Any


def run(name: str, progress: Callable[[float], None], **options: Any) -> tuple[list[dict[str, Any]], str]:
    """Rows, and the same as text. options: of that bench."""
    bench = importlib.import_module(f"tools.bench.{name}")
    rows = bench.measure(progress, **options)
    return rows, bench.render(rows)


def beside(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What else there is to say of these rows, where a bench sums them up."""
    summary = getattr(importlib.import_module(f"tools.bench.{name}"), "summary", None)
    return {} if summary is None else {"summary": summary(rows)}
