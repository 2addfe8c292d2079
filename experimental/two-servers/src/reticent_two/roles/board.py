"""The board of two aggregators: the estimate that devices choose by, as both sign it. It is checked whole before a
datum meets it, as all billboards are (roles.billboard)."""

import functools
import hashlib
from typing import Any, NamedTuple

from reticent.data import Array
from reticent_devices.roles.billboard import MATRIX, ROW, checked, need, parsed
from reticent_devices.roles.schema import Field, flag, hexadecimal, one_of, record, whole
from reticent_two.roles.task import MOST_LEAVES, PARTIES, Task, canonical

FORMAT, MODEL = "reticent board of two aggregators", "two-server"
LATEST = 2**40  # seconds of Unix time
LONGEST = 31 * 86400  # seconds that a board may be used
NOTHING = bytes(32).hex()  # before the first board, and of the leaves before the first step
FIELDS: dict[str, Field] = {
    "format": one_of(FORMAT),
    "task": hexadecimal,
    "version": whole(0, 2**53),
    "previous": hexadecimal,
    "step": whole(0, MOST_LEAVES),
    "leaves": record(dict.fromkeys(PARTIES, hexadecimal)),
    "made": whole(0, LATEST),
    "expires": whole(0, LATEST),
    "random": flag,
    "theta": ROW,
    "at": ROW,
    "inverse": MATRIX,
    "axes": MATRIX,
    "spread": ROW,
}


class TwoServerBoard(NamedTuple):
    """version: counts boards, each of which has the hash of the one before it in `previous`. step: steps that were
    released; leaves: hashes of what each aggregator has released of the last one. made, expires: whole seconds of Unix
    time. random: arms are drawn uniformly, as nothing is known yet. Choices are made by theta and a draw of std
    `spread` along the columns of `axes`, or, for scores, in every coordinate; contributions are linearised at `at`,
    whose covariance is `inverse` (nothing for scores)."""

    task: Task
    version: int
    previous: str
    step: int
    leaves: tuple[str, str]
    made: int
    expires: int
    random: bool
    theta: Array
    at: Array
    inverse: Array
    axes: Array
    spread: Array


def written(board: TwoServerBoard) -> bytes:
    """As it is signed."""
    document = board._asdict() | {"format": FORMAT, "task": board.task.digest.hex()}
    document["leaves"] = dict(zip(PARTIES, board.leaves, strict=True))
    for name in ("theta", "at", "inverse", "axes", "spread"):
        document[name] = document[name].tolist()
    return canonical(document)


def read(task: Task, text: bytes) -> TwoServerBoard:
    """BadBillboard where it is not exactly a board of that task."""
    return _read(task, task.digest, text)


@functools.lru_cache(maxsize=4)  # all devices of a simulation read one board
def _read(task: Task, digest: bytes, text: bytes) -> TwoServerBoard:
    """digest: tasks may be equal whose texts differ in the last digits of a number."""
    document: dict[str, Any] = parsed(text, MODEL, FORMAT)
    need(canonical(document) == text, "a board in its one form")
    board = checked(document, FIELDS)
    need(board.pop("task") == digest.hex(), "a board of its task")
    need(0 < board["expires"] - board["made"] <= LONGEST, "a board for a month at most")
    wide, spread = (task.dim, task.dim) if task.scale else (0, 1)
    for name in ("theta", "at"):
        need(board[name].shape == (task.dim,), f"{task.dim} numbers in {name}")
    for name in ("inverse", "axes"):
        need(board[name].shape == (wide, wide), f"{wide} rows and columns in {name}")
    need(board["spread"].shape == (spread,) and bool((board["spread"] >= 0).all()), "a spread of no negative numbers")
    del board["format"]
    board["leaves"] = board["leaves"]["leader"], board["leaves"]["helper"]
    return TwoServerBoard(task=task, **board)


def renewed(board: TwoServerBoard, *, previous: str, made: int, expires: int) -> TwoServerBoard:
    """The same estimate, for longer."""
    return board._replace(version=board.version + 1, previous=previous, made=made, expires=expires)


def content(board: TwoServerBoard) -> str:
    """A hash of what stays when a board is renewed: its step, and all that devices choose and contribute by."""
    return hashed(written(board._replace(version=0, previous=NOTHING, made=0, expires=0)))


def hashed(text: bytes) -> str:
    """What the next board cites, and what a signer remembers."""
    return hashlib.sha256(text).hexdigest()
