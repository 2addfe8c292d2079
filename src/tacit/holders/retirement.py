"""The end of a bandit: it answers nobody any more. What is raw is dropped and its keys are destroyed; its leaves, its
certificate stay, and its name in this database is not given again."""

import time
from pathlib import Path

from tacit.holders import fingerprints, incarnation, person_rows, rows
from tacit.holders.witness import Witness, older


def retire(where: str | Path, *, name: str = "bandit", keys: str | Path | None = None) -> None:
    """For good. Workers of PostgreSQL may go on meanwhile: they refuse from then on. If this is killed, do it again, or
    open the bandit: its keys go then. RolledBack where an id has proved that the database was taken back in time: it is
    recovered first, which counts what was released since then."""
    database = incarnation.connect(where)
    try:
        folder = incarnation.keys_of(where, database, keys)
        witnessed = Witness(folder.folder, name).read()
        with database.transaction() as run:
            found = incarnation.last(run, name)
            if not rows.head(run, found.uid, database.locking).ended:
                if witnessed is not None and witnessed.disputed:
                    raise older()
                rows.retire(run, found.uid, rows.ENDED)
                person_rows.forget_all(run, name)
                fingerprints.forget_all(run, found.uid, name)
                rows.event(run, found.uid, time.time(), "retired")
        incarnation.destroy_keys(database, folder, found, ended=True)
    finally:
        database.close()
