"""Whose rounds teach, on a database: the counts of bandits.persons and joint.turns as rows, for all workers.

Where a week has a limit of its own, answers are counted when they come, in the transaction that adds them to a step and
in that step's week. A choice that waits then carries its person's hash, sealed with it, after a byte that 0.6.0 did not
write: its hashes were of ids that had no one form, so that such a choice teaches nothing. The count of a week is kept
under the incarnation and the week, which come first, so that those of weeks that are over can be deleted."""

import hashlib
import struct
import threading

from tacit.algorithms.weeks import Weeks
from tacit.bandits.joint.continual import SummedBandit
from tacit.bandits.persons import HASH, SILENT, Person, Persons, digests
from tacit.bandits.stored.asks import Ask
from tacit.bandits.stored.line import Line
from tacit.store import person_rows, rows
from tacit.store.database import Database, Run

NOBODY = bytes(HASH)
FORM = b"\1"  # of a hash that is kept with a choice
WEEK = struct.Struct(">IQ")  # the incarnation and the week


class People:
    """Of one worker. RAW where it reads."""

    def __init__(self, bandit: SummedBandit, line: Line, persons: Persons) -> None:
        self._line, self._persons, self._most = line, persons, persons.most
        self.served = bandit.week is not None or bool(line.bandit.silent)  # whoever does not teach
        self._weeks, self._swept, self._sweeps = None, 0, threading.Lock()
        if bandit._week is not None:  # requests and sweeps are different threads
            self._weeks, self._sweeping = (Weeks(bandit._schedule, bandit._week) for _ in range(2))

    def known(self, person: Person | None) -> tuple[bytes | None, tuple[bytes, ...]]:
        """A person's hash, and those that earlier releases had for them; ValueError for what is no id."""
        digest = self._persons.admit(person)
        return digest, () if person is None else digests(person, self._line.persons)[1:]

    def chooses(self, run: Run, step: int, ask: Ask) -> bool:
        """Whether that choice, of that step, may teach. It is counted, unless its answer will be."""
        person = ask.person
        if person is None or self._most is None:
            return True
        if self._line.bandit.silent:
            return False
        person_rows.move_rounds(run, self._line.bandit.name, ask.former, person)
        if self._weeks is not None:
            week = self._weeks.of(step)
            former = tuple(self._week_of(week, one) for one in ask.former)
            person_rows.move_rounds(run, self._line.bandit.name, former, self._week_of(week, person))
        return self._weeks is not None or self._once_more(run, person, self._most) is not None

    def mark(self, person: bytes | None) -> bytes:
        """What is kept of a person with a choice that waits: always of the same length."""
        return b"" if self._weeks is None else FORM + (person or NOBODY)

    def split(self, row: bytes) -> tuple[bytes, bytes]:
        """What else is kept, and who it was."""
        if self._weeks is None:
            return row, NOBODY
        rest, person = row[:-HASH], row[-HASH:]
        if len(rest) % 8 == len(FORM):
            return rest[: -len(FORM)], person
        return rest, NOBODY if person == NOBODY else SILENT

    def answers(self, run: Run, person: bytes, step: int) -> bool:
        """Whether an answer that joins that step teaches. It is counted."""
        if self._weeks is None or self._most is None or person == NOBODY:
            return True
        if person == SILENT:
            return False
        week = self._week_of(self._weeks.of(step), person)
        return self._once_more(run, week, self._most) is not None

    def sweep(self, database: Database) -> None:
        """Deletes the counts of weeks that are over, but for the last of them."""
        if self._weeks is None:
            return
        with database.transaction() as run:
            step = rows.head(run, self._line.uid).step
        with self._sweeps:
            before = self._sweeping.of(step) - 1
        if before > self._swept:
            self._swept = before
            with database.transaction() as run:
                person_rows.forget_weeks(run, self._line.bandit.name, WEEK.size + HASH, self._key(before))

    def _once_more(self, run: Run, whose: bytes, most: int) -> int | None:
        return person_rows.round_of(run, self._line.bandit.name, whose, most)

    def _week_of(self, week: int, person: bytes) -> bytes:
        """Under what a person's answers of a week are counted: it tells nobody that two weeks are the same person's."""
        key = self._key(week)
        return key + hashlib.blake2b(key + person, key=self._line.persons, digest_size=HASH).digest()

    def _key(self, week: int) -> bytes:
        return WEEK.pack(self._line.bandit.incarnation, week)
