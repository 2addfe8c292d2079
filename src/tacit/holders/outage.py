"""While the database is away or cannot be written: choices by the last estimate that was shown, which teach nothing.

Such an answer is a function of releases that were shown before, of the asking user's own request and of fresh
randomness, so it costs no privacy. It is stored nowhere: it counts towards no step, and its reward for nothing. The
same request again may have another answer, unless its first one is in the database and can be read."""

import time
from collections.abc import Callable
from typing import TypeVar

from tacit.errors import RolledBack, Unavailable
from tacit.holders import rows
from tacit.holders.incarnation import Vault

T = TypeVar("T")

MODES = ("refuse", "serve")
TRIES = 3  # of a transaction whose end was not seen
QUICK = 1.0  # seconds: an error that came sooner is worth another try at once
EVENT = "choices were answered without learning: the database was away, or could not be written"
UNSAID = "an outage that no event tells of"
SELDOM = 3600.0  # seconds between two such events: a disk that is nearly full comes and goes


class Outage:
    """Whether there is one. It begins with a choice that cannot be committed, and ends when `tend` has written.

    Nobody asks a database that is away meanwhile: who waits for a broken network would keep all others waiting."""

    def __init__(self, mode: str, vault: Vault, clock: Callable[[], float]) -> None:
        self._mode, self._vault, self._clock = mode, vault, clock
        self.on = False
        self.readable = False  # as where the disk is full
        self.refused = False  # what is in memory may not be served: the database was taken back in time
        self._began, self._last_event = 0.0, -SELDOM

    def again(self, work: Callable[[], T]) -> T:
        """Once more after an error of the database, from what it holds then: what was committed is found there. Not
        after one that took long, as in a broken network: others wait."""
        began = time.monotonic()
        try:
            for _ in range(TRIES - 1):
                try:
                    return work()
                except Unavailable:
                    if time.monotonic() - began > QUICK:
                        raise
            return work()
        except RolledBack:
            self.refuse()
            raise

    def begins(self, took: float) -> bool:
        """After an error of the database that took so many seconds: whether choices go on."""
        if self._mode == "refuse" or self.refused:
            return False
        self.on, self.readable, self._began = True, took < QUICK, self._clock()
        return True

    def refuse(self) -> None:
        self.on, self.refused = False, True

    def end(self) -> None:
        """If a row can be written: a new one, since SQLite writes none that stays as it is. An event tells when it
        began."""
        say = time.monotonic() - self._last_event >= SELDOM
        with self._vault.database.transaction() as run:
            rows.event(run, self._vault.uid, self._began, EVENT if say else UNSAID)
            rows.forget_events(run, self._vault.uid, UNSAID)
        self._last_event = time.monotonic() if say else self._last_event
        self.on = False

    def check(self, *, reading: bool = False) -> None:
        """Unavailable at once for what only the database can do."""
        if self.on and not (reading and self.readable):
            raise Unavailable("Expected a database that can be written, got an outage.")
