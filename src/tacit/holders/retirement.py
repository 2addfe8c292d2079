"""The end of a bandit: it answers nobody any more. What is raw is dropped and its keys are destroyed; its leaves, its
certificate stay, and its name in this database is not given again."""

import time
from pathlib import Path

from tacit.holders import closed, fingerprints, leaf_rows, opening, person_rows, rows
from tacit.holders import seal as seals
from tacit.holders.database import Run
from tacit.holders.rows import BanditRow
from tacit.holders.seal import Keys, Seal


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
                person_rows.forget_all(run, name)
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
