"""Whose rounds teach, on a database: counts by person as rows, for all workers.

A person's rounds count when they enter, with a reward, in the transaction that adds them to a step and, where a week
has a limit of its own, in that step's week. The count of a week is kept under the week, which comes first, so that
those of weeks that are over can be deleted."""

import contextlib
import hashlib
import struct
import threading
from collections.abc import Callable, Collection, Iterator

from tacit.algorithms.schedules import Weeks
from tacit.core.onepass import OnePass
from tacit.holders import person_rows, rows
from tacit.holders.database import Database, Run
from tacit.holders.opening import BanditStore
from tacit.mechanisms.entering import HASH

WEEK = struct.Struct(">Q")


class RoundLimits:
    """Of one worker. RAW where it reads."""

    def __init__(self, algorithm: OnePass, store: BanditStore) -> None:
        plan, self._store = algorithm.plan, store
        self._most = plan.limits.most
        self._weeks = None if plan.limits.week is None else Weeks(plan.schedule, plan.limits.week)
        self._lock, self._swept = threading.Lock(), 0

    @contextlib.contextmanager
    def entering(self, run: Run, step: int, persons: Collection[bytes]) -> Iterator[Callable[[bytes], bool]]:
        """Gives what counts one round more of one of these persons, of which choices enter that step, or says that all
        are used. All of them are read and written, in one order, whoever is counted."""
        counted = {one: one if self._weeks is None else self._week_of(step, one) for one in persons}
        name = self._store.bandit.name
        had = person_rows.rounds(run, name, sorted(counted.values()))

        def once_more(person: bytes) -> bool:
            assert self._most is not None
            more = had[counted[person]] < self._most
            had[counted[person]] += more
            return more

        yield once_more
        person_rows.put_rounds(run, name, had)

    def sweep(self, database: Database) -> None:
        """Deletes the counts of weeks that are over, but for the last of them."""
        if self._weeks is None:
            return
        with database.transaction() as run:
            step = rows.head(run, self._store.uid).step
        before = self._week(step) - 1
        if before > self._swept:
            self._swept = before
            with database.transaction() as run:
                person_rows.forget_weeks(run, self._store.bandit.name, WEEK.size + HASH, self._key(before))

    def _week_of(self, step: int, person: bytes) -> bytes:
        """Under what a person's rounds of a week are counted: it tells nobody that two weeks are the same person's."""
        key = self._key(self._week(step))
        return key + hashlib.blake2b(key + person, key=self._store.persons, digest_size=HASH).digest()

    def _week(self, step: int) -> int:
        """Requests, entries and sweeps are different threads, and `Weeks` remembers the last step."""
        assert self._weeks is not None
        with self._lock:
            return self._weeks.of(step)

    def _key(self, week: int) -> bytes:
        return WEEK.pack(week)
