"""From one version of the store to the next.

Workers of version n work on databases of version n and n + 1, so that a deploy is rolling: first `tacit migrate`, while
workers of version n serve, then the workers of version n + 1. Each version is one transaction: a migration that is
killed has happened whole or not at all, and is run again."""

import time
from collections.abc import Callable

from tacit.errors import BadState
from tacit.store import schema
from tacit.store.database import Database, Run
from tacit.store.schema import VERSION


def ready(database: Database) -> None:
    """Makes the tables of an empty database; BadState if it is of a version that this code does not work on."""
    with database.transaction() as run:
        found = version_of(database, run)
        if found == 0:
            _bring(database, run, 0)
    if 0 < found < VERSION:
        raise BadState(
            f"Expected a database of version {VERSION}, got version {found}: run `tacit migrate CONFIG`; earlier "
            "workers may go on meanwhile."
        )
    if found > VERSION + 1:
        raise BadState(f"Expected a database of version {VERSION}, got version {found}: it needs a newer tacit.")


def migrate(database: Database, also: Callable[[Run, int], None]) -> tuple[int, int]:
    """The version that the database had, 0 if it was empty, and the one that it has. also: what else is done from the
    version before, in the same transaction."""
    with database.transaction() as run:
        found = version_of(database, run)
        if 0 < found < VERSION:
            _bring(database, run, found)
            also(run, found)
    return found, max(found, VERSION) if found else 0


def version_of(database: Database, run: Run) -> int:
    """0 if it is empty. Until the transaction ends, nobody else makes tables."""
    run(database.alone)
    if run(database.finding, "store_version"):
        return int(run("SELECT max(version) FROM store_version")[0][0])
    return 1 if run(database.finding, "bandit") else 0


def _bring(database: Database, run: Run, found: int) -> None:
    for statements in schema.VERSIONS[found:]:
        for statement in statements:
            run(statement.replace(" BLOB", f" {database.blob}"))
    run("INSERT INTO store_version (version, at) VALUES (?, ?)", VERSION, time.time())
