"""Learning from a log: each row is a round of one person, protected by the same budget as a live one.

A row counts as a choice and adds its reward to the step that is open, so the schedule is that of the rows' positions.
A row that is refused (bad features, a person with no rounds left) is refused alone and counts all the same. One with a
bad reward is a choice whose reward never came: where contexts are public, what it adds to them tells nothing of it."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit import logs
from tacit.bandits.persons import LEARNS
from tacit.data import Array
from tacit.errors import PersonLimit
from tacit.kernels.rounds import CHOICES

if TYPE_CHECKING:
    from tacit.bandits.joint.continual import ContinualBandit

ROW = "Expected an action of the bandit and finite features of norm at most 1, got a row with others."


Row = tuple[Array | None, Any, Any]  # RAW: features, None where they are wrong; reward; person


def read(bandit: "ContinualBandit", table: Any, actions: Any) -> tuple[int, Iterator[Row]]:
    """How many rows a table has, and what is learnt of each; ValueError for a table that has not the right columns."""
    names = logs.names(table)
    check_columns(bandit, names)
    rewards = list(table["reward"])
    people = list(table["person"]) if "person" in names else [None] * len(rewards)  # where persons are not counted
    return len(rewards), zip(_played(bandit, table, actions), rewards, people, strict=True)


def check_columns(bandit: "ContinualBandit", names: Collection[str]) -> None:
    """ValueError for a table in which something is not named as it should be: before a row of it is spent."""
    if "reward" not in names:
        raise ValueError("Expected a column reward, got none.")
    limited = bandit.max_rounds_per_person is not None
    if limited and "person" not in names:
        raise ValueError("Expected a column person (None where unknown), as max_rounds_per_person is set, got none.")
    if "person" in names and not limited:
        raise ValueError("Expected max_rounds_per_person for a log with a column person, got a bandit without it.")
    if bandit.features is not None:
        missing = [name for name in bandit.features.context if name not in names]
        if missing:
            raise ValueError(
                "Expected a column for each field of the schema (of None where it is not known), got none named "
                f"{' or '.join(missing)}."
            )


def is_silent(reward: Any) -> bool:
    """Whether it never came."""
    return reward is None or (isinstance(reward, float | np.floating) and math.isnan(reward))


def kept(bandit: "ContinualBandit", x: Array) -> Array:
    """What is kept of a row until its reward is added: beside the arm, zeros, which count for nothing."""
    return np.concatenate([x, np.zeros(bandit._keeps - len(x))])


def learn_log(bandit: "ContinualBandit", table: Any, actions: Any) -> dict[int, str]:
    """Row -> reason for those that were refused."""
    count, found = read(bandit, table, actions)
    bandit._room(count)
    refused = {}
    for row, (x, reward, person) in enumerate(found):
        bandit._step()
        bandit._logged += 1
        silent = is_silent(reward)
        problem = ROW if x is None else None if silent else bandit._problem(reward)
        mark = LEARNS
        try:
            mark = counted(bandit, person)  # whatever is in the row
        except (ValueError, PersonLimit) as error:
            x, problem = None, problem or str(error)
        if problem is not None:
            refused[row] = problem
        if x is None:
            bandit._state.counts[CHOICES] += 1
            continue
        ticket = bandit._ticket(kept(bandit, x), mark)  # whatever the reward is: a public context is summed here
        if problem is None and not silent:
            bandit.observe(ticket, float(reward))
    return refused


def counted(bandit: "ContinualBandit", person: Any) -> bytes:
    """One round of that person, or of nobody: its mark. PersonLimit or ValueError if it is refused."""
    return bandit._persons.count(bandit._persons.admit(person))


def _played(bandit: "ContinualBandit", table: Any, actions: Any) -> Iterator[Array | None]:
    """The features of the action that was taken, row by row; None where they are wrong. ValueError for a table that has
    not the right columns."""
    columns = logs.names(table)
    named = list(table["action"]) if "action" in columns else None
    if bandit.features is not None:
        return _by_schema(bandit, table, _need(named), actions)
    if "arms" in columns:
        column = table["arms"]
        return map(_of_arms(bandit, actions), column.to_list() if hasattr(column, "to_list") else column, _need(named))
    prefixed = [f"x{i}" for i in range(len(columns)) if f"x{i}" in columns]
    if not prefixed:
        raise ValueError("Expected the columns x0, x1, ... or arms, got neither.")
    if bandit._shared:
        raise ValueError("Expected a schema or the column arms where arms share coordinates, got x0, x1, ....")
    rows = zip(*(list(table[name]) for name in prefixed), strict=True)
    if len(prefixed) == bandit.dim:  # of the action that was taken, already
        return (_checked(bandit, [row]) for row in rows)
    count = check_context(bandit, len(prefixed), actions)
    place = _positions(actions)
    return (_placed(bandit, row, place(action), count) for row, action in zip(rows, _need(named), strict=True))


def check_context(bandit: "ContinualBandit", given: int, actions: Any) -> int:
    """How many actions have so many features in a block of their own each."""
    if bandit.dim % given:
        raise ValueError(f"Expected x0, x1, ... to be a part of {bandit.dim} features, got {given} columns.")
    count = bandit.dim // given
    if bandit._blocks not in (1, count):
        raise ValueError(f"Expected {bandit.dim // bandit._blocks} features a block, got {given} columns.")
    if actions is not None and len(actions) > count:
        raise ValueError(f"Expected at most {count} actions, got {len(actions)}.")
    return count


def _need(named: list[Any] | None) -> list[Any]:
    if named is None:
        raise ValueError("Expected a column action, got none.")
    return named


def _by_schema(bandit: "ContinualBandit", table: Any, named: list[Any], actions: Any) -> Iterator[Array | None]:
    assert bandit.features is not None
    fields = list(bandit.features.context)
    rows = zip(*(list(table[name]) for name in fields), strict=True) if fields else iter([()] * len(named))
    for row, action in zip(rows, named, strict=True):
        known = isinstance(actions, Mapping) and isinstance(action, str) and action in actions
        offered: Any = {action: actions[action]} if known else [action]
        yield _checked(bandit, dict(zip(fields, row, strict=True)), offered)


def _of_arms(bandit: "ContinualBandit", actions: Any) -> Callable[[Any, Any], Array | None]:
    position = _positions(actions)

    def chosen(arms: Any, action: Any) -> Array | None:
        place = position(action)
        return None if place is None else _checked(bandit, arms, None, place)

    return chosen


def _positions(actions: Sequence[Any] | None) -> Callable[[Any], int | None]:
    """What puts an action where it belongs: by its name in `actions`, or as a whole number; None for others."""
    known = None if actions is None else {name: i for i, name in enumerate(actions)}

    def position(action: Any) -> int | None:
        if isinstance(action, bool) or not isinstance(action, str | int | np.integer):
            return None
        if known is not None:
            return known.get(action)
        return int(action) if not isinstance(action, str) and action >= 0 else None

    return position


def _placed(bandit: "ContinualBandit", row: Sequence[Any], place: int | None, count: int) -> Array | None:
    if place is None or place >= count:
        return None
    if bandit._blocks > 1:
        return _checked(bandit, [[*row, place]])
    whole: list[Any] = [0.0] * (len(row) * count)
    whole[place * len(row) : (place + 1) * len(row)] = row
    return _checked(bandit, [whole])


def _checked(bandit: "ContinualBandit", arms: Any, actions: Any = None, place: int = 0) -> Array | None:
    try:
        x: Array = bandit._request(arms, None, actions)[0][place]
        return x if math.isfinite(float(x.sum())) else None
    except (ValueError, TypeError, KeyError, IndexError, OverflowError):
        return None
