"""What sums the rows of a step: this process, or the workers of Ray. Sums are whole numbers, so both give the same."""

from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from tacit import cluster
from tacit.bandits.joint.summing import Summer
from tacit.data import Exact, Integers, Raw
from tacit.logs import parquet
from tacit.logs.parquet import Encoder, Folder, Piece

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
AT_ONCE = 1 << 20  # rows that are in memory at a time, of each worker
WORTH = 1 << 17  # rows below which a step is summed here: to hand it out would take longer


class PartSum(NamedTuple):
    """Of a step, as the worker that summed it has it. RAW."""

    total: Exact
    wrong: Integers  # by row: what is wrong with it, or 0


class Whole(NamedTuple):
    """All of a step."""

    total: Raw[Exact]
    wrong: Integers


class Engine(Protocol):
    def __call__(self, start: int, count: int, summer: Summer, teach: Mask | None) -> Whole:
        """Rows start, ..., start + count - 1. teach: which of them may teach; None: all."""
        ...


def part(encoder: Encoder, table: Any, summer: Summer, teach: Mask | None) -> PartSum:
    """Of these rows."""
    rows, rewards, wrong = encoder(table)
    return PartSum(summer(rows, rewards if teach is None else np.where(teach, rewards, np.nan)), wrong)


def together(parts: list[PartSum]) -> Whole:
    return Whole(Raw(np.sum([one.total for one in parts], axis=0)), np.concatenate([one.wrong for one in parts]))


class Local:
    """Reads the folder once, in order, some rows ahead of the step."""

    def __init__(self, folder: Folder, encoder: Encoder) -> None:
        self._folder, self._encoder = folder, encoder
        self._first, self._after = 0, 0  # of the rows that are in memory

    def __call__(self, start: int, count: int, summer: Summer, teach: Mask | None) -> Whole:
        parts, end = [], start + count
        while start < end:
            if not self._first <= start < self._after:
                piece = self._folder.pieces(start, AT_ONCE, AT_ONCE)[0]
                self._first, self._after = start, start + piece.length
                self._rows = self._encoder(parquet.frame(piece, self._encoder.columns))
            here = slice(start - self._first, end - self._first)
            rows, rewards, wrong = self._rows[0][here], self._rows[1][here], self._rows[2][here]
            if teach is not None:
                rewards = np.where(teach[count - (end - start) :][: len(rewards)], rewards, np.nan)
            parts.append(PartSum(summer(rows, rewards), wrong))
            start += len(rewards)
        return together(parts)


class Ray:
    """A worker for each piece of a step, which reads it where it is summed: every machine has to see the folder."""

    def __init__(self, folder: Folder, encoder: Encoder) -> None:
        cluster.connect()
        self._folder, self._encoder, self._local = folder, encoder, Local(folder, encoder)

    def __call__(self, start: int, count: int, summer: Summer, teach: Mask | None) -> Whole:
        if count < WORTH:
            return self._local(start, count, summer, teach)
        work: list[tuple[Piece, Mask | None]] = []
        at = 0
        for piece in self._folder.pieces(start, count, AT_ONCE):
            work.append((piece, None if teach is None else teach[at : at + piece.length]))
            at += piece.length
        return together(cluster.Workers(partial(_summed, self._encoder, summer)).map(work))


def _summed(encoder: Encoder, summer: Summer, work: tuple[Piece, Mask | None]) -> PartSum:
    """On a worker."""
    piece, teach = work
    return part(encoder, parquet.frame(piece, encoder.columns), summer, teach)
