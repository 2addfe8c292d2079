"""Tables of logged rounds with their actions: for evaluation, and for those who have logs of other programs.

Columns: `action` (0 .. K-1, or names), `reward`, `propensity` (optional: the probability with which the action was
taken), and the features: x0, x1, ... (one context a round, put into a block of its own for each action, so that
dim = K times their number) or `arms` (K lists of dim numbers). RAW: everything here is people's data."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from reticent.data import Array, Integers
from reticent.features import frames
from reticent.features.schema import Schema
from reticent.logs import check_fields, contexts, numbers
from reticent.model import arms as arm_sets


class Rounds(NamedTuple):
    """n logged rounds with K actions."""

    action: Integers  # (n,)
    reward: Array  # (n,)
    propensity: Array | None  # (n,)
    arms: Array | None  # (n, K, d)
    names: tuple[Any, ...]  # of the actions


def rounds(table: Any, *, actions: Any = None, features: Schema | None = None) -> Rounds:
    """The columns of a table, checked. actions: what 0 .. K-1 are called in it; by default, whole numbers are what they
    are, and names are put in alphabetical order. features: where the columns are a person's fields; actions are then
    what the schema takes, by default all that it offers."""
    table = frames.columns(table)
    missing = {"action", "reward"} - set(table)
    if missing:
        raise ValueError(f"Expected the columns action and reward, got none named {' or '.join(sorted(missing))}.")
    arms = _arms(table)
    if arms is None and features is not None:
        check_fields(features, table)
        actions = actions if actions is not None or not features.offered else features.offered
        arms = _described(features, table, actions)
    action, called = _actions(frames.values(table["action"]), actions, None if arms is None else arms.shape[1])
    if not len(action):
        raise ValueError("Expected at least one round, got none.")
    context = contexts(table)
    if arms is None and context is not None:
        arms = blocks(context, len(called))
    reward = numbers(table, "reward")
    propensity = numbers(table, "propensity") if "propensity" in table else None
    if propensity is not None and not ((propensity > 0) & (propensity <= 1)).all():
        raise ValueError("Expected propensities in (0, 1], got one outside.")
    return Rounds(action, reward, propensity, arms, called)


def blocks(context: Array, count: int) -> Array:
    """(n, K, K p) arms: each action has the context in a block of its own."""
    out: Array = np.einsum("ab,nj->nabj", np.eye(count), context).reshape(len(context), count, -1)
    return out


def _arms(table: Mapping[str, Any]) -> Array | None:
    if "arms" not in table:
        return None
    arms = arm_sets.as_array(frames.values(table["arms"]))
    if arms.ndim != 3:
        raise ValueError(f"Expected K lists of numbers in each row of the column arms, got the shape {arms.shape}.")
    return arms


def _described(schema: Schema, table: Mapping[str, Any], actions: Any) -> Array:
    """(n, K, dim) arms by the fields of each row."""
    people = frames.rows({name: table[name] for name in (*schema.context, "reward")})
    fields = ({name: person[name] for name in schema.context} for person in people)
    arms, problems = schema.batch(fields, actions)
    for problem in filter(None, problems):
        raise ValueError(problem)
    return np.stack(arms) if arms else np.empty((0, 1, schema.dim))


def _actions(given: list[Any], actions: Sequence[Any] | None, count: int | None) -> tuple[Integers, tuple[Any, ...]]:
    """Each action as 0 .. K-1, and what these are called."""
    if actions is None and all(isinstance(a, str) for a in given):
        actions = sorted(set(given))
    if actions is not None:
        position = {name: i for i, name in enumerate(actions)}
        if not set(given) <= set(position):
            raise ValueError(f"Expected actions among the {len(position)} that are named, got another.")
        return np.array([position[a] for a in given], np.int64), tuple(position)
    try:
        action = np.asarray(given).astype(np.int64)
        whole = bool((action == np.asarray(given)).all())
    except (TypeError, ValueError):
        whole = False
    if not whole or (given and action.min() < 0) or (count is not None and given and action.max() >= count):
        raise ValueError("Expected actions that are names, or whole numbers from 0 below the number of arms.")
    if count is None:
        count = int(action.max()) + 1 if given else 0
    return action, tuple(range(count))
