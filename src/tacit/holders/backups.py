"""A backup is an SQLite file with all rows of one or more bandits as they were at one moment, whichever database they
came from. It holds neither keys nor a witness, so what is sealed in it stays unreadable.

Whoever goes on from it goes on from the past: choices and releases since then are not in it. So its bandits are closed
(tacit.holders.closed), wherever the file is put, until they are recovered, and `restore` ends in a recovery."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tacit.errors import BadState, Retired
from tacit.holders import closed, control, copying, incarnation, recovery, rows, schema
from tacit.holders.database import Database, Run
from tacit.holders.recovery import Cost, Doubts
from tacit.holders.seal import sync


class Backup:
    """A file that bandits are added to, one after the other; it is there, whole, when `finish` returns."""

    def __init__(self, path: Path) -> None:
        self._path, self._new = path.absolute(), Path(f"{path.absolute()}.unfinished")
        if self._path.exists():
            raise ValueError(f"Expected a new file for a backup, got {path}, which is there.")
        self._remove()
        self._database = incarnation.connect(self._new)

    def add(self, where: str | Path, *, name: str = "bandit", keys: str | Path | None = None) -> None:
        """All rows of that bandit. Workers go on meanwhile; that of an SQLite file makes a copy for this."""
        with copied(where, name, keys) as source, copying.reading(source) as read:
            row = incarnation.last(read, name)
            head = rows.standing(read, row.uid)
            with self._database.transaction() as write:
                copying.copy(read, write, name)
                if not head.ended and not head.disputed:
                    closed.close(write, row.uid, closed.COPY)

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
    database = incarnation.database_at(where)
    try:
        if not database.several_hosts and not Path(where).exists():
            raise BadState(f"Expected a database in {Path(where).name}, got no such file.")
        folder = incarnation.keys_of(where, database, keys)
        with (
            control.asked(database, folder, name, control.BACKUP) as copy,
            contextlib.closing(database if copy is None else incarnation.database_at(copy)) as found,
        ):
            schema.ready(found)
            yield found
    finally:
        database.close()


def cost(bandit: Any, file: Path, where: str | Path, *, name: str = "bandit", keys: str | Path | None = None) -> Cost:
    """What `restore` would cost. Nothing is changed."""
    with _both(file, where) as (backup, database):
        folder = incarnation.keys_of(where, database, keys)
        with database.transaction() as run, backup.transaction() as read:
            doubts = _check(read, run, name)
        return recovery.cost_in(bandit, backup, folder, name, doubts)


def restore(
    bandit: Any,
    file: str | Path,
    where: str | Path,
    *,
    name: str = "bandit",
    keys: str | Path | None = None,
    within_budget: bool = False,
) -> int:
    """The bandit's rows of a backup take the place of those that are there, and a new incarnation begins from what the
    backup has of releases, as by `recover`, which is called at the end: its number. Stop all workers first. Killed, do
    it again; in between nobody can open the bandit."""
    algorithm = incarnation.check(bandit, name)
    with _both(Path(file), where) as (backup, database):
        folder = incarnation.keys_of(where, database, keys)
        with copying.reading(backup) as read, copying.writing(database) as write:
            doubts = _check(read, write, name)
            copying.delete(write, name)
            copying.copy(read, write, name)
            row = incarnation.last(write, name)
            if not doubts.disputed:
                closed.close(write, row.uid, closed.COPY)
            write("UPDATE bandit SET twice = ? WHERE uid = ?", doubts.twice, row.uid)
        return recovery.recover_in(algorithm, bandit.pending, database, folder, name, within_budget)


def _check(read: Run, write: Run, name: str) -> Doubts:
    """What backup and present database know together; an error where one cannot take the place of the other."""
    row, present = incarnation.last(read, name), rows.last(write, name)
    heads = [rows.standing(read, row.uid)] + ([] if present is None else [rows.standing(write, present.uid)])
    if any(head.ended for head in heads):
        raise Retired("Expected a bandit that is at work, got one that was retired.")
    if present is not None and rows.incarnations(read, name)[0] != rows.incarnations(write, name)[0]:
        raise BadState(f"Expected a backup of {name} as it is here, got that of another bandit of the same name.")
    twice = max(row.twice, 0 if present is None else present.twice)
    return Doubts(any(head.disputed for head in heads), twice)


@contextlib.contextmanager
def _both(file: Path, where: str | Path) -> Iterator[tuple[Database, Database]]:
    """The backup, as a copy that is removed afterwards, and the database that it is for."""
    if not file.exists():
        raise ValueError(f"Expected a backup in {file}, got no such file.")
    with tempfile.TemporaryDirectory(prefix="tacit-restore-") as folder:
        copy = shutil.copy(file, Path(folder) / file.name)
        with (
            contextlib.closing(incarnation.connect(copy)) as backup,
            contextlib.closing(incarnation.connect(where)) as database,
        ):
            yield backup, database
