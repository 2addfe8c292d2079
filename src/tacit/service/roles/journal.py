"""What a shuffler keeps on disk: for the open batch, sums and ids of reports, sealed under a key of that batch which is
destroyed at its closing; for a closed one its message, which the analyzer may see. Never a report, nor who sent it.

One row for each commit, so that the work does not grow with the batch. The sum of a commit may be that of one report:
that is why it is sealed. What is deleted stays in write-ahead logs and copies; the key does not."""

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tacit.errors import BadState
from tacit.mechanisms.shuffle import encoding
from tacit.roles.shuffler import Intake
from tacit.store.seal import Keys, Seal
from tacit.store.sqlite import SQLite

OPEN, CLOSED, HANDED, REFUSED = range(4)  # states of a batch
KIND = "batch"
TABLES = (
    "CREATE TABLE IF NOT EXISTS batch (number BIGINT PRIMARY KEY, state BIGINT, opened DOUBLE PRECISION,"
    " billboard BLOB, reports BIGINT, message BLOB)",
    "CREATE TABLE IF NOT EXISTS journal (number BIGINT, place BIGINT, sealed BLOB, PRIMARY KEY (number, place))",
)


class Batch(NamedTuple):
    """The latest batch; billboard: its bytes."""

    number: int
    state: int
    opened: float
    billboard: bytes
    reports: int


class Journal:
    """Of one shuffler; one thread at a time."""

    def __init__(self, durable: str, keys: str | None) -> None:
        self.database = SQLite(Path(durable))
        self._folder = Path(keys or f"{durable}.keys")

    def open(self) -> None:
        self._seal = Seal(Keys(self._folder), "shuffler")
        with self.database.transaction() as run:
            for table in TABLES:
                run(table)
            closed = run("SELECT number FROM batch WHERE state <> ? ORDER BY number DESC LIMIT 2", OPEN)
        for (number,) in closed:  # a crash may have come before the key went
            self._forget(number)

    def last(self) -> Batch | None:
        with self.database.transaction() as run:
            found = run("SELECT number, state, opened, billboard, reports FROM batch ORDER BY number DESC LIMIT 1")
        return Batch(*found[0]) if found else None

    def begin(self, number: int, billboard: bytes) -> Batch:
        """A new batch: its key first."""
        self._seal.keys.make(self._seal.label(KIND, number))
        batch = Batch(number, OPEN, time.time(), billboard, 0)
        with self.database.transaction() as run:
            run("INSERT INTO batch (number, state, opened, billboard, reports) VALUES (?, ?, ?, ?, ?)", *batch)
        return batch

    def write(self, number: int, place: int, intake: Intake) -> None:
        """On disk when this returns; after Unavailable nobody knows, and the journal has to be read again."""
        text = intake.sums.astype("<i8").tobytes() + intake.ids.astype("<u8").tobytes()
        sealed = self._seal.seal(KIND, number, f"{number}.{place}", text)
        with self.database.transaction() as run:
            run("INSERT INTO journal (number, place, sealed) VALUES (?, ?, ?)", number, place, sealed)

    def read(self, number: int, size: int) -> list[Intake]:
        """All that was written, in order; `size` numbers in a sum."""
        with self.database.transaction() as run:
            found = run("SELECT place, sealed FROM journal WHERE number = ? ORDER BY place", number)
        out = []
        for at, (place, sealed) in enumerate(found):
            text = self._seal.open(KIND, f"{number}.{place}", sealed)
            if text is None or place != at:
                raise BadState(
                    "Expected the open batch's key and all of its journal, got an older copy of the database: its "
                    "reports are gone; begin with a new file."
                )
            ids = np.frombuffer(text, "<u8", offset=8 * size)
            out.append(Intake(ids.astype(np.uint64), encoding.unpacked(text, "<i8", size, 0)))
        return out

    def finish(self, number: int, reports: int, message: bytes) -> None:
        """The batch is closed: from now on there is its message alone."""
        with self.database.transaction() as run:
            given = CLOSED, reports, message, number
            run("UPDATE batch SET state = ?, reports = ?, message = ? WHERE number = ?", *given)
            run("DELETE FROM journal WHERE number = ?", number)
        self._forget(number)

    def waiting(self) -> tuple[int, bytes] | None:
        """A closed batch that was not handed over yet, and its message."""
        with self.database.transaction() as run:
            found = run("SELECT number, message FROM batch WHERE state = ? ORDER BY number LIMIT 1", CLOSED)
        return (found[0][0], found[0][1]) if found else None

    def again(self, number: int) -> bool:
        """An analyzer that was restored from a backup asks for that batch, whose message waits from now on: it has seen
        those very bytes. False if there is none."""
        with self.database.transaction() as run:
            found = run("UPDATE batch SET state = ? WHERE number = ? AND state = ? RETURNING 1", CLOSED, number, HANDED)
        return bool(found)

    def handed(self, number: int, state: int) -> None:
        """The analyzer has it, or never will."""
        with self.database.transaction() as run:
            run("UPDATE batch SET state = ? WHERE number = ?", state, number)

    def _forget(self, number: int) -> None:
        self._seal.keys.destroy(self._seal.label(KIND, number))

    def close(self) -> None:
        self.database.close()
