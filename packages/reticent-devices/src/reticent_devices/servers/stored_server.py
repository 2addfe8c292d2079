"""A server whose state is in a database: what it shows was on disk before. All of it is public or randomised."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from reticent.core import snapshot
from reticent.errors import BadState, ReticentError
from reticent_devices.bandits.server import Server
from reticent_devices.servers.role import Board
from reticent_serve.holders.database import Run
from reticent_serve.holders.sqlite import SQLite

TABLE = "CREATE TABLE IF NOT EXISTS server (one BIGINT PRIMARY KEY, state BLOB, billboard BLOB)"


class StoredServer:
    """`server` is changed within `changing` alone, by one thread at a time. table: what else its role keeps. describe:
    what is shown of a server and its billboard; `description` is that of the last one that is on disk, and `board` its
    billboard."""

    def __init__(
        self, server: Server, database: str, table: str, describe: Callable[[Server, dict[str, Any]], dict[str, Any]]
    ) -> None:
        self._new, self.server, self._table, self._describe = server, server, table, describe
        self.database = SQLite(Path(database))
        self.board = Board.of(b"")  # until it is open
        self.description: dict[str, Any] = {}
        self._sure = False  # whether the server in memory is the one on disk

    def open(self) -> None:
        with self.database.transaction() as run:
            for table in (TABLE, self._table):
                run(table)
            if not run("SELECT 1 FROM server"):
                run("INSERT INTO server (one, state, billboard) VALUES (0, ?, ?)", *_written(self._new))
        self._read()
        different = snapshot.differing(self._new, self.server)
        if different:
            raise BadState(
                f"Expected the settings that {self.database.path.name} was made with, got another {different[0]}: give "
                "it another file."
            )

    @contextlib.contextmanager
    def changing(self) -> Iterator[Run]:
        """A transaction that keeps the server as it is at the end; only then its new billboard is shown. After an error
        the server is as it was: what is on disk counts, also where the end of a transaction was not seen."""
        self.current()
        self._sure = False
        try:
            with self.database.transaction() as run:
                yield run
                state, billboard = _written(self.server)
                run("UPDATE server SET state = ?, billboard = ?", state, billboard)
        except BaseException:
            with contextlib.suppress(ReticentError):
                self._read()
            raise
        self._show(billboard)

    def current(self) -> Server:
        """The server as it is on disk."""
        if not self._sure:
            self._read()
        return self.server

    def _read(self) -> None:
        with self.database.transaction() as run:
            ((state, billboard),) = run("SELECT state, billboard FROM server")
        self.server = type(self._new).restored(state, self.database.path.name)
        self.server.republish(billboard)
        self._show(billboard)

    def _show(self, billboard: bytes) -> None:
        if billboard != self.board.content:
            self.board, self._document = Board.of(billboard), json.loads(billboard)
        self.description, self._sure = self._describe(self.server, self._document), True

    def close(self) -> None:
        self.database.close()


def _written(server: Server) -> tuple[bytes, bytes]:
    billboard = server.billboard()  # first: this may publish, which changes the state
    return json.dumps(server.document()).encode(), billboard
