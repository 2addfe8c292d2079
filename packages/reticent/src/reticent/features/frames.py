"""Tables and their rows as plain values: pandas and polars frames, Arrow tables and batches, whatever else has the
Arrow stream interface (`__arrow_c_stream__`), and mappings of columns. None of these libraries is imported for it;
polars is, where a stream has nothing but that interface. RAW: a table is people's data, and no error repeats it."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from reticent import extras

STREAM = "__arrow_c_stream__"


def is_frame(given: Any) -> bool:
    """Whether it has rows and named columns, and is no mapping. (A single column is an Arrow stream as well.)"""
    if isinstance(given, Mapping | np.ndarray | list | tuple):
        return False
    return _is_named(given) or (
        hasattr(given, STREAM) and not (hasattr(given, "to_list") or hasattr(given, "to_pylist"))
    )


def columns(table: Any) -> dict[str, Any]:
    """Name -> column, as it came; ValueError for what has no named columns."""
    if isinstance(table, Mapping):
        return {str(name): column for name, column in table.items()}
    if not is_frame(table):
        raise ValueError(f"Expected a frame, an Arrow table or a mapping of columns, got {type(table).__name__}.")
    if not _is_named(table):
        table = extras.load("polars", "frames", extra="logs").DataFrame(table)
    names = getattr(table, "column_names", None) or table.columns
    return {str(name): table[name] for name in names}


def values(column: Any) -> list[Any]:
    """Its values as Python has them, None for what is missing."""
    if isinstance(column, list):
        return column
    if hasattr(column, "to_pylist"):  # Arrow
        return list(column.to_pylist())
    if hasattr(column, "iloc"):  # pandas, whose missing values are of several kinds
        return _plain(column.to_numpy(dtype=object, na_value=None))
    if hasattr(column, "to_list"):  # polars
        return list(column.to_list())
    return _plain(column) if isinstance(column, np.ndarray) else list(column)


def rows(table: Any) -> Iterator[dict[str, Any]]:
    """Name -> value, row by row."""
    found = columns(table)
    return (dict(zip(found, row, strict=True)) for row in zip(*map(values, found.values()), strict=True))


def row(given: Any) -> Any:
    """Name -> value, of a pandas row, a frame of one row or a named tuple; anything else is returned as it is."""
    if isinstance(given, Mapping):
        return given
    if hasattr(given, "iloc") and not _is_named(given):
        return dict(zip(map(str, given.index), values(given), strict=True))
    if is_frame(given):
        found = list(rows(given))
        if len(found) != 1:
            raise ValueError(f"Expected the fields of one person, got a frame of {len(found)} rows.")
        return found[0]
    return given._asdict() if hasattr(given, "_asdict") else given


def _plain(array: Any) -> list[Any]:
    """Lists in place of arrays, also of arrays in arrays."""
    return [_plain(one) if isinstance(one, np.ndarray) else one for one in array.tolist()]


def _is_named(given: Any) -> bool:
    """Whether it says what its columns are called: a column, or a frame that is yet to be computed, does not."""
    kind = type(given)
    return hasattr(kind, "column_names") or (hasattr(kind, "columns") and hasattr(kind, "__len__"))
