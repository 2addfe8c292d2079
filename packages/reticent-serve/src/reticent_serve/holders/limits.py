"""Whose rounds teach, on a database: counts by person as rows, for all workers.

A person's rounds count when they enter, with a reward, in the transaction that adds them to a step and, where a week
has a limit of its own, in that step's week. The count of a week is kept under the week, which comes first, so that
those of weeks that are over can be deleted."""

import contextlib
import hashlib
import struct
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from reticent.algorithms.schedules import Weeks
from reticent.core.onepass import OnePass
from reticent.mechanisms.entering import HASH
from reticent_serve.holders import rows
from reticent_serve.holders.database import Database, Run
from reticent_serve.holders.opening import BanditStore

AT_ONCE = 5000  # rows of a statement: databases take at most 32 766 or 65 535 values


def rounds(run: Run, name: str, digests: Sequence[bytes]) -> dict[bytes, int]:
    """How many these people have had. Nobody else counts any of them until the transaction ends. Given in order, so
    that nobody waits in a circle."""
    had: dict[bytes, int] = {}
    for some in _parts(digests):
        found = run(
            f"INSERT INTO person (name, digest, rounds) VALUES {', '.join(['(?, ?, 0)'] * len(some))} ON CONFLICT"
            " (name, digest) DO UPDATE SET rounds = person.rounds RETURNING digest, rounds",
            *(value for digest in some for value in (name, digest)),
        )
        had |= {bytes(digest): int(rounds) for digest, rounds in found}
    return had


def put_rounds(run: Run, name: str, had: Mapping[bytes, int]) -> None:
    for some in _parts(list(had)):
        run(
            f"INSERT INTO person (name, digest, rounds) VALUES {', '.join(['(?, ?, ?)'] * len(some))} ON CONFLICT"
            " (name, digest) DO UPDATE SET rounds = excluded.rounds",
            *(value for digest in some for value in (name, digest, had[digest])),
        )


def _parts(digests: Sequence[bytes]) -> list[Sequence[bytes]]:
    return [digests[start : start + AT_ONCE] for start in range(0, len(digests), AT_ONCE)]


def forget_weeks(run: Run, name: str, length: int, before: bytes) -> None:
    """Removes the counts of people's weeks, which have keys of that length, below a week."""
    run("DELETE FROM person WHERE name = ? AND digest < ? AND length(digest) = ?", name, before, length)


def forget_all(run: Run, name: str) -> None:
    run("DELETE FROM person WHERE name = ?", name)


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
        had = rounds(run, name, sorted(counted.values()))

        def once_more(person: bytes) -> bool:
            assert self._most is not None
            more = had[counted[person]] < self._most
            had[counted[person]] += more
            return more

        yield once_more
        put_rounds(run, name, had)

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
                forget_weeks(run, self._store.bandit.name, WEEK.size + HASH, self._key(before))

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
