"""The counter file: what an aggregator did last, outside of its database and of every backup of it.

A database that was rolled back would verify a report again, or draw a second noise for a step; both tell of people. So
every change of the database is a link of a chain, and the counter file has the last link before anything that follows
from the change leaves. An aggregator compares both before it does anything. The database may be one link ahead: then it
was stopped between the two, and nothing has left. A counter file that is missing, ahead or of another chain retires the
era. So does a copy of both in another folder, which the lock's inode tells. A copy of the whole machine is not
noticed.

It also has the hash of the last board that was signed, and of its estimate, so that no second one of a version is, and
no second estimate of a step."""

import json
import os
from pathlib import Path
from typing import NamedTuple

from reticent.core.file_witness import locked, write
from reticent.errors import BadState


class ChainLink(NamedTuple):
    """The last change: how many there were, and a hash of all of them."""

    number: int
    chain: str


class SignedBoard(NamedTuple):
    """The last board that was signed: of a version there is one, ever, and of a step one estimate."""

    version: int
    board: str  # its hash
    step: int
    content: str  # the hash of what a renewal has again


class CounterMark(NamedTuple):
    """retired: nothing more is answered, ever."""

    task: str
    party: int
    link: ChainLink
    signed: SignedBoard
    retired: bool


UNREADABLE = CounterMark("", -1, ChainLink(-1, ""), SignedBoard(-1, "", -1, ""), True)


class CounterFile:
    """Locked as long as it is open: no two processes act for one aggregator."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        found = locked(self._path)
        if found is None:
            raise BadState(f"Expected {path.name} to be free, got one that another aggregator has in use.")
        self._descriptor: int | None = found

    def read(self) -> CounterMark | None:
        """None if there is no file. One that cannot be read says that the era is retired."""
        if self._descriptor is None:
            raise BadState("Expected an aggregator that is open, got one that was closed.")
        try:
            document = json.loads(self._path.read_text())
            link = ChainLink(int(document["number"]), str(document["chain"]))
            version, step = int(document["version"]), int(document["step"])
            signed = SignedBoard(version, str(document["board"]), step, str(document["content"]))
            task, party = str(document["task"]), int(document["party"])
            return CounterMark(task, party, link, signed, document["retired"] is not False)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            return UNREADABLE

    @property
    def place(self) -> int:
        """Which file is locked: a copy of it, with whatever lies beside it, is another."""
        assert self._descriptor is not None
        return os.fstat(self._descriptor).st_ino

    def write(self, mark: CounterMark) -> None:
        """On disk when this returns."""
        own = {"task": mark.task, "party": mark.party, "retired": mark.retired}
        write(self._path, own | mark.link._asdict() | mark.signed._asdict())

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
