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
from pathlib import Path
from typing import NamedTuple

from tacit.errors import BadState, Retired
from tacit.holders import closed, copying, fingerprints, opening, person_rows, rows, versions
from tacit.holders.closed import ARRIVING, GONE, LEAVING, OPEN
from tacit.holders.database import Database
from tacit.holders.rows import BanditRow, Head
from tacit.holders.seal import Keys
from tacit.holders.witness import Witness

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
    versions.verify(opening.vault_of(source, keys, row, ended=False), source)


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
    with copying.reading(source.database) as read, copying.writing(there.database) as write:
        before = rows.last(write, row.name)
        if before is not None and (
            before.uid != row.uid or rows.standing(write, before.uid).state not in (ARRIVING, GONE)
        ):
            raise BadState(f"Expected a database without a bandit of the name {row.name}, got one that has it.")
        copying.delete(write, row.name)
        copying.copy(read, write, row.name)
        rows.put_state(write, row.uid, ARRIVING, source.place)


def _open(source: _Side, there: _Side, row: BanditRow) -> None:
    with there.database.transaction() as run:
        rows.put_state(run, row.uid, OPEN)
        rows.event(run, row.uid, time.time(), f"moved here from {source.place}")


def _clear(source: Database, place: str, row: BanditRow) -> None:
    with source.transaction() as run:
        rows.drop_raw(run, row.uid)
        person_rows.forget_all(run, row.name)
        fingerprints.forget_all(run, row.uid, row.name)
        rows.put_state(run, row.uid, GONE, place)
        rows.event(run, row.uid, time.time(), f"moved to {place}")
