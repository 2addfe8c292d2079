"""From the stores of 0.6.0 and 0.7.0 to the present one. Stop all workers first: theirs cannot work on it.

It is one transaction: a migration that is killed has happened whole or not at all, and is run again. No leaf is
touched: noise is drawn once."""

import time
from collections.abc import Callable, Iterable

from tacit.errors import BadState
from tacit.holders import schema
from tacit.holders.database import Database, Run
from tacit.holders.schema import OLDEST, VERSION


def ready(database: Database) -> None:
    """Makes the tables of an empty database, and those that came since, while other workers go on; BadState if it is of
    a version that this code does not work on."""
    with database.transaction() as run:
        found = version_of(database, run)
        if found == 0:
            bring(database, run, schema.TABLES)
            record(run)
        if found in (0, VERSION):
            _add(database, run)
    if 0 < found < VERSION:
        raise BadState(
            f"Expected a database of version {VERSION}, got version {found}: stop all workers, then run `tacit migrate "
            "CONFIG`."
        )
    if found > VERSION:
        raise BadState(f"Expected a database of version {VERSION}, got version {found}: it needs a newer tacit.")


def migrate(database: Database, witnessed: Callable[[Run], None], convert: Callable[[Run], None]) -> tuple[int, int]:
    """The version that the database had, 0 if it was empty, and the one that it has. witnessed: makes the witnesses
    that 0.6.0 did not make; convert: takes what was waiting to where it waits now."""
    with database.transaction() as run:
        found = version_of(database, run)
        if 0 < found < OLDEST:
            raise BadState(f"Expected a database of 0.6.0 or later, got version {found}: migrate it with 0.7.0 first.")
        if found == OLDEST:
            bring(database, run, schema.FIFTH)
        if 0 < found < VERSION:
            bring(database, run, schema.ASIDE)
            bring(database, run, schema.SEVENTH)
            _add(database, run)
            convert(run)
            bring(database, run, schema.DROPPED)
            record(run)
        if found == OLDEST:
            witnessed(run)  # at last: files stay where a transaction does not happen
    return found, max(found, VERSION) if found else 0


def version_of(database: Database, run: Run) -> int:
    """0 if it is empty. Until the transaction ends, nobody else makes tables."""
    run(database.alone)
    if run(database.finding, "store_version"):
        return int(run("SELECT max(version) FROM store_version")[0][0])
    return 1 if run(database.finding, "bandit") else 0


def bring(database: Database, run: Run, statements: Iterable[str]) -> None:
    for statement in statements:
        run(statement.replace(" BLOB", f" {database.blob}"))


def _add(database: Database, run: Run) -> None:
    """Tables that came since. They are looked for first: whoever may not make tables need not."""
    bring(database, run, [made for name, made in schema.ADDED.items() if not run(database.finding, name)])


def record(run: Run) -> None:
    run("INSERT INTO store_version (version, at) VALUES (?, ?)", VERSION, time.time())
