"""Erasing a person: what is still waiting of them is deleted, wherever it is. Their choices keep their numbers, and
enter at their deadlines as nothing: else everybody would see that there were some, and later ones would wait.

Nothing that a copy of the database shows links rows to people. Each choice has a mark, an HMAC of its place and its
person under the key of its epoch: who has that key and knows the person can tell whose choice it is. It looks random to
all others, and to everyone once the key is destroyed. So all choices are looked at, whose number is public: the work is
the same whether or not the person was here, but for the rows that are deleted."""

import contextlib
import hmac
import time
from pathlib import Path

from tacit.core.validation import PersonId, digest
from tacit.errors import BadState
from tacit.holders import opening, rows
from tacit.holders import seal as seals
from tacit.holders.database import Database
from tacit.holders.opening import BanditStore
from tacit.mechanisms.entering import blank

AT_ONCE = 1024  # choices that one transaction looks at
ERASED = (
    "Whatever was still waiting of this person is deleted: features, answers, and rewards that were not counted yet. "
    "What cannot be undone: rewards that were counted are in sums, which have been or will be released with noise; no "
    "release can be taken back. How many rounds this person has had stays known, by a keyed hash, or the limit would "
    "not hold. Copies in backups and in the database's log are sealed, and can be read with the folder of keys until "
    "they expire. Choices that were made without person= cannot be found, and expire by themselves."
)


def erase(store: BanditStore, database: Database, person: bytes) -> None:
    """person: their hash. What is chosen for them meanwhile may stay. If this is killed, do it again."""
    with database.transaction() as run:
        last = rows.head(run, store.uid).choices
        start = rows.first_choice(run, store.uid)
    while start is not None and start <= last:
        with database.transaction() as run:
            found = rows.marks(run, store.uid, start, start + AT_ONCE)
        for request, number, mark in found:
            where = seals.choice_place(store.uid, request)
            own = store.seal.mark("epoch", number // store.bandit.epoch, where, person)
            if hmac.compare_digest(own or b"-", mark):
                with database.transaction() as run:
                    rows.head(run, store.uid)  # it is still here: a bandit that moves takes its rows along
                    rows.erase(run, store.uid, number, _blank(store, number, rows.waiting_row(run, store.uid, number)))
        start += AT_ONCE
        time.sleep(0)  # requests first


def _blank(store: BanditStore, number: int, sealed: bytes | None) -> bytes | None:
    """What is kept of a choice, without all that it said; as it is if nobody can read it."""
    where, text = seals.waiting_place(store.uid, number), None
    with contextlib.suppress(BadState):
        text = None if sealed is None else store.seal.open("epoch", where, sealed)
    return sealed if text is None else store.seal.seal("epoch", number // store.bandit.epoch, where, blank(text))


def erase_at(where: str | Path, person: PersonId, *, name: str = "bandit", keys: str | Path | None = None) -> str:
    """Without a worker, as `Stored.erase`: on PostgreSQL workers may go on meanwhile, an SQLite file must be free."""
    database = opening.existing(where)
    try:
        folder = opening.keys_of(where, database, keys)
        with database.transaction() as run:
            found = opening.last(run, name)
            ended = rows.head(run, found.uid).ended
        if not ended:
            store = opening.store_of(database, folder, found, ended=False)
            erase(store, database, digest(person, store.persons))
    finally:
        database.close()
    return ERASED
