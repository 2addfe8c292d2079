"""PostgreSQL through psycopg: as many workers as you like, none of them special."""

import contextlib
import importlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from reticent.errors import Unavailable
from reticent_serve.holders.database import DatabaseIdentity, InTurn, Rows, Run, Statement

LONGEST = 1.5  # seconds that a worker which stopped within a transaction keeps its locks: less than `skew`
# A server that does not answer at all, as behind a broken network, is away after so long.
GONE = {"connect_timeout": 5, "tcp_user_timeout": 5000, "keepalives_idle": 5, "keepalives_interval": 2}

BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"


class Postgres:
    """READ COMMITTED; commits are on the server's disk whatever its default is."""

    locking, skipping = " FOR UPDATE", " FOR UPDATE SKIP LOCKED"
    skew = 5.0
    alone = "SELECT pg_advisory_xact_lock(7462134)"  # two workers that make the tables at once would disturb each other
    finding = "SELECT 1 FROM pg_class WHERE oid = to_regclass(?)"
    blob = "BYTEA"
    touching: tuple[str, ...] = ()  # rows that are written as they are will do
    hurried = "SET LOCAL synchronous_commit = off"
    several_hosts = there = True

    def __init__(self, address: str) -> None:
        self._psycopg = importlib.import_module("psycopg")
        self._address = address
        self.generation = 0
        self._lock = InTurn()
        self._connection: Any = None

    @property
    def _at(self) -> str:
        """Where it is; nothing that may hold a part of a password."""
        try:
            found = self._psycopg.conninfo.conninfo_to_dict(self._address)
        except self._psycopg.Error:
            return ""
        where = f"{found.get('host') or 'this machine'}, port {found.get('port') or 5432}"
        return f" at {where}" if re.fullmatch(r"[\w./ ,-]+", where) else ""

    def _connect(self) -> Any:
        """Why there is no connection is said as far as the server's machine says it."""
        try:
            return self._psycopg.connect(self._address, autocommit=True, **GONE)
        except self._psycopg.OperationalError as error:
            said = re.search(r"connection to server .* failed: (.*)", str(error))
            cause = f"none: {said[1]}" if said else f"none: {type(error).__name__}"
            raise Unavailable(f"Expected a connection to PostgreSQL{self._at}, got {cause}.") from None

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Run]:
        with self._connected():
            try:
                self._connection.execute(BEGIN)
                yield self._run
                self._connection.execute("COMMIT")
            except self._psycopg.Error:
                raise
            except BaseException:
                try:
                    if self._connection is not None:
                        self._connection.execute("ROLLBACK")
                except self._psycopg.Error:
                    self._drop()
                raise

    def trip(self, *transactions: Sequence[Statement]) -> list[list[Rows]]:
        """One message, with all values in it: the server does nothing before it has all of it, and then all of it.
        However slow, or frozen, a worker is, nobody waits for it."""
        with self._connected():
            parts = [[BEGIN, *(self._written(one) for one in statements), "COMMIT"] for statements in transactions]
            cursor = self._connection.execute("; ".join(text for part in parts for text in part), prepare=False)
            return [[_next(cursor) for _ in part][1:-1] for part in parts]

    def _written(self, statement: Statement) -> str:
        """With its values in it."""
        first, *others = statement.text.split("?")
        values = [self._literal(value) for value in statement.arguments]
        return first + "".join(value + text for value, text in zip(values, others, strict=True))

    def _literal(self, value: Any) -> str:
        if isinstance(value, bytes):
            return f"'\\x{value.hex()}'::bytea"
        return str(self._psycopg.sql.Literal(value).as_string(None))

    @contextlib.contextmanager
    def _connected(self) -> Iterator[None]:
        """One at a time, and with a connection, which is another one after an error of the database."""
        with self._lock():
            try:
                if self._connection is None:
                    self._connection = self._connect()
                    self._connection.execute("SET synchronous_commit = on")
                    longest = f"{1000 * LONGEST:.0f}"
                    self._connection.execute(f"SET idle_in_transaction_session_timeout = {longest}")
                yield
            except self._psycopg.Error as error:
                self._drop()
                cause = type(error).__name__
                raise Unavailable(f"Expected PostgreSQL{self._at} to take a transaction, got {cause}.") from None

    def _run(self, statement: str, /, *arguments: Any) -> Rows:
        return _rows(self._cursor(statement, arguments))

    def _cursor(self, statement: str, arguments: tuple[Any, ...]) -> Any:
        return self._connection.execute(statement.replace("?", "%s"), arguments)

    def _drop(self) -> None:
        self.generation += 1
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(self._psycopg.Error):
                connection.close()

    def identity(self) -> DatabaseIdentity:
        with self.transaction() as run:
            ((system, timeline),) = run(
                "SELECT identity || ' ' || system_identifier, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"
                " FROM pg_control_system(), store_version"
            )
        return DatabaseIdentity(system, int(timeline, 16))

    def another(self) -> "Postgres":
        return Postgres(self._address)

    def close(self) -> None:
        with self._lock():
            if self._connection is not None:
                self._connection.close()
                self._connection = None


def _rows(cursor: Any) -> Rows:
    return list(cursor) if cursor.description is not None else []


def _next(cursor: Any) -> Rows:
    """What the next statement of several has returned."""
    out = _rows(cursor)
    cursor.nextset()
    return out
