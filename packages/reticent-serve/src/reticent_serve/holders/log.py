"""A log learnt on a database: some rows in each transaction, and with them a bookmark, so that after a crash no row is
lost and none is learnt twice.

A row is a choice that was made elsewhere and its reward: both are written at once, under the next number, and it enters
as soon as those before it have; where several workers serve, once none of those can be on its way. That a log was begun
is also on record in the folder of keys, which no restore of the database takes back: what was learnt before a restore
is not learnt again."""

import functools
import hashlib
import itertools
import secrets
from collections.abc import Callable, Iterator
from typing import Any

from reticent.core import logs, repeated
from reticent.core.curator import Curator, LoggedRow, cancelled
from reticent.core.onepass import OnePass
from reticent.core.validation import hashed
from reticent.errors import BadState, HorizonReached
from reticent.features import frames
from reticent.mechanisms.entering import HASH, NOBODY, WaitingRow
from reticent.process import Lock
from reticent_serve.holders import bookmarks, rows
from reticent_serve.holders.choosing import Choosing
from reticent_serve.holders.database import again
from reticent_serve.holders.opening import BanditStore
from reticent_serve.holders.requests import MILLI, Answer, Report, Ticket
from reticent_serve.holders.shared_settings import SharedSettings
from reticent_serve.holders.witness import older

AT_ONCE = 256  # rows in a transaction, at most: others wait for it


class Log:
    """Of one worker."""

    def __init__(
        self,
        algorithm: OnePass,
        store: BanditStore,
        shared: SharedSettings,
        curator: Curator,
        choosing: Choosing,
        lock: Lock,
    ) -> None:
        self._algorithm, self._store, self._shared, self._curator = algorithm, store, shared, curator
        self._choosing, self._lock = choosing, lock

    def learn(self, table: Any, log: str, actions: Any, left: int | None, tend: Callable[[], None]) -> dict[int, str]:
        """Row -> reason for those that were refused by this call. left: choices that can still be made."""
        if not isinstance(log, str) or not log:
            raise ValueError("Expected log to be a name, got none.")
        table = table if isinstance(table, logs.LongLog) else frames.columns(table)  # an Arrow stream is read once
        count, rows_from = logs.source(self._shared.validator, table, actions)
        digest = repeated.digest(self._shared.validator, table, self._store.persons)
        named = b"log" + log.encode("utf-8", "surrogatepass")
        name = hashlib.blake2b(named, key=self._store.persons, digest_size=16).hexdigest()
        logs.check_rows(rows_from(0), self._shared.validator.rewards, self._check_person)
        learnt = again(lambda: self._begin(name, digest))
        if learnt > count:
            raise ValueError(f"Expected at least the {learnt} rows that were learnt under this name, got fewer.")
        if left is not None and count - learnt > left:
            raise HorizonReached(f"Expected at most {left} more choices, got {count - learnt} rows.")
        refused: dict[int, str] = {}
        coming = self._rows(rows_from(learnt))
        while waiting := list(itertools.islice(coming, AT_ONCE)):
            with self._lock:
                now, problems = again(functools.partial(self._learn, name, learnt, waiting))
            if now != learnt + len(waiting):  # another worker is ahead
                coming = self._rows(rows_from(now))
            learnt = now
            refused |= problems
            tend()
        return refused

    def _begin(self, name: str, digest: str | None) -> int:
        """How many of its rows are learnt. ValueError if all of them were given under another name."""
        store, database, keys = self._store, self._store.database, self._store.seal.keys
        label = f"{store.bandit.name}.log.{{}}"
        with database.transaction() as run:
            self._choosing.head(run, database.locking)
            found = bookmarks.learnt(run, store.uid, name)
            owner = None if digest is None else bookmarks.owner(run, store.uid, digest)
            if owner not in (None, name):
                raise ValueError(repeated.TWICE)
            new = [name] * (found is None) + [digest] * (owner is None and digest is not None)
            if any(keys.find(label.format(one)) is not None for one in new):
                raise BadState(
                    "Expected a log that is new to this bandit, got one that was begun before a restore: nobody "
                    "knows which of its rows were released. Give rows that are certainly new, under another name."
                )
            bookmarks.begin(run, store.uid, name)
            if digest is not None and owner is None:
                bookmarks.belongs(run, store.uid, digest, name)
        for one in (name, digest):
            if one is not None:
                keys.make(label.format(one))
        return found or 0

    def _check_person(self, person: Any) -> None:
        hashed(person, self._store.persons, limited=self._shared.validator.limited)

    def _rows(self, found: Iterator[logs.Row]) -> Iterator[LoggedRow]:
        """A bad row is the same work and leaves the same rows."""
        return (self._curator.logged(row, self._algorithm.plan.row) for row in found)

    def _learn(self, name: str, learnt: int, coming: list[LoggedRow]) -> tuple[int, dict[int, str]]:
        """One transaction: numbers for these rows, and with each what is kept of it and its reward. How many rows are
        learnt now, and which of these were refused; if they are more than was known, another has learnt them, or we
        have without seeing the end of it: then nothing happens."""
        choosing, store, database = self._choosing, self._store, self._store.database
        settings = self._shared.now
        refused: dict[int, str] = {}
        with database.transaction() as run:
            found = bookmarks.learnt(run, store.uid, name, database.locking)
            if found is None or found < learnt:
                raise older()
            if found > learnt:
                return found, {}
            head = choosing.taken(run, len(coming))
            choosing.rows.check_keys(run, store.bandit.coming(head.choices - len(coming), len(coming)))
            at = choosing.now() - settings.window - 1 / MILLI  # due as soon as no number before these can be on its way
            answered, waiting, written = [], [], []
            for i, row in enumerate(coming):
                number, problem = head.choices - len(coming) + 1 + i, row.problem
                waiting_row = WaitingRow(row.row, row.person or NOBODY, teaches=not row.void)
                ticket = Ticket(store.tickets.made(number, max(0.0, at)), number, at)
                answer = Answer(ticket.text, head.step, 0, None)
                answered.append(choosing.rows.answered(secrets.token_bytes(HASH), row.person, number, answer))
                waiting.append(choosing.rows.waits(number, ticket.text, at, waiting_row))
                if row.reward is not None or problem:  # else it is silent, like a choice that nobody answered
                    given = Report(ticket, cancelled() if row.reward is None else row.reward)
                    written.append(choosing.rows.written(number, given))
                if problem:
                    refused[learnt + i] = problem
            rows.answer(run, store.uid, answered)
            rows.wait(run, store.uid, sorted(waiting))
            rows.write(run, store.uid, sorted(written))
            bookmarks.put(run, store.uid, name, learnt + len(coming))
        return learnt + len(coming), refused
