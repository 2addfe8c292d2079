"""Learning from a log: each row is a round of one person, protected by the same budget as a live one.

A row counts as a choice and adds its reward to the step that is open, so the schedule is that of the rows' positions.
A row that is refused (bad features, no person) is refused alone and counts all the same. One with a
bad reward is a choice whose reward never came."""

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from reticent import logs
from reticent.core.reward import reward_problem
from reticent.core.validation import Validator
from reticent.data import Array, Integers
from reticent.features import frames
from reticent.mechanisms.leaves import RowSum, Whole, no_rows

ROW = "Expected an action of the bandit and finite features of norm at most 1, got a row with others."
FEW = 10  # one row in so many may be refused
NAMED = 5  # rows that an error names

FEATURES = 1  # are wrong with a row; any other number but 0: its reward is
ROWS_AT_ONCE = 1 << 14  # of a log in pieces, in memory, where they are looked at one by one
SUMMED_AT_ONCE = 1 << 20  # and where they are columns of numbers
Row = tuple[Array | None, Any, Any]  # RAW: features, None where they are wrong; reward; person


class LogSums(Protocol):
    """What sums the rows of a log, wherever they are."""

    def __call__(self, start: int, count: int, summer: RowSum) -> Whole:
        """Rows start, ..., start + count - 1."""
        ...


@runtime_checkable
class LongLog(Protocol):
    """A log in pieces, too large for one table."""

    fields: list[str]  # names of its columns; no frame has such an attribute, which may be slow to ask for

    @property
    def count(self) -> int: ...  # of rows
    def tables(self, start: int, count: int, at_once: int, names: Sequence[str] | None = None) -> Iterator[Any]:
        """Rows start, ..., start + count - 1, in frames of at most `at_once`, with these columns or all."""
        ...

    def sums(self, validator: Validator, actions: Any, *, anywhere: bool) -> LogSums | None:
        """What sums its rows without looking at them one by one, if `anywhere` is true and they are columns of numbers;
        else None."""
        ...


def read(validator: Validator, table: Any, actions: Any) -> tuple[int, Iterator[Row]]:
    """How many rows a table has, and what is learnt of each; ValueError for a table that has not the right columns."""
    table = frames.columns(table)
    check_columns(validator, table)
    rewards = frames.values(table["reward"])
    people = frames.values(table["person"]) if "person" in table else [None] * len(rewards)  # where none are counted
    return len(rewards), zip(_played(validator, table, actions), rewards, people, strict=True)


def source(validator: Validator, table: Any, actions: Any) -> tuple[int, Callable[[int], Iterator[Row]]]:
    """How many rows a table or log has, and what gives those from a position on, one by one."""
    if not isinstance(table, LongLog):
        table = frames.columns(table)  # an Arrow stream is read once
        count, _ = read(validator, table, actions)
        return count, lambda start: itertools.islice(read(validator, table, actions)[1], start, None)
    for first in table.tables(0, 1, 1):
        read(validator, first, actions)  # ValueError, before a row of it is spent

    def rows_from(start: int) -> Iterator[Row]:
        for piece in table.tables(start, table.count - start, ROWS_AT_ONCE):
            yield from read(validator, piece, actions)[1]

    return table.count, rows_from


def check_columns(validator: Validator, names: Collection[str]) -> None:
    """ValueError for a table in which something is not named as it should be: before a row of it is spent."""
    if "reward" not in names:
        raise ValueError("Expected a column reward, got none.")
    limited = validator.limited
    if limited and "person" not in names:
        raise ValueError("Expected a column person, as the budget is for a person, got none.")
    if "person" in names and not limited:
        raise ValueError("Expected a budget for a person for a log with a column person, got one for a round.")
    if validator.schema is not None:
        logs.check_fields(validator.schema, names)


def check_rows(rows: Iterable[Row], rewards: tuple[float, float], check_person: Callable[[Any], object]) -> None:
    """ValueError if too many of them cannot be learnt for what is in them: before a row of it is spent."""
    refused, count = {}, 0
    for row, (x, reward, person) in enumerate(rows):
        why, count = problem(x, reward, rewards), row + 1
        try:
            check_person(person)
        except ValueError as error:
            why = why or str(error)
        if why is not None:
            refused[row] = why
    check_few(refused, count)


def check_sums(sums: LogSums, log: LongLog, rewards: tuple[float, float]) -> None:
    """The same of a log whose rows are columns of numbers."""
    refused: dict[int, str] = {}
    for first in range(0, log.count, SUMMED_AT_ONCE):
        count = min(SUMMED_AT_ONCE, log.count - first)
        refused |= reasons(sums(first, count, no_rows).wrong, first, rewards)
    check_few(refused, log.count)


def reasons(wrong: Integers, first: int, rewards: tuple[float, float]) -> dict[int, str]:
    """Row -> reason, of rows from `first` on."""
    reward = reward_problem(math.inf, *rewards) or ""
    return {first + int(row): ROW if wrong[row] == FEATURES else reward for row in np.flatnonzero(wrong)}


def check_few(refused: Mapping[int, str], count: int) -> None:
    """ValueError if they are more than one in FEW: then the log is not one of this bandit's rounds."""
    if FEW * len(refused) > count:
        first = itertools.islice(refused.items(), NAMED)
        raise ValueError(
            f"Expected at most one row in {FEW} to be refused, got {len(refused)} of {count}; nothing was learnt. "
            + " ".join(f"Row {row}: {why}" for row, why in first)
        )


def problem(x: Array | None, reward: Any, rewards: tuple[float, float]) -> str | None:
    """What is wrong with the features or the reward of a row."""
    if x is None:
        return ROW
    return None if is_silent(reward) else reward_problem(reward, *rewards)


def is_silent(reward: Any) -> bool:
    """Whether it never came."""
    return reward is None or (isinstance(reward, float | np.floating) and math.isnan(reward))


def _played(validator: Validator, table: Mapping[str, Any], actions: Any) -> Iterator[Array | None]:
    """The features of the action that was taken, row by row; None where they are wrong. ValueError for a table that has
    not the right columns."""
    named = frames.values(table["action"]) if "action" in table else None
    if validator.schema is not None:
        return _by_schema(validator, table, _need(named), actions)
    if "arms" in table:
        return map(_of_arms(validator, actions), frames.values(table["arms"]), _need(named))
    prefixed = logs.numbered(table)
    if not prefixed:
        raise ValueError("Expected the columns x0, x1, ... or arms, got neither.")
    rows = zip(*(frames.values(table[name]) for name in prefixed), strict=True)
    if len(prefixed) == validator.dim:  # of the action that was taken, already
        return (validator.played([row]) for row in rows)
    count = check_context(validator, len(prefixed), actions)
    if named is None:
        raise ValueError(
            f"Expected {validator.dim} columns x0, x1, ..., or fewer and a column action, got {len(prefixed)}."
        )
    place = _positions(actions)
    return (_placed(validator, row, place(action), count) for row, action in zip(rows, named, strict=True))


def check_context(validator: Validator, given: int, actions: Any) -> int:
    """How many actions have so many features in a block of their own each."""
    if validator.dim % given:
        raise ValueError(f"Expected x0, x1, ... to be a part of {validator.dim} features, got {given} columns.")
    count = validator.dim // given
    if actions is not None and len(actions) > count:
        raise ValueError(f"Expected at most {count} actions, got {len(actions)}.")
    return count


def _need(named: list[Any] | None) -> list[Any]:
    if named is None:
        raise ValueError("Expected a column action, got none.")
    return named


def _by_schema(
    validator: Validator, table: Mapping[str, Any], named: list[Any], actions: Any
) -> Iterator[Array | None]:
    assert validator.schema is not None
    fields = list(validator.schema.context)
    columns = [frames.values(table[name]) for name in fields]
    rows = zip(*columns, strict=True) if fields else iter([()] * len(named))
    for row, action in zip(rows, named, strict=True):
        described = isinstance(actions, Mapping) and isinstance(action, str) and action in actions
        offered: Any = {action: actions[action]} if described else [action]
        yield validator.played(dict(zip(fields, row, strict=True)), offered)


def _of_arms(validator: Validator, actions: Any) -> Callable[[Any, Any], Array | None]:
    position = _positions(actions)

    def chosen(arms: Any, action: Any) -> Array | None:
        place = position(action)
        return None if place is None else validator.played(arms, None, place)

    return chosen


def _positions(actions: Sequence[Any] | None) -> Callable[[Any], int | None]:
    """What puts an action where it belongs: by its name in `actions`, or as a whole number; None for others."""
    places = None if actions is None else {name: i for i, name in enumerate(actions)}

    def position(action: Any) -> int | None:
        if isinstance(action, bool) or not isinstance(action, str | int | np.integer):
            return None
        if places is not None:
            return places.get(action)
        return int(action) if not isinstance(action, str) and action >= 0 else None

    return position


def _placed(validator: Validator, row: Sequence[Any], place: int | None, count: int) -> Array | None:
    if place is None or place >= count:
        return None
    whole: list[Any] = [0.0] * (len(row) * count)
    whole[place * len(row) : (place + 1) * len(row)] = row
    return validator.played([whole])
