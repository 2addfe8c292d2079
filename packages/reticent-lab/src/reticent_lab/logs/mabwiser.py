"""Logs as MABWiser's `fit(decisions, rewards, contexts)` takes them."""

from typing import Any

import numpy as np


def columns(decisions: Any, rewards: Any, contexts: Any = None, *, bound: float = 1.0) -> dict[str, Any]:
    """The columns action, reward and x0, x1, ... for `learn_log`. bound: a public bound on the norm of a context, by
    which all are divided. Without contexts, x0 is 1: each action then has a mean of its own."""
    count = len(decisions)
    if len(rewards) != count or (contexts is not None and len(contexts) != count):
        raise ValueError("Expected as many rewards and contexts as decisions, got other numbers of them.")
    table = np.ones((count, 1)) if contexts is None else np.asarray(contexts, dtype=np.float64) / bound
    if table.ndim != 2:
        raise ValueError(f"Expected a row of numbers for each context, got the shape {table.shape}.")
    out: dict[str, Any] = {"action": list(decisions), "reward": list(rewards)}
    return out | {f"x{i}": table[:, i] for i in range(table.shape[1])}
