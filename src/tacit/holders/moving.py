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

import time
import urllib.parse
from pathlib import Path
from typing import NamedTuple

from tacit.errors import BadState, Retired
from tacit.holders import closed, copying, fingerprints, incarnation, person_rows, rows, versions
from tacit.holders.closed import ARRIVING, GONE, LEAVING
from tacit.holders.database import Database
from tacit.holders.rows import BanditRow
from tacit.holders.seal import Keys
from tacit.holders.witness import Witness

ALONE = "LOCK TABLE bandit IN ACCESS EXCLUSIVE MODE"


def move(where: str | Path, to: str | Path, *, name: str = "bandit", keys: str | Path | None = None) -> Path:
    """From one database to another; an SQLite file must be free, workers of PostgreSQL refuse from then on. Returns the
    folder of keys, which the bandit keeps: give it as `keys` from then on. RolledBack where the source is older than
    what was shown from it. Killed, do it again. To where it is: takes back a move that has not come so far that the
    destination was opened."""
    source = incarnation.connect(where)
    try:
        folder = incarnation.keys_of(where, source, keys)
        if place_of(where) == place_of(to):
            _stay(source, folder, name)
            return folder.folder
        destination = incarnation.connect(to)
        try:
            _move(_Side(source, place_of(where)), _Side(destination, place_of(to)), folder, name)
        finally:
            destination.close()
    finally:
        source.close()
    return folder.folder


def place_of(where: str | Path) -> str:
    """A database in words that hold no password."""
    if "://" not in str(where):
        return str(Path(where).absolute())
    parts = urllib.parse.urlsplit(str(where))
    options = urllib.parse.parse_qs(parts.query)
    host = parts.hostname or options.get("host", ["this machine"])[0]
    schema = options.get("options", [""])[0].partition("search_path=")[2]
    return f"postgresql://{host}:{parts.port or 5432}{parts.path}" + (f" ({schema})" if schema else "")


class _Side(NamedTuple):
    database: Database
    place: str


def _move(source: _Side, there: _Side, keys: Keys, name: str) -> None:
    if source.database.identity().system == there.database.identity().system:
        raise ValueError(
            "Expected a database of another kind, or another server of PostgreSQL, got the same: an SQLite file may be "
            "renamed, and PostgreSQL has tools of its own."
        )
    witness = Witness(keys.folder, name)
    with source.database.transaction() as run:
        row = incarnation.last(run, name)
        found = closed.found(run, row.uid)
    if found == (GONE, there.place):
        return
    if found is None:
        _leave(source.database, there.place, keys, row)
    elif found.why != LEAVING:
        raise found.refusal
    elif found.place != there.place:
        _leave_for_another(source.database, there.place, witness, row, found)
    if not _arrived(there.database, row):
        _copy(source, there, row)
        witness.move(row.incarnation, there.database.identity())
        _open(source, there, row)
    _clear(source.database, there.place, row)


def _leave(source: Database, place: str, keys: Keys, row: BanditRow) -> None:
    """The source is closed: nothing is added to it from then on."""
    with source.transaction() as run:
        if rows.head(run, row.uid).ended:
            raise Retired("Expected a bandit that is at work, got one that was retired: what it released stays here.")
    versions.verify(incarnation.vault_of(source, keys, row, ended=False), source)
    with source.transaction() as run:
        if source.several_hosts:
            run(ALONE)
        rows.head(run, row.uid)
        closed.close(run, row.uid, LEAVING, place)


def _leave_for_another(source: Database, place: str, witness: Witness, row: BanditRow, found: closed.Closed) -> None:
    """The destination that was named first was never opened if the witness does not name it."""
    _still_here(source, witness, found)
    with source.transaction() as run:
        closed.close(run, row.uid, LEAVING, place)


def _still_here(source: Database, witness: Witness, found: closed.Closed) -> None:
    last = witness.read()
    if last is None or last.system != source.identity().system:
        raise found.refusal


def _stay(source: Database, keys: Keys, name: str) -> None:
    with source.transaction() as run:
        row = incarnation.last(run, name)
        found = closed.found(run, row.uid)
    if found is None or found.why != LEAVING:
        raise ValueError("Expected another database than the one that this bandit is in, got the same.")
    _still_here(source, Witness(keys.folder, name), found)
    with source.transaction() as run:
        closed.reopen(run, row.uid)


def _arrived(destination: Database, row: BanditRow) -> bool:
    """Whether it is open there, or was, and has been recovered since."""
    with destination.transaction() as run:
        uids = [uid for _, uid in rows.incarnations(run, row.name)]
        return row.uid in uids and closed.found(run, uids[-1]) is None


def _copy(source: _Side, there: _Side, row: BanditRow) -> None:
    with copying.reading(source.database) as read, copying.writing(there.database) as write:
        before = rows.incarnations(write, row.name)
        found = closed.found(write, before[-1][1]) if before else None
        same = before[:1] == rows.incarnations(read, row.name)[:1]
        if before and (not same or found is None or found.why not in (ARRIVING, GONE)):
            raise BadState(f"Expected a database without a bandit of the name {row.name}, got one that has it.")
        copying.delete(write, row.name)
        copying.copy(read, write, row.name)
        closed.close(write, row.uid, ARRIVING, source.place)


def _open(source: _Side, there: _Side, row: BanditRow) -> None:
    with there.database.transaction() as run:
        closed.reopen(run, row.uid)
        rows.event(run, row.uid, time.time(), f"moved here from {source.place}")


def _clear(source: Database, place: str, row: BanditRow) -> None:
    with source.transaction() as run:
        rows.retire(run, row.uid, rows.REPLACED)
        person_rows.forget_all(run, row.name)
        fingerprints.forget_all(run, row.uid, row.name)
        closed.close(run, row.uid, GONE, place)
        rows.event(run, row.uid, time.time(), f"moved to {place}")
