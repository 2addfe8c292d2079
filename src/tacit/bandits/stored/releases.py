"""Releases, in the background: never within a request, and the same work whatever came.

A step that is closed does not change any more. Its exact sums are read, measured with fresh noise and inserted, sealed,
under the primary key (bandit, step): of several who try, one does, and what the others drew was never shown. Then the
witness has what was committed on disk, and only then it is unsealed. Whoever is killed in between leaves a sealed leaf,
which the next one who comes reads, records and unseals; nobody draws again. Nothing is served from here: who serves
reads the committed row."""

import contextlib
import math
import threading
from collections.abc import Callable

import numpy as np

from tacit.bandits.joint.continual import SummedBandit
from tacit.bandits.stored import versions
from tacit.bandits.stored.line import Line, place
from tacit.bandits.stored.terms import Agreed
from tacit.data import Raw
from tacit.errors import BadState
from tacit.mechanisms import leaves
from tacit.mechanisms.grid import Grid
from tacit.store import leaf_rows, rows
from tacit.store.database import Database
from tacit.store.leaf_rows import Drawn
from tacit.store.seal import number_of
from tacit.store.witness import older

LATE = "release late: visible at a later multiple of the delay"


class _OvertakenError(Exception):
    """Another has released the step, or rotated the keys, meanwhile: begin again."""


class Releases:
    """Its own connection and its own copy of the exact sums. RAW."""

    def __init__(
        self, bandit: SummedBandit, line: Line, database: Database, agreed: Agreed, clock: Callable[[], float]
    ) -> None:
        assert isinstance(bandit.mechanism, Grid)
        self._grid, self._source, self._line = bandit.mechanism, bandit.source, line
        self._database, self._agreed, self._clock = database, agreed, clock
        self._turn = threading.Lock()
        self._start()

    def _start(self) -> None:
        """The database first: one that went back in time, as a replica that lags, would get a second noise."""
        generation = self._database.generation
        self._drawn = versions.verify(self._line, self._database)
        self._prefix = self._grid.init(self._source)
        self._generation = generation

    def run(self) -> int:
        """Releases every step that is closed and has no leaf. Returns how many steps have one. One thread at a time:
        of two, one would measure the step of the other."""
        with self._turn:
            while not self._next():
                pass
            return self._known

    @property
    def _known(self) -> int:
        return int(self._prefix.noise.step[0])

    @property
    def _delay(self) -> float:
        return self._agreed.now.delay

    def _next(self) -> bool:
        """One release; True if none is due."""
        uid = self._line.uid
        if self._generation != self._database.generation:
            self._start()
        with self._database.transaction() as run:
            head = rows.head(run, uid)
            done = leaf_rows.sums(run, uid, self._known)
            new = versions.found(self._line, run, self._drawn.steps)
            sealed_still = bool(leaf_rows.drawn(run, uid))
        self._agreed.follow(head)
        versions.add(self._drawn.digests, new)
        for step, sealed in done:
            self._grid.close(self._prefix, step, self._opened(step, "leaf", sealed))
        if sealed_still:
            self._unseal()
            return False
        step = self._known
        if step > head.step:
            raise older()
        if step == head.step:
            return True
        with self._database.transaction() as run:
            parts = rows.closed_sums(run, uid, step)
            due = rows.due_at(run, uid, step)
            found = leaf_rows.sums(run, uid, step)
        if found:
            return False  # another has released it meanwhile
        if due is None:
            raise BadState("Expected a closed step with its time, got a database without it: recover.")
        if len(parts) != self._database.shards:
            raise BadState("Expected all shards of a closed step, got fewer.")
        total = Raw(np.sum([self._opened(step, shard, sealed) for shard, sealed in parts], axis=0))
        key = number_of(parts[0][1])
        noisy = self._grid.measure(self._prefix, total, self._source)
        sums = self._line.seal.seal("sums", key, place(uid, step, "leaf"), total.tobytes())
        leaf = self._line.seal.seal("sums", key, place(uid, step, "noisy"), leaves.written(noisy))
        made, late, visible = False, False, 0.0
        with contextlib.suppress(_OvertakenError), self._database.transaction() as run:
            gone = rows.finish_step(run, uid, step)
            if self._generation != self._database.generation:  # another connection since: what was read is void
                raise _OvertakenError
            if not gone or any(number_of(sealed) != key for sealed in gone):
                raise _OvertakenError
            now = self._clock()  # after all waiting for others: what is left is the commit itself
            visible = self.visible_at(due, now)
            made, late = leaf_rows.draw(run, uid, Drawn(step, sums, leaf, visible)), visible > due + self._delay
            left = leaves.left(self._grid, step)
            if made and left is not None:
                leaf_rows.put_sum(run, uid, left, b"")  # raw, and of no use any more
            if made and late:
                rows.event(run, uid, now, LATE)
        if made and not late and self._clock() > visible and self._delay > 0:  # the commit took so long
            with self._database.transaction() as run:
                rows.event(run, uid, self._clock(), LATE)
        return False  # what was committed is read with the next

    def _unseal(self) -> None:
        """Leaves that were drawn, by whomever, once the witness has them on disk. RolledBack, and they stay sealed, if
        the database is known by then to have been taken back in time."""
        uid = self._line.uid
        self._line.witness.record(self._drawn)
        with contextlib.suppress(_OvertakenError), self._database.transaction() as run:
            rows.head(run, uid, self._database.locking)
            if self._generation != self._database.generation:
                raise _OvertakenError
            for step, sums, noisy, visible_at in leaf_rows.take(run, uid, self._drawn.steps):
                leaf_rows.keep(run, uid, step, sums, versions.opened(self._line, step, "noisy", noisy), visible_at)

    def visible_at(self, due: float, now: float) -> float:
        """due + delay; where the commit could come after that, the next multiple of the delay. A clock that was set
        back since the step ended holds nothing up."""
        due = min(due, now)
        if self._delay == 0:
            return due
        return due + self._delay * max(1, math.ceil((now - due) / self._delay + 0.5))

    def _opened(self, step: int, shard: int | str, sealed: bytes) -> Raw:
        return leaves.exact(versions.opened(self._line, step, shard, sealed), self._grid.size)
