"""SQLite through apsw, whose SQLite is newer than Python's own: one process, one connection, each commit on disk."""

import contextlib
import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from reticent.errors import BadState, Unavailable
from reticent_serve.holders.database import DatabaseIdentity, InTurn, Rows, Run, Statement, ran

PAGES = 256  # of a copy at a time: a megabyte


class InUse(BadState):
    """Another process has the file."""


class SQLite:
    """The file is locked as long as it is open: nobody else can read or write it, so copies come from `backup`. erase:
    zeros are written over what is deleted; what is written ahead has it until the file of that begins anew."""

    locking = skipping = ""
    skew = 0.0
    alone = "SELECT 1"  # there is nobody else
    finding = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    blob = "BLOB"
    touching: tuple[str, ...] = (  # it writes no row that stays as it is
        "INSERT INTO event (bandit, at, what) VALUES ('', 0, '')",
        "DELETE FROM event WHERE bandit = ''",
    )
    hurried = "SELECT 1"
    several_hosts = False

    def __init__(self, path: Path, *, erase: bool = False) -> None:
        self._erase = erase
        self._apsw = importlib.import_module("apsw")
        self.path = path.absolute()
        self.generation = 0
        self._lock = InTurn()
        self._connection: Any = None

    @property
    def there(self) -> bool:
        return self.path.exists() and self.path.stat().st_size > 0

    def _open(self) -> Any:
        if not self.path.exists():
            self.path.touch(mode=0o600)
        connection = self._apsw.Connection(str(self.path))
        try:
            for pragma in ("locking_mode = EXCLUSIVE", "synchronous = FULL", f"secure_delete = {int(self._erase)}"):
                connection.execute(f"PRAGMA {pragma}").fetchall()
            if connection.execute("PRAGMA page_count").fetchall() == [(0,)]:  # others stay as they are
                connection.execute("PRAGMA journal_mode = WAL").fetchall()
            connection.execute("BEGIN IMMEDIATE; COMMIT").fetchall()  # takes the lock, which stays
        except self._apsw.Error as error:
            connection.close(True)
            if isinstance(error, self._apsw.BusyError):
                raise InUse(f"Expected {self.path.name} to be free, got one that is in use elsewhere.") from None
            if isinstance(error, self._apsw.NotADBError):
                raise BadState(f"Expected an SQLite database in {self.path.name}, got another file.") from None
            raise
        return connection

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Run]:
        with self._lock():
            try:
                if self._connection is None:
                    self._connection = self._open()
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._run
                self._connection.execute("COMMIT")
            except self._apsw.Error as error:
                self._drop()
                raise Unavailable(self._problem(error)) from None
            except BaseException:
                try:
                    if self._connection is not None:
                        self._connection.execute("ROLLBACK")
                except self._apsw.Error:
                    self._drop()
                raise

    def _problem(self, error: Exception) -> str:
        found, kinds = type(error).__name__, self._apsw
        if isinstance(error, kinds.ReadOnlyError | kinds.IOError | kinds.CantOpenError | kinds.FullError):
            return (
                f"Expected to write {self.path.name} and files beside it (is it read-only, immutable, another user's, "
                f"or its disk full?), got {found}."
            )
        return f"Expected SQLite to take a transaction in {self.path.name}, got {found}."

    def trip(self, *transactions: Sequence[Statement]) -> list[list[Rows]]:
        """All of them are one: each would wait for the disk."""
        with self.transaction() as run:
            return [ran(run, statements) for statements in transactions]

    def _run(self, statement: str, /, *arguments: Any) -> Rows:
        return list(self._cursor(statement, arguments))

    def _cursor(self, statement: str, arguments: tuple[Any, ...]) -> Any:
        return self._connection.execute(statement, arguments)

    def _drop(self) -> None:
        self.generation += 1
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(self._apsw.Error):
                connection.close(True)

    def backup(self, path: Path) -> None:
        """A copy of the whole database as it is at the end, while it is in use: some pages at a time, so that nobody
        waits for it."""
        path.touch(mode=0o600)
        copy = self._apsw.Connection(str(path))
        try:
            with self._lock():
                work = copy.backup("main", self._connection, "main")
            with work:
                while not work.done:
                    with self._lock():
                        work.step(PAGES)
        except (self._apsw.Error, TypeError) as error:  # TypeError: there is no connection now
            raise Unavailable(f"Expected a copy of {self.path.name}, got {type(error).__name__}.") from None
        finally:
            copy.close(True)

    def identity(self) -> DatabaseIdentity:
        with self.transaction() as run:
            return DatabaseIdentity(str(run("SELECT identity FROM store_version")[0][0]), 0)

    def another(self) -> "SQLite":
        return self

    def close(self) -> None:
        with self._lock():
            if self._connection is not None:
                self._connection.close()
                self._connection = None
