"""A log that is a folder of Parquet files, in the order of their names; a row is known by its position in all of them.
RAW."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tacit import extras
from tacit.data import Array, Integers
from tacit.model import arms

FEATURES, REWARD = 1, 2  # what may be wrong with a row


class Piece(NamedTuple):
    """Rows of one file."""

    path: str
    offset: int
    length: int


class Folder:
    """Its files, how many rows each has, and their columns."""

    def __init__(self, path: str | Path) -> None:
        pl, given = extras.load("polars", "logs"), Path(path)
        files = sorted(given.glob("*.parquet")) if given.is_dir() else [given]
        if not files or not all(file.is_file() for file in files):
            raise ValueError(f"Expected a folder of Parquet files, or one of them, got {given} without.")
        try:
            schemas = [pl.read_parquet_schema(file) for file in files]
            self.lengths = [int(pl.scan_parquet(file).select(pl.len()).collect().item()) for file in files]
        except (pl.exceptions.PolarsError, OSError):
            raise ValueError(f"Expected Parquet files in {given}, got one that cannot be read.") from None
        if any(schema != schemas[0] for schema in schemas):
            raise ValueError(f"Expected files with the same columns in {given}, got others.")
        self.files, self.columns = [str(file.absolute()) for file in files], list(schemas[0])
        kinds = schemas[0].items()
        self.numbers = {name for name, kind in kinds if kind.is_numeric() or kind == pl.Boolean}
        self.names = {name for name, kind in kinds if kind.is_integer() or kind == pl.String}

    @property
    def count(self) -> int:
        return sum(self.lengths)

    def pieces(self, start: int, count: int, most: int) -> list[Piece]:
        """Where rows start, ..., start + count - 1 are, at most so many in a piece."""
        out, first = [], 0
        for path, length in zip(self.files, self.lengths, strict=True):
            low, high = max(start, first), min(start + count, first + length)
            out += [Piece(path, at - first, min(most, high - at)) for at in range(low, high, most)]
            first += length
        return out


def frame(piece: Piece, columns: Sequence[str] | None = None) -> Any:
    """Those rows and columns."""
    lazy = extras.load("polars", "logs").scan_parquet(piece.path).slice(piece.offset, piece.length)
    return (lazy if columns is None else lazy.select(columns)).collect()


class Encoder(NamedTuple):
    """Columns of numbers as rows that a bandit takes. It holds settings alone, so that it may go to another machine."""

    names: tuple[str, ...]  # x0, x1, ...
    dim: int
    blocks: int  # of the bandit
    low: float
    high: float  # of rewards
    actions: tuple[Any, ...] | None  # their names; None: whole numbers

    @property
    def places(self) -> int:
        """How many actions have a block of coordinates each; 1 if features are those of the action that was taken."""
        return self.dim // len(self.names)

    @property
    def columns(self) -> list[str]:
        return [*self.names, "reward", *(["action"] if self.places > 1 else [])]

    def __call__(self, table: Any) -> tuple[Array, Array, Integers]:
        """Rows of a frame; rewards, NaN where none came or the row is refused; what is wrong with each, or 0."""
        x = np.column_stack([_numbers(table, name) for name in self.names])
        rewards = _numbers(table, "reward")
        bad = np.zeros(len(x), np.bool_)
        if self.places > 1:
            place = self._place(table)
            bad = (place < 0) | (place >= self.places)
            x = self._placed(x, np.where(bad, 0, place))
        own = x[:, :-1] if self.blocks > 1 else x
        with np.errstate(over="ignore", invalid="ignore"):  # as model.arms checks one user
            squares = np.einsum("kd,kd->k", own, own)
            bad |= ~(squares <= (1 + arms.TOLERANCE) ** 2)
            long = ~bad & (squares > (1 + arms.LEFT) ** 2) & (np.sqrt(squares) > 1 + arms.LEFT)
        own[bad] = 0.0
        own[long] /= np.sqrt(squares[long])[:, None]
        outside = ~np.isnan(rewards) & ~((rewards >= self.low) & (rewards <= self.high) & np.isfinite(rewards))
        rewards = np.where(bad | outside, np.nan, rewards)
        return np.ascontiguousarray(x), rewards, np.where(bad, FEATURES, np.where(outside, REWARD, 0))

    def _place(self, table: Any) -> Integers:
        column = table["action"]
        if self.actions is not None:
            known = {name: i for i, name in enumerate(self.actions)}
            return np.array([known.get(name, -1) for name in column.to_list()], np.int64)
        return np.asarray(column.cast(_kind("Int64"), strict=False).fill_null(-1).to_numpy())

    def _placed(self, x: Array, place: Integers) -> Array:
        if self.blocks > 1:
            return np.column_stack([x, place])
        whole = np.zeros((len(x), self.places, x.shape[1]))
        whole[np.arange(len(x)), place] = x
        return whole.reshape(len(x), -1)


def _numbers(table: Any, name: str) -> Array:
    return np.array(table[name].cast(_kind("Float64")).fill_null(np.nan).to_numpy(), np.float64)


def _kind(name: str) -> Any:
    return getattr(extras.load("polars", "logs"), name)
