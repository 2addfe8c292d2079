"""Tables of logged rounds: pandas and polars frames, Arrow tables, mappings of columns, Parquet and CSV files.

Columns: `reward`, `action` and features: x0, x1, ... or a schema's fields. RAW: everything here is people's data."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reticent import extras
from reticent.data import Array
from reticent.features import frames
from reticent.features.schema import Schema


def read(path: str | Path) -> Any:
    """The frame in a Parquet or CSV file, or in a folder of Parquet files, in the order of their names."""
    path = Path(path)
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files or not all(file.is_file() for file in files):
        raise ValueError(f"Expected a Parquet or CSV file, or a folder of Parquet files, got {path} without.")
    pl = extras.load("polars", "logs", extra="logs")
    try:
        return pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(files)
    except (pl.exceptions.PolarsError, OSError):
        raise ValueError(f"Expected a Parquet or CSV file, got {path} which is neither.") from None


def check_fields(schema: Schema, names: Collection[str]) -> None:
    """ValueError for a table without some field of a person."""
    missing = [name for name in schema.context if name not in names]
    if missing:
        raise ValueError(
            "Expected a column for each field of the schema (of None where it is not known), got none named "
            f"{' or '.join(missing)}."
        )


def numbers(table: Mapping[str, Any], name: str) -> Array:
    """A column of finite numbers."""
    try:
        out = np.asarray(table[name], dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"Expected numbers in the column {name}, got something else.") from None
    if out.ndim != 1 or not np.isfinite(out).all():
        raise ValueError(f"Expected finite numbers in the column {name}, got NaN, infinity or rows of them.")
    return out


def contexts(table: Any, prefix: str = "x") -> Array | None:
    """(n, p) numbers from the columns x0, x1, ...; None if there is no x0."""
    table = frames.columns(table)
    found = numbered(table, prefix)
    if f"{prefix}0" not in found:
        return None
    return np.stack([numbers(table, name) for name in found], axis=1)


def numbered(names: Collection[str], prefix: str = "x") -> list[str]:
    """Those that are called x0, x1, ..., in that order."""
    return [f"{prefix}{i}" for i in range(len(names)) if f"{prefix}{i}" in names]


def labelled(table: Any, schema: Schema | None = None) -> tuple[Array, Array]:
    """(features, rewards): of the columns x0, x1, ..., or of the schema's fields."""
    table = frames.columns(table)
    if "reward" not in table:
        raise ValueError("Expected a column reward, got none.")
    features = contexts(table) if schema is None else schema.encode(table)
    if features is None:
        raise ValueError("Expected the columns x0, x1, ..., got none.")
    return features, numbers(table, "reward")
