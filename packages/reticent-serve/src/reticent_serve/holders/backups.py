"""A backup is an SQLite file with all rows of one or more bandits as they were at one moment, whichever database they
came from. It holds neither keys nor a witness, so what is sealed in it stays unreadable.

Whoever goes on from it goes on from the past: choices and releases since then are not in it. So its bandits are closed
(reticent_serve.holders.closed), wherever the file is put; `restore` makes new ones from it
(reticent_serve.holders.restoring)."""

import contextlib
import fcntl
import glob
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from reticent.errors import BadState, ReticentError, Unavailable
from reticent_serve.holders import backups, closed, moving, opening, rows
from reticent_serve.holders.database import Database
from reticent_serve.holders.seal import Keys, sync, using
from reticent_serve.holders.sqlite import InUse, SQLite

LOOK = 0.05  # seconds between looks for a reply
TOKEN = "[0-9a-f]"  # sixteen of these: whatever else is called so is somebody's own file, and stays
BEGIN = 60.0  # seconds that a worker may take to begin: it may be starting
NOBODY = "Expected a worker that replies, got none: it is of an earlier version, or it has no thread of its own."


@contextlib.contextmanager
def asked(database: Database, keys: Keys, name: str) -> Iterator[Path | None]:
    """Where a worker has that file: the path of the copy that it made, until the end. None if the file is free, and for
    PostgreSQL: then whoever calls this reads the database itself."""
    if not isinstance(database, SQLite) or _free(database):
        yield None
        return
    with _alone(keys.folder / f"{name}.asked") as file:
        token = secrets.token_hex(8)
        copy = copy_of(database.path, token)
        try:
            _write(file, {"token": token})
            yield copy if _replied(database, keys.folder / f"{name}.replied", token) else None
        finally:
            remove(copy)


def _replied(database: SQLite, path: Path, token: str) -> bool:
    """False if the file is free: the worker has ended meanwhile."""
    until = time.monotonic() + BEGIN
    while True:
        found = _read(path)
        if found.get("token") == token and "error" in found:
            if found["error"]:
                raise Unavailable(str(found["error"]))
            return True
        if _free(database):
            return False
        if found.get("token") != token and time.monotonic() > until:
            raise BadState(NOBODY)
        time.sleep(LOOK)


class WorkerSide:
    """A worker's side."""

    def __init__(self, folder: Path, name: str, path: Path) -> None:
        self._asked, self._replied = folder / f"{name}.asked", folder / f"{name}.replied"
        self._path, self._last = path, ""
        self._thread: threading.Thread | None = None

    def look(self, backup: Callable[[Path], None]) -> None:
        """Begins a copy if one is asked for, in a thread: releases do not wait for it."""
        if not self._asked.exists() or (self._thread is not None and self._thread.is_alive()):
            return
        token = _read(self._asked).get("token")
        if not isinstance(token, str) or not re.fullmatch(f"{TOKEN}{{16}}", token) or token == self._last:
            return
        if not _waits(self._asked):
            return
        self._last = token
        for stale in self._path.parent.glob(copy_of(Path(glob.escape(self._path.name)), TOKEN * 16).name):  # one asker
            remove(stale)
        self._reply({"token": token})
        self._thread = threading.Thread(target=self._do, args=(backup, token), daemon=True, name="reticent control")
        self._thread.start()

    def _do(self, backup: Callable[[Path], None], token: str) -> None:
        error, copy = "", copy_of(self._path, token)
        try:
            backup(copy)
        except (ReticentError, OSError) as failed:
            error = str(failed) if isinstance(failed, ReticentError) else f"Expected room, got {type(failed).__name__}."
        if error or not _waits(self._asked):
            remove(copy)
        with contextlib.suppress(OSError):
            self._reply({"token": token, "error": error})

    def _reply(self, document: dict[str, str]) -> None:
        new = self._replied.with_suffix(".replying")
        with open(new, "wb", opener=_private) as file:
            _write(file, document)
        os.replace(new, self._replied)


def copy_of(path: Path, token: str) -> Path:
    return Path(f"{path}.{token}.copy")


def remove(copy: Path) -> None:
    for end in ("", "-wal", "-shm", "-journal"):
        Path(f"{copy}{end}").unlink(missing_ok=True)


def _free(database: SQLite) -> bool:
    try:
        with database.transaction():
            return True
    except InUse:
        return False


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[BinaryIO]:
    """One asker after the other."""
    with using():
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+b")
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield file
        finally:
            file.truncate(0)


def _waits(path: Path) -> bool:
    """Whether whoever asked is still there: its lock is."""
    with open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def _write(file: BinaryIO, document: Mapping[str, str]) -> None:
    file.seek(0)
    file.truncate()
    file.write(json.dumps(document).encode())
    file.flush()


def _read(path: Path) -> dict[str, Any]:
    """Nothing, of what is not there or not finished."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


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
        with copied(where, name, keys) as source, moving.reading(source) as read:
            row = opening.last(read, name)
            head = rows.standing(read, row.uid)
            closed.refuse_moved(head.state, head.place)
            with self._database.transaction() as write:
                moving.copy(read, write, name)
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
            backups.asked(database, folder, name) as copy,
            contextlib.closing(database if copy is None else opening.database_at(copy)) as found,
        ):
            if not opening.known(found, name):
                raise BadState(f"Expected a bandit of the name {name} in this database, got none.")
            yield found
    finally:
        database.close()
