"""The end of a bandit: it answers nobody any more. What is raw is dropped and its keys are destroyed; its leaves, its
certificate stay, and its name in this database is not given again."""

import time
from pathlib import Path

from tacit.holders import closed, fingerprints, opening, person_rows, rows
from tacit.holders.witness import Witness, check_uid, older


def retire(where: str | Path, *, name: str = "bandit", keys: str | Path | None = None) -> None:
    """For good. Workers of PostgreSQL may go on meanwhile: they refuse from then on. If this is killed, do it again, or
    open the bandit: its keys go then. RolledBack where the witness is of another bandit, or an id has proved that the
    database was taken back in time: what is restored from a backup is charged with what was released since then."""
    database = opening.existing(where)
    try:
        folder = opening.keys_of(where, database, keys)
        witnessed = Witness(folder.folder, name).read()
        with database.transaction() as run:
            found = opening.last(run, name)
            if not rows.head(run, found.uid, database.locking).ended:
                if witnessed is not None:
                    check_uid(witnessed, found.uid)
                    if witnessed.taken_back:
                        raise older()
                rows.drop_raw(run, found.uid)
                rows.put_state(run, found.uid, closed.ENDED)
                person_rows.forget_all(run, name)
                fingerprints.forget_all(run, found.uid, name)
                rows.event(run, found.uid, time.time(), "retired")
        opening.destroy_keys(folder, found, ended=True)
    finally:
        database.close()
