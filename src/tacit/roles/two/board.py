"""The billboard of two aggregators: the task, and the estimate that devices choose by. It is checked whole before a
datum meets it, as all billboards are (roles.billboard)."""

import functools
import json
from typing import Any, NamedTuple

from tacit.data import Array
from tacit.errors import BadBillboard
from tacit.roles.billboard import MATRIX, ROW, as_bytes, checked, need, parsed
from tacit.roles.schema import Field, flag, one_of, whole
from tacit.roles.two.task import Task

FORMAT, MODEL = "tacit billboard of two aggregators", "two-server"
FIELDS: dict[str, Field] = {
    "format": one_of(FORMAT),
    "version": whole(0, 2**53),
    "random": flag,
    "theta": ROW,
    "at": ROW,
    "inverse": MATRIX,
    "axes": MATRIX,
    "spread": ROW,
}


class TwoServerBoard(NamedTuple):
    """version: steps that were released. random: arms are drawn uniformly, as nothing is known yet. Choices are made by
    theta and a draw of std `spread` along the columns of `axes`, or, for scores, in every coordinate; contributions
    are linearised at `at`, whose covariance is `inverse` (nothing for scores)."""

    task: Task
    version: int
    random: bool
    theta: Array
    at: Array
    inverse: Array
    axes: Array
    spread: Array


def written(board: TwoServerBoard) -> bytes:
    parts = {name: getattr(board, name).tolist() for name in ("theta", "at", "inverse", "axes", "spread")}
    head = {"format": FORMAT, "version": board.version, "random": board.random}
    return json.dumps(head | parts | {"task": board.task.document}, sort_keys=True).encode()


@functools.lru_cache(maxsize=4)  # all devices of a simulation read one billboard
def _read(billboard: bytes) -> TwoServerBoard:
    document: dict[str, Any] = parsed(billboard, MODEL, FORMAT)
    given = document.pop("task", None)
    if type(given) is not dict:
        raise BadBillboard("Expected a billboard with a task, got one without.")
    task, board = Task.read(given), checked(document, FIELDS)
    wide, spread = (task.dim, task.dim) if task.scale else (0, 1)
    for name in ("theta", "at"):
        need(board[name].shape == (task.dim,), f"{task.dim} numbers in {name}")
    for name in ("inverse", "axes"):
        need(board[name].shape == (wide, wide), f"{wide} rows and columns in {name}")
    need(board["spread"].shape == (spread,) and bool((board["spread"] >= 0).all()), "a spread of no negative numbers")
    del board["format"]
    return TwoServerBoard(task=task, **board)


def read(billboard: bytes) -> TwoServerBoard:
    """BadBillboard where it is not exactly that."""
    return _read(as_bytes(billboard))
