"""What a shuffler keeps on disk: for the open batch, sums and ids of reports, sealed under a key of that batch which is
destroyed at its closing; for a closed one its message, which the analyzer may see. Never a report, nor who sent it.

One row for each commit, so that the work does not grow with the batch. The sum of a commit may be that of one report:
that is why it is sealed. What is deleted stays in write-ahead logs and copies; the key does not."""

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from reticent.errors import BadState
from reticent_devices.mechanisms.shuffle import encoding
from reticent_devices.roles.shuffler import Intake
from reticent_devices.servers.witness import WitnessRole
from reticent_serve.holders.seal import Keys, Seal
from reticent_serve.holders.sqlite import SQLite

OPEN, CLOSED, HANDED, REFUSED = range(4)  # states of a batch
KIND, SEALING, MESSAGE = "batch", "sealing", -1  # kinds of keys; the place of a message that is sealed
TABLES = (
    "CREATE TABLE IF NOT EXISTS batch (number BIGINT PRIMARY KEY, state BIGINT, opened DOUBLE PRECISION,"
    " billboard BLOB, reports BIGINT, message BLOB)",
    "CREATE TABLE IF NOT EXISTS journal (number BIGINT, place BIGINT, sealed BLOB, PRIMARY KEY (number, place))",
    # parts of the open batch that other shufflers have handed over
    "CREATE TABLE IF NOT EXISTS part (number BIGINT, name TEXT, digest BLOB, PRIMARY KEY (number, name))",
)


class Batch(NamedTuple):
    """The latest batch; billboard: its bytes."""

    number: int
    state: int
    opened: float
    billboard: bytes
    reports: int


class Journal:
    """Of one shuffler; one thread at a time. part: its message is that of a part of a batch, with the noise of these
    reports alone: it stays sealed, and the key is destroyed when it was handed over."""

    def __init__(self, database: str, keys: str | None, witness: str, *, part: bool = False) -> None:
        self.database, self._part = SQLite(Path(database)), part
        self._folder, self._witness = Path(keys or f"{database}.keys"), WitnessRole(Path(witness))

    def open(self) -> None:
        self._seal = Seal(Keys(self._folder), "shuffler")
        with self.database.transaction() as run:
            for table in TABLES:
                run(table)
            last = run("SELECT number, state FROM batch ORDER BY number DESC LIMIT 2")
        self._witness.open(new=not last)
        for number, state in last:  # a crash may have come before the key went
            if state != OPEN:
                self._settle(number, state)

    @property
    def closed(self) -> int:
        """The last batch that was ever closed, also where this is an older copy of the database."""
        return self._witness.closed

    def last(self) -> Batch | None:
        with self.database.transaction() as run:
            found = run("SELECT number, state, opened, billboard, reports FROM batch ORDER BY number DESC LIMIT 1")
        return Batch(*found[0]) if found else None

    def begin(self, number: int, billboard: bytes) -> Batch:
        """A new batch: its keys first."""
        for kind in (KIND, SEALING):
            self._seal.keys.make(self._seal.label(kind, number))
        batch = Batch(number, OPEN, time.time(), billboard, 0)
        with self.database.transaction() as run:
            run("INSERT INTO batch (number, state, opened, billboard, reports) VALUES (?, ?, ?, ?, ?)", *batch)
        return batch

    def write(self, number: int, place: int, intake: Intake, part: tuple[str, bytes] | None = None) -> None:
        """On disk when this returns; after Unavailable nobody knows, and the journal has to be read again. part: the
        name and the digest of a part that this is."""
        text = intake.reports.to_bytes(8, "little") + intake.sums.astype("<i8").tobytes()
        sealed = self._sealed(number, place, text + intake.ids.astype("<u8").tobytes())
        with self.database.transaction() as run:
            run("INSERT INTO journal (number, place, sealed) VALUES (?, ?, ?)", number, place, sealed)
            if part is not None:
                run("INSERT INTO part (number, name, digest) VALUES (?, ?, ?)", number, *part)

    def read(self, number: int, size: int) -> list[Intake]:
        """All that was written, in order; `size` numbers in a sum."""
        with self.database.transaction() as run:
            found = run("SELECT sealed FROM journal WHERE number = ? ORDER BY place", number)
        out = []
        for at, (sealed,) in enumerate(found):
            text = self._opened(number, at, sealed)
            ids = np.frombuffer(text, "<u8", offset=8 + 8 * size).astype(np.uint64)
            out.append(Intake(ids, encoding.unpacked(text, "<i8", size, 8), int.from_bytes(text[:8], "little")))
        return out

    def secret(self, number: int) -> bytes:
        """By which the open batch's sealed reports are opened."""
        found = self._seal.keys.find(self._seal.label(SEALING, number))
        if found is None:
            raise _without_key()
        return found

    def parts(self, number: int) -> dict[str, bytes]:
        """Which have come: name -> digest."""
        with self.database.transaction() as run:
            return dict(run("SELECT name, digest FROM part WHERE number = ?", number))

    def finish(self, number: int, reports: int, message: bytes) -> None:
        """The batch is closed: from now on there is its message alone."""
        stored = self._sealed(number, MESSAGE, message) if self._part else message
        with self.database.transaction() as run:
            given = CLOSED, reports, stored, number
            run("UPDATE batch SET state = ?, reports = ?, message = ? WHERE number = ?", *given)
            run("DELETE FROM journal WHERE number = ?", number)
        self._settle(number, CLOSED)

    def drop(self, number: int) -> None:
        """The open batch of an older copy of the database, which has been closed before."""
        with self.database.transaction() as run:
            run("UPDATE batch SET state = ? WHERE number = ?", REFUSED, number)
            run("DELETE FROM journal WHERE number = ?", number)
        self._settle(number, REFUSED)

    def waiting(self) -> tuple[int, bytes] | None:
        """A closed batch that was not handed over yet, and its message: nothing leaves before its keys are gone and the
        witness has it."""
        with self.database.transaction() as run:
            found = run("SELECT number, message FROM batch WHERE state = ? ORDER BY number LIMIT 1", CLOSED)
        if not found:
            return None
        number, stored = found[0]
        self._settle(number, CLOSED)
        return number, self._opened(number, MESSAGE, stored) if self._part else stored

    def again(self, number: int) -> bool:
        """An analyzer that was restored from a backup asks for that batch, whose message waits from now on: it has seen
        those very bytes. False if there is none, as of parts."""
        if self._part:
            return False
        with self.database.transaction() as run:
            found = run("UPDATE batch SET state = ? WHERE number = ? AND state = ? RETURNING 1", CLOSED, number, HANDED)
        return bool(found)

    def handed(self, number: int, state: int) -> None:
        """The analyzer has it, or never will."""
        with self.database.transaction() as run:
            run("UPDATE batch SET state = ? WHERE number = ?", state, number)
        self._settle(number, state)

    def _sealed(self, number: int, place: int, text: bytes) -> bytes:
        return self._seal.seal(KIND, number, f"{number}.{place}", text)

    def _opened(self, number: int, place: int, sealed: bytes) -> bytes:
        text = self._seal.open(KIND, f"{number}.{place}", sealed)
        if text is None:
            raise _without_key()
        return text

    def _settle(self, number: int, state: int) -> None:
        """Of a batch that is not open: no kept report of it can be opened any more, and it cannot be opened again. The
        message of a part stays sealed until it was handed over."""
        self._seal.keys.destroy(self._seal.label(SEALING, number))
        if not (self._part and state == CLOSED):
            self._seal.keys.destroy(self._seal.label(KIND, number))
        self._witness.record(number)

    def close(self) -> None:
        self.database.close()


def _without_key() -> BadState:
    return BadState(
        "Expected the keys of the open batch, got an older copy of the database: its reports are gone; begin with a "
        "new file."
    )
