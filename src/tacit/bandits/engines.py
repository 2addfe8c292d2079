"""What sums the rows of a step: this process, or the workers of Ray. Sums are whole numbers, so both give the same."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from tacit import extras
from tacit.bandits.joint.summing import Summer
from tacit.data import Integers, Raw
from tacit.logs import parquet
from tacit.logs.parquet import Encoder, Folder, Piece

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
ENGINES = ("local", "ray")
AT_ONCE = 1 << 20  # rows that are in memory at a time, of each worker
WORTH = 1 << 17  # rows below which a step is summed here: to hand it out would take longer


class Part(NamedTuple):
    """Of a step. RAW."""

    total: Raw
    wrong: Integers  # by row: what is wrong with it, or 0


class Engine(Protocol):
    def __call__(self, start: int, count: int, summer: Summer, teach: Mask | None) -> Part:
        """Rows start, ..., start + count - 1. teach: which of them may teach; None: all."""
        ...


def part(encoder: Encoder, table: Any, summer: Summer, teach: Mask | None) -> Part:
    """Of these rows."""
    rows, rewards, wrong = encoder(table)
    return Part(summer(rows, rewards if teach is None else np.where(teach, rewards, np.nan)), wrong)


def together(parts: list[Part]) -> Part:
    return Part(Raw(np.sum([one.total for one in parts], axis=0)), np.concatenate([one.wrong for one in parts]))


class Local:
    """Reads the folder once, in order, some rows ahead of the step."""

    def __init__(self, folder: Folder, encoder: Encoder) -> None:
        self._folder, self._encoder = folder, encoder
        self._first, self._after = 0, 0  # of the rows that are in memory

    def __call__(self, start: int, count: int, summer: Summer, teach: Mask | None) -> Part:
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
            parts.append(Part(summer(rows, rewards), wrong))
            start += len(rewards)
        return together(parts)


class Ray:
    """Ray Data over the pieces of a step, each read where it is summed: every machine has to see the folder."""

    def __init__(self, folder: Folder, encoder: Encoder) -> None:
        self._data = extras.load("ray.data", "engine='ray'", extra="ray")
        self._folder, self._encoder, self._local = folder, encoder, Local(folder, encoder)

    def __call__(self, start: int, count: int, summer: Summer, teach: Mask | None) -> Part:
        if count < WORTH:
            return self._local(start, count, summer, teach)
        work: list[dict[str, Any]] = []
        at = 0
        for piece in self._folder.pieces(start, count, AT_ONCE):
            own = None if teach is None else teach[at : at + piece.length]
            work.append({"number": len(work), "teach": own} | piece._asdict())
            at += piece.length
        done = self._data.from_items(work, override_num_blocks=len(work)).map(_summed(self._encoder, summer)).take_all()
        return together([Part(Raw(one["total"]), one["wrong"]) for one in sorted(done, key=lambda one: one["number"])])


def _summed(encoder: Encoder, summer: Summer) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def on_a_worker(item: dict[str, Any]) -> dict[str, Any]:
        piece = Piece(str(item["path"]), int(item["offset"]), int(item["length"]))
        table = parquet.frame(piece, encoder.columns)
        return {"number": item["number"]} | part(encoder, table, summer, item["teach"])._asdict()

    return on_a_worker
