"""The end of a bandit: it answers nobody any more. What is raw is dropped and its keys are destroyed; its leaves, its
certificate stay, and its name in this database is not given again."""

import contextlib
import hmac
import time
from pathlib import Path

from reticent.core.validation import PersonId, digest
from reticent.errors import BadState
from reticent.mechanisms.entering import blank
from reticent_serve.holders import closed, fingerprints, leaf_rows, limits, opening, rows
from reticent_serve.holders import seal as seals
from reticent_serve.holders.database import Database, Run
from reticent_serve.holders.opening import BanditStore
from reticent_serve.holders.rows import BanditRow
from reticent_serve.holders.seal import Keys, Seal

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


def retire(where: str | Path, *, name: str = "bandit", keys: str | Path | None = None) -> None:
    """For good. Workers of PostgreSQL may go on meanwhile: they refuse from then on. If this is killed, do it again, or
    open the bandit: its keys go then. RolledBack where the witness is of another bandit or missing, or the database is
    older than what was shown from it: its certificate would not say what was released, and the keys may be those of a
    newer one that is at work. WrongKeys where they are in another folder: they would stay."""
    database = opening.existing(where)
    try:
        folder = opening.keys_of(where, database, keys)
        with database.transaction() as run:
            found = opening.last(run, name)
            ended = rows.head(run, found.uid).ended
        if ended:
            opening.check_record(folder, found)
        else:
            opening.check_witness(database, folder, found)
        with database.transaction() as run:
            if not rows.head(run, found.uid, database.locking).ended:
                _keep_recorded(run, folder, found)
                rows.drop_raw(run, found.uid)
                rows.put_state(run, found.uid, closed.ENDED)
                limits.forget_all(run, name)
                fingerprints.forget_all(run, found.uid, name)
                rows.event(run, found.uid, time.time(), "retired")
        opening.destroy_keys(folder, found, ended=True)
    finally:
        database.close()


def _keep_recorded(run: Run, keys: Keys, found: BanditRow) -> None:
    """Leaves that the witness has on record, though they are sealed still: who was killed before may have shown them,
    and the certificate counts what is there."""
    last = opening.check_record(keys, found)
    for step, sums, noisy, visible_at in leaf_rows.take(run, found.uid, 0 if last is None else last.steps):
        opened = Seal(keys, found.uid).open("sums", seals.place(found.uid, step, "noisy"), noisy)
        if opened is None:
            raise opening.without(keys)
        leaf_rows.keep(run, found.uid, step, sums, opened, visible_at)
