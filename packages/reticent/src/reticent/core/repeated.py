"""Whether a log is learnt a second time: by a keyed digest of its rows. RAW, and kept where people's hashes are.

Only a whole log is compared, and only one with SEVERAL different rows. What is refused must not depend on one person's
data: two logs of independent people are the same, row by row, with a probability of at most n^-(SEVERAL - 1) for n rows
of which SEVERAL differ (the most likely law is that of the log itself), which is below 1e-18. So a log that is refused
is one that was given twice, which is the operator's act and no person's. A log of a few rows, or of rows that all look
alike, may well be the same for other people: it is learnt."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from reticent import logs
from reticent.core.logs import LongLog
from reticent.core.validation import Validator
from reticent.data import Integers
from reticent.features import frames

SEVERAL = 16
ROWS_AT_ONCE = 1 << 14
SIZE = 16  # bytes
NUMBERS = (int, float, np.bool_, np.integer, np.floating, type(None))
TWICE = (
    "Expected a log that is new to this bandit, got one whose rows it has learnt: a row that is learnt twice is a "
    "person in two rounds."
)


def digest(validator: Validator, table: Any, key: bytes) -> str | None:
    """The same for the same rows, from a frame, a mapping of columns or a log in pieces, of what is learnt from them;
    None for a log that may be the same for other people."""
    made = hashlib.blake2b(key=key, digest_size=SIZE, person=b"reticent log")
    different: set[bytes] = set()
    for piece in _pieces(validator, table):
        made.update(repr(sorted(piece)).encode() if not different else b"")
        rows = np.column_stack([_numbers(piece[name], key) for name in sorted(piece)])
        made.update(rows.tobytes())
        for row in rows:
            if len(different) == SEVERAL:
                break
            different.add(row.tobytes())
    return made.hexdigest() if len(different) == SEVERAL else None


def _pieces(validator: Validator, table: Any) -> Iterator[dict[str, list[Any]]]:
    if isinstance(table, LongLog):
        names = _used(validator, table.fields)
        for frame in table.tables(0, table.count, ROWS_AT_ONCE, names):
            yield {name: frames.values(frame[name]) for name in names}
    else:
        columns = frames.columns(table)
        yield {name: frames.values(columns[name]) for name in _used(validator, list(columns))}


def _used(validator: Validator, columns: list[str]) -> list[str]:
    """The columns of what is learnt."""
    features = logs.numbered(columns)
    if validator.schema is not None:
        features = list(validator.schema.context)
    elif "arms" in columns:
        features = ["arms"]
    return [name for name in ("action", "person", "reward", *features) if name in columns]


def _numbers(column: list[Any], key: bytes) -> Integers:
    """64 bits of each value. A number is itself, whole or not; none and NaN are one; anything else is hashed."""
    kinds = set(map(type, column))
    if all(issubclass(kind, NUMBERS) for kind in kinds):
        try:
            numbers = np.array(column, np.float64) + 0.0  # -0 is 0
        except OverflowError:
            pass
        else:
            numbers[np.isnan(numbers)] = np.nan
            return numbers.view(np.int64)
    return np.array([_hashed(value, key) for value in column], np.int64)


def _hashed(value: Any, key: bytes) -> int:
    if value is None or (isinstance(value, float) and value != value):
        return int(np.float64(np.nan).view(np.int64))
    try:
        text = repr(value.tolist() if isinstance(value, np.ndarray) else value)
    except Exception:  # whatever an object does that is asked for a text: its row is refused later, alone
        text = type(value).__name__
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "replace"), key=key, digest_size=8).digest(), "big", signed=True
    )
