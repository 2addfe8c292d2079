"""Logs as Open Bandit Pipeline has them: the dictionaries of `obtain_batch_bandit_feedback`, in both directions."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from reticent.features import frames
from reticent.logs import contexts
from reticent_lab import logs
from reticent_lab.logs import mabwiser

REQUIRED = ("n_actions", "action", "reward")


def columns(feedback: Mapping[str, Any], *, bound: float = 1.0) -> dict[str, Any]:
    """The columns action, reward, propensity and x0, x1, ... for `learn_log` and `evaluate`. bound: a public bound on
    the norm of a context, by which all are divided. Each action has a block of coordinates to itself (action_context,
    expected_reward and pi_b are not used). Of several positions take one: a person who saw three is in three rounds."""
    missing = [name for name in REQUIRED if name not in feedback]
    if missing:
        raise ValueError(f"Expected {', '.join(REQUIRED)} in the feedback, got none named {' or '.join(missing)}.")
    position = feedback.get("position")
    if position is not None and len(np.unique(position)) > 1:
        raise ValueError("Expected rounds of one position, got several: select the rows of one.")
    out = mabwiser.columns(
        np.asarray(feedback["action"]).tolist(), np.asarray(feedback["reward"]), feedback.get("context"), bound=bound
    )
    if feedback.get("pscore") is not None:
        out["propensity"] = np.asarray(feedback["pscore"], dtype=np.float64)
    return out


def feedback(table: Any, *, actions: Any = None) -> dict[str, Any]:
    """RAW. A table with action, reward, propensity and x0, x1, ... as such a dictionary: its values are people's data.
    actions: what 0 .. K-1 are called in the table, as in `evaluate`."""
    table = frames.columns(table)
    found = logs.rounds(table, actions=actions)
    context = contexts(table)
    count, arms = len(found.action), len(found.names)
    return {
        "n_rounds": count,
        "n_actions": arms,
        "context": np.ones((count, 1)) if context is None else context,
        "action_context": np.eye(arms),
        "action": found.action,
        "position": None,
        "reward": found.reward,
        "expected_reward": None,
        "pi_b": None,
        "pscore": found.propensity,
    }
