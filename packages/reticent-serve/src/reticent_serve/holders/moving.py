"""A bandit moves to another database, with all that it has: ids, answers to requests, rows that wait, rewards, counts
of persons, bookmarks of logs, releases, events. Its folder of keys stays where it is, and so does the witness, which
says from then on that the bandit is in the new place.

At most one side is ever open, in this order: the source is closed (1), its rows are copied to a destination that is
closed (2), the witness names the destination (3), that one is opened (4), and what is raw in the source is dropped (5).
Each is one transaction, or one file that is replaced. Killed anywhere, the same call goes on from what it finds. From
(1) to (4) neither side answers. Noise is not drawn: a leaf that waits for the witness is copied sealed.

On PostgreSQL workers may be at work when this begins. (1) waits for every transaction that has looked at the table of
bandits, and whoever looks afterwards is refused: all that acknowledges something looks there within its transaction.
Entries do not, and may go on in the source for a moment: the destination makes them from the same rows."""

import contextlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from reticent.errors import BadState, Retired
from reticent_serve.holders import closed, fingerprints, limits, moving, opening, rows, schema, served
from reticent_serve.holders.closed import ARRIVING, GONE, LEAVING, OPEN
from reticent_serve.holders.database import Database, Rows, Run
from reticent_serve.holders.rows import BanditRow, Head
from reticent_serve.holders.seal import Keys
from reticent_serve.holders.witness import Witness

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


SAME = "Expected another database than the one that this bandit is in, got the same."
ALONE = "LOCK TABLE bandit IN ACCESS EXCLUSIVE MODE"


def move(where: str | Path, to: str | Path, *, name: str = "bandit", keys: str | Path | None = None) -> Path:
    """From one database to another; an SQLite file must be free, workers of PostgreSQL refuse from then on. Returns the
    folder of keys, which the bandit keeps: give it as `keys` from then on. RolledBack where the source is older than
    what was shown from it. Killed, do it again. To where it is: takes back a move that has not come so far that the
    destination was opened."""
    source = opening.existing(where)
    try:
        folder = opening.keys_of(where, source, keys)
        if opening.place_of(where) == opening.place_of(to):
            _stay(source, folder, name)
            return folder.folder
        _check(source, folder, name)
        destination = opening.connect(to)
        try:
            _move(_Side(source, opening.place_of(where)), _Side(destination, opening.place_of(to)), folder, name)
        finally:
            destination.close()
    finally:
        source.close()
    return folder.folder


class _Side(NamedTuple):
    database: Database
    place: str


def _move(source: _Side, there: _Side, keys: Keys, name: str) -> None:
    if source.database.identity() == there.database.identity():
        raise ValueError(SAME)
    witness = Witness(keys.folder, name)
    with source.database.transaction() as run:
        row = opening.last(run, name)
        head = rows.standing(run, row.uid)
    if (head.state, head.place) == (GONE, there.place):
        return
    if head.state != LEAVING:
        _leave(source.database, there.place, row)
    elif head.place != there.place:
        _leave_for_another(source.database, there.place, witness, row, head)
    if not _arrived(there.database, row):
        _copy(source, there, row)
        witness.move(row.uid, there.database.identity())
        _open(source, there, row)
    _clear(source.database, there.place, row)


def _check(source: Database, keys: Keys, name: str) -> None:
    """That the bandit is at work here, unless it is leaving, or has left, already."""
    with source.transaction() as run:
        row = opening.last(run, name)
        if rows.standing(run, row.uid).state in (LEAVING, GONE):
            return
        if rows.head(run, row.uid).ended:
            raise Retired("Expected a bandit that is at work, got one that was retired: what it released stays here.")
    opening.check_witness(source, keys, row)
    served.verify(opening.store_of(source, keys, row, ended=False), source)


def _leave(source: Database, place: str, row: BanditRow) -> None:
    """The source is closed: nothing is added to it from then on."""
    with source.transaction() as run:
        if source.several_hosts:
            run(ALONE)
        rows.head(run, row.uid)
        rows.put_state(run, row.uid, LEAVING, place)


def _leave_for_another(source: Database, place: str, witness: Witness, row: BanditRow, head: Head) -> None:
    """The destination that was named first was never opened if the witness does not name it."""
    _still_here(source, witness, head)
    with source.transaction() as run:
        rows.put_state(run, row.uid, LEAVING, place)


def _still_here(source: Database, witness: Witness, head: Head) -> None:
    last = witness.read()
    if last is None or last.system != source.identity().system:
        closed.refuse(head.state, head.place)


def _stay(source: Database, keys: Keys, name: str) -> None:
    with source.transaction() as run:
        row = opening.last(run, name)
        head = rows.standing(run, row.uid)
    if head.state != LEAVING:
        raise ValueError(SAME)
    _still_here(source, Witness(keys.folder, name), head)
    with source.transaction() as run:
        rows.put_state(run, row.uid, OPEN)


def _arrived(destination: Database, row: BanditRow) -> bool:
    """Whether it is open there, or was, and has been restored since."""
    with destination.transaction() as run:
        found = rows.last(run, row.name)
        if found is None or rows.standing(run, found.uid).state == ARRIVING:
            return False
        return row.uid in (found.uid, *(one.uid for one in found.predecessors)) and (
            rows.standing(run, found.uid).state != GONE
        )


def _copy(source: _Side, there: _Side, row: BanditRow) -> None:
    with moving.reading(source.database) as read, moving.writing(there.database) as write:
        before = rows.last(write, row.name)
        if before is not None and (
            before.uid != row.uid or rows.standing(write, before.uid).state not in (ARRIVING, GONE)
        ):
            raise BadState(f"Expected a database without a bandit of the name {row.name}, got one that has it.")
        moving.delete(write, row.name)
        moving.copy(read, write, row.name)
        rows.put_state(write, row.uid, ARRIVING, source.place)


def _open(source: _Side, there: _Side, row: BanditRow) -> None:
    with there.database.transaction() as run:
        rows.put_state(run, row.uid, OPEN)
        rows.event(run, row.uid, time.time(), f"moved here from {source.place}")


def _clear(source: Database, place: str, row: BanditRow) -> None:
    with source.transaction() as run:
        rows.drop_raw(run, row.uid)
        limits.forget_all(run, row.name)
        fingerprints.forget_all(run, row.uid, row.name)
        rows.put_state(run, row.uid, GONE, place)
        rows.event(run, row.uid, time.time(), f"moved to {place}")
