"""All rows of a bandit, from one database to another: what is sealed as it is sealed.

Which tables there are, and which columns, is read from the schema: a table that is added there is copied from then on.
Counts of rows are compared, and told to nobody: those of some tables are raw."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tacit.errors import BadState
from tacit.holders import rows, schema
from tacit.holders.database import Database, Rows, Run

AT_ONCE = 200  # rows of a statement: SQLite takes 32 766 arguments of one
OWNERS = {"bandit": "name", "person": "name", "key_fingerprint": "owner"}  # others: bandit, by its uid
LEFT = ("store_version",)


class Table(NamedTuple):
    """key: the columns that a row of one owner is found by; event has none."""

    name: str
    owner: str
    columns: tuple[str, ...]
    key: tuple[str, ...]


def copy(read: Run, write: Run, name: str) -> None:
    """Callers hold a transaction of each database. BadState if not as many rows are there as were read."""
    for table in TABLES:
        for owner in _owners(read, table, name):
            for some in _batches(read, table, owner):
                _insert(write, table, some)
            if _count(read, table, owner) != _count(write, table, owner):
                raise BadState(f"Expected as many rows of {table.name} as were copied, got another number.")


def delete(run: Run, name: str) -> None:
    """All of that bandit's rows."""
    for table in reversed(TABLES):  # the table that says who the owners are comes last
        for owner in _owners(run, table, name):
            run(f"DELETE FROM {table.name} WHERE {table.owner} = ?", owner)


@contextlib.contextmanager
def reading(database: Database) -> Iterator[Run]:
    """A transaction that sees the database as it is at its beginning, while others go on."""
    with database.transaction() as run:
        if database.several_hosts:
            run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        _patient(database, run)
        yield run


@contextlib.contextmanager
def writing(database: Database) -> Iterator[Run]:
    """A transaction that may wait for another database, however long that takes."""
    with database.transaction() as run:
        _patient(database, run)
        yield run


def _patient(database: Database, run: Run) -> None:
    if database.several_hosts:
        run("SET LOCAL idle_in_transaction_session_timeout = 0")


def _owners(run: Run, table: Table, name: str) -> list[str]:
    if table.owner == "name":
        return [name]
    found = rows.last(run, name)
    uids = [] if found is None else [found.uid]
    return uids if table.owner == "bandit" else [*uids, name]


def _batches(run: Run, table: Table, owner: str) -> Iterator[Rows]:
    select, key = f"SELECT {', '.join(table.columns)} FROM {table.name} WHERE {table.owner} = ?", ", ".join(table.key)
    if not table.key:
        found = run(f"{select} ORDER BY at", owner)
        yield from (found[start : start + AT_ONCE] for start in range(0, len(found), AT_ONCE))
        return
    later = f" AND ({key}) > ({', '.join('?' * len(table.key))})"
    places = [table.columns.index(column) for column in table.key]
    found = run(f"{select} ORDER BY {key} LIMIT {AT_ONCE}", owner)
    while found:
        yield found
        last = [found[-1][place] for place in places]
        found = run(f"{select}{later} ORDER BY {key} LIMIT {AT_ONCE}", owner, *last)


def _insert(run: Run, table: Table, some: Rows) -> None:
    marks = ", ".join([f"({', '.join('?' * len(table.columns))})"] * len(some))
    values: list[Any] = [value for row in some for value in row]
    run(f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES {marks}", *values)


def _count(run: Run, table: Table, owner: str) -> int:
    return int(run(f"SELECT count(*) FROM {table.name} WHERE {table.owner} = ?", owner)[0][0])


def _table(statement: str) -> Table:
    """From the words that make it."""
    made = re.fullmatch(r"CREATE TABLE (\w+) \((.*)\)", " ".join(statement.split()))
    assert made is not None
    name, body = made.groups()
    parts = [part.split() for part in re.sub(r"\([^)]*\)", "", body).split(", ")]
    columns = tuple(part[0] for part in parts if part[0] not in ("PRIMARY", "UNIQUE"))
    listed = re.search(r"PRIMARY KEY \(([^)]*)\)", body)
    keys = listed[1].split(", ") if listed else [part[0] for part in parts if "PRIMARY" in part[1:]]
    return Table(name, OWNERS.get(name, "bandit"), columns, tuple(keys))


TABLES = tuple(
    table
    for table in map(_table, (one for one in schema.TABLES if one.startswith("CREATE TABLE")))
    if table.name not in LEFT
)
