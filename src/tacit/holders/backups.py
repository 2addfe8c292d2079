"""A backup is an SQLite file with all rows of one or more bandits as they were at one moment, whichever database they
came from. It holds neither keys nor a witness, so what is sealed in it stays unreadable.

Whoever goes on from it goes on from the past: choices and releases since then are not in it. So its bandits are closed
(tacit.holders.closed), wherever the file is put; `restore` makes new ones from it (tacit.holders.restoring)."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from tacit.errors import BadState
from tacit.holders import closed, copy_requests, copying, opening, rows
from tacit.holders.database import Database
from tacit.holders.seal import sync


class Backup:
    """A file that bandits are added to, one after the other; it is there, whole, when `finish` returns."""

    def __init__(self, path: Path) -> None:
        self._path, self._new = path.absolute(), Path(f"{path.absolute()}.unfinished")
        if self._path.exists():
            raise ValueError(f"Expected a new file for a backup, got {path}, which is there.")
        self._remove()
        self._database = opening.connect(self._new)

    def add(self, where: str | Path, *, name: str = "bandit", keys: str | Path | None = None) -> None:
        """All rows of that bandit. Workers go on meanwhile; that of an SQLite file makes a copy for this."""
        with copied(where, name, keys) as source, copying.reading(source) as read:
            row = opening.last(read, name)
            head = rows.standing(read, row.uid)
            closed.refuse_moved(head.state, head.place)
            with self._database.transaction() as write:
                copying.copy(read, write, name)
                if head.state in (closed.OPEN, closed.LEAVING):
                    rows.put_state(write, row.uid, closed.COPY)

    def finish(self) -> None:
        self._database.close()
        with open(self._new, "rb") as file:
            os.fsync(file.fileno())
        os.replace(self._new, self._path)
        sync(self._path.parent)

    def abandon(self) -> None:
        """What was not finished is removed."""
        self._database.close()
        self._remove()

    def _remove(self) -> None:
        for end in ("", "-wal", "-shm"):
            Path(f"{self._new}{end}").unlink(missing_ok=True)


@contextlib.contextmanager
def copied(where: str | Path, name: str, keys: str | Path | None) -> Iterator[Database]:
    """A database to read from: that one, or a copy of an SQLite file that a worker has."""
    database = opening.database_at(where)
    try:
        if not database.there:
            raise BadState(f"Expected a database in {opening.place_of(where)}, got no such file.")
        folder = opening.keys_of(where, database, keys)
        with (
            copy_requests.asked(database, folder, name) as copy,
            contextlib.closing(database if copy is None else opening.database_at(copy)) as found,
        ):
            if not opening.known(found, name):
                raise BadState(f"Expected a bandit of the name {name} in this database, got none.")
            yield found
    finally:
        database.close()
