"""A log that is a folder of Parquet files, in the order of their names; a row is known by its position in all of them.
Its rows are summed by this process, or by the workers of Ray. Sums are whole numbers, so both give the same. RAW."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from reticent import checks
from reticent.core.logs import FEATURES, LogSums, check_context
from reticent.core.validation import Validator
from reticent.data import Array, Exact, Integers, Raw
from reticent.logs import numbered
from reticent.mechanisms.leaves import RowSum, Whole
from reticent.model import arms
from reticent_lab import cluster

AT_ONCE = 1 << 20  # rows that are in memory at a time, of each worker
WORTH = 1 << 17  # rows below which a step is summed here: to hand it out would take longer

REWARD = FEATURES + 1  # is wrong with a row


class Piece(NamedTuple):
    """Rows of one file."""

    path: str
    offset: int
    length: int


class Folder:
    """A log for `learn_log`: its files, how many rows each has, and their columns. engine: who sums its rows, this
    process, or "ray", whose workers all have to see the folder (docs/cluster.md); to the same bits."""

    def __init__(self, path: str | Path, *, engine: str = "local") -> None:
        checks.one_of(cluster.ENGINES, engine=engine)
        self._engine, given = engine, Path(path)
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
        self.files, self.fields = [str(file.absolute()) for file in files], list(schemas[0])
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

    def tables(
        self, start: int, count: int, at_once: int, names: Sequence[str] | None = None
    ) -> Iterator[pl.DataFrame]:
        """Rows start, ..., start + count - 1, in frames of at most `at_once`, with these columns or all."""
        return (frame(piece, names) for piece in self.pieces(start, count, at_once))

    def sums(self, validator: Validator, actions: Any, *, anywhere: bool) -> LogSums | None:
        """What sums its rows as columns of numbers; None where they have to be looked at one by one, as they have if
        not `anywhere`. ValueError if that is not what was asked for."""
        found = encoder(validator, self, actions) if anywhere else None
        if found is not None:
            return Ray(self, found) if self._engine == "ray" else Local(self, found)
        if self._engine != "local":
            raise ValueError(
                "Expected secure noise, no window, no limit for persons, and the columns x0, x1, ... of numbers for "
                "engine='ray', got others: schema.encode(frame) makes such columns."
            )
        return None


def frame(piece: Piece, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Those rows and columns."""
    lazy = pl.scan_parquet(piece.path).slice(piece.offset, piece.length)
    return (lazy if columns is None else lazy.select(columns)).collect()


class Encoder(NamedTuple):
    """Columns of numbers as rows that a bandit takes. It holds settings alone, so that it may go to another machine."""

    names: tuple[str, ...]  # x0, x1, ...
    dim: int
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
        with np.errstate(over="ignore", invalid="ignore"):  # as model.arms checks one user
            squares = np.einsum("kd,kd->k", x, x)
            bad |= ~(squares <= (1 + arms.TOLERANCE) ** 2)
            long = ~bad & (squares > (1 + arms.LEFT) ** 2) & (np.sqrt(squares) > 1 + arms.LEFT)
        x[bad] = 0.0
        x[long] /= np.sqrt(squares[long])[:, None]
        outside = ~np.isnan(rewards) & ~((rewards >= self.low) & (rewards <= self.high) & np.isfinite(rewards))
        rewards = np.where(bad | outside, np.nan, rewards)
        return np.ascontiguousarray(x), rewards, np.where(bad, FEATURES, np.where(outside, REWARD, 0))

    def _place(self, table: Any) -> Integers:
        column = table["action"]
        if self.actions is not None:
            known = {name: i for i, name in enumerate(self.actions)}
            return np.array([known.get(name, -1) for name in column.to_list()], np.int64)
        return np.asarray(column.cast(pl.Int64, strict=False).fill_null(-1).to_numpy())

    def _placed(self, x: Array, place: Integers) -> Array:
        whole = np.zeros((len(x), self.places, x.shape[1]))
        whole[np.arange(len(x)), place] = x
        return whole.reshape(len(x), -1)


def encoder(validator: Validator, folder: Folder, actions: Any) -> Encoder | None:
    """What reads the folder as columns of numbers; None where rows have to be looked at one by one."""
    names = tuple(numbered(folder.fields))
    if validator.schema is not None or not names or not {*names, "reward"} <= folder.numbers:
        return None
    if "arms" in folder.fields or (len(names) < validator.dim and "action" not in folder.names):
        return None
    check_context(validator, len(names), actions)
    return Encoder(names, validator.dim, *validator.rewards, None if actions is None else tuple(actions))


def _numbers(table: Any, name: str) -> Array:
    return np.array(table[name].cast(pl.Float64).fill_null(np.nan).to_numpy(), np.float64)


class PartSum(NamedTuple):
    """Of a step, as the worker that summed it has it. RAW."""

    total: Exact
    wrong: Integers  # by row: what is wrong with it, or 0


def together(parts: list[PartSum]) -> Whole:
    return Whole(Raw(np.sum([one.total for one in parts], axis=0)), np.concatenate([one.wrong for one in parts]))


class Local:
    """Reads the folder once, in order, some rows ahead of the step."""

    def __init__(self, folder: Folder, encoder: Encoder) -> None:
        self._folder, self._encoder = folder, encoder
        self._first, self._after = 0, 0  # of the rows that are in memory

    def __call__(self, start: int, count: int, summer: RowSum) -> Whole:
        parts, end = [], start + count
        while start < end:
            if not self._first <= start < self._after:
                piece = self._folder.pieces(start, AT_ONCE, AT_ONCE)[0]
                self._first, self._after = start, start + piece.length
                self._rows = self._encoder(frame(piece, self._encoder.columns))
            here = slice(start - self._first, end - self._first)
            rows, rewards, wrong = self._rows[0][here], self._rows[1][here], self._rows[2][here]
            parts.append(PartSum(summer(rows, rewards), wrong))
            start += len(rewards)
        return together(parts)


class Ray:
    """A worker for each piece of a step, which reads it where it is summed: every machine has to see the folder."""

    def __init__(self, folder: Folder, encoder: Encoder) -> None:
        cluster.connect()
        self._folder, self._encoder, self._local = folder, encoder, Local(folder, encoder)

    def __call__(self, start: int, count: int, summer: RowSum) -> Whole:
        if count < WORTH:
            return self._local(start, count, summer)
        pieces = self._folder.pieces(start, count, AT_ONCE)
        return together(cluster.Workers(partial(_summed, self._encoder, summer)).map(pieces))


def _summed(encoder: Encoder, summer: RowSum, piece: Piece) -> PartSum:
    """On a worker."""
    rows, rewards, wrong = encoder(frame(piece, encoder.columns))
    return PartSum(summer(rows, rewards), wrong)
