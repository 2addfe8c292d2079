"""Entries and releases, in the background: never within a request, and by one worker at a time.

A choice enters once its deadline has passed, in the order of numbers (mechanisms.entering): its rows are opened, joined
to the sealed sums of the open step and deleted, and the number that entered last moves on, in one transaction. Within a
step the estimate does not change, so that whoever adds, and when, gives the same sums: each step is linearised at the
release before it.

When the last number of a step has entered, its sums do not change any more. They are measured with fresh noise and
inserted, sealed, under the primary key (bandit, step): of several who try, one does, and what the others drew was never
shown. Then the witness has what was committed on disk, and only then it is unsealed. Whoever is killed in between
leaves a sealed leaf, which the next one who comes reads, records and unseals; nobody draws again. Nothing is served
from here: who serves reads the committed row.

A release seals all exact sums with a new key, in its transaction; the old key is destroyed once the leaf is unsealed
(reticent_serve.holders.upkeep). Then nobody can read the sums that older backups, or the database's own log, have,
whoever gets the folder of keys later."""

import contextlib
import functools
import math
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from reticent.core.curator import Curator
from reticent.core.onepass import OnePass
from reticent.data import Raw
from reticent.errors import BadState
from reticent.kernels.rounds import next_boundary
from reticent.mechanisms import entering, leaves
from reticent.mechanisms.entering import NO_REWARD, Entry, WaitingRow, unsealed_reward
from reticent.mechanisms.grid import Grid
from reticent.mechanisms.leaves import ClosedSteps, StepSums
from reticent_serve.holders import fingerprints, leaf_rows, opening, rollback, rows, served
from reticent_serve.holders import seal as seals
from reticent_serve.holders.database import Database, Run
from reticent_serve.holders.leaf_rows import SealedLeaf
from reticent_serve.holders.limits import RoundLimits
from reticent_serve.holders.opening import BanditStore
from reticent_serve.holders.rows import Head, OpenStep, Waiting, Written
from reticent_serve.holders.seal import number_of, place
from reticent_serve.holders.shared_settings import SharedSettings
from reticent_serve.holders.witness import older

LATE = "release late: visible at a later multiple of the delay"
AT_ONCE = 256  # choices that enter in one transaction, at most: on SQLite requests wait for it


class _OvertakenError(Exception):
    """Another has released the step meanwhile: begin again."""


class _Part(NamedTuple):
    """RAW. Choices that enter together, what was written of them, and the number of the last of them, or of those that
    are passed over. closed_at: when their deadlines had passed, if they are the last of the step."""

    waiting: list[Waiting]
    written: dict[int, Written]
    end: int
    closed_at: float

    @property
    def lost(self) -> bool:
        """Whether something was written of another choice that had one of these numbers."""
        tickets = {one.number: one.ticket for one in self.waiting}
        return any(tickets.get(one.number, one.ticket) != one.ticket for one in self.written.values())


class Steps:
    """Its own connection, its own copy of the exact sums, and its own estimate: that of the last release, visible or
    not. RAW."""

    def __init__(
        self,
        algorithm: OnePass,
        source: Any,
        store: BanditStore,
        database: Database,
        shared: SharedSettings,
        curator: Curator,
        people: RoundLimits,
        clock: Callable[[], float],
    ) -> None:
        assert isinstance(algorithm.plan.mechanism, Grid)
        self._algorithm, self._grid, self._source, self._curator = algorithm, algorithm.plan.mechanism, source, curator
        self._store, self._database, self._shared, self._people, self._clock = store, database, shared, people, clock
        self._lock = threading.Lock()
        self._start()
        self._compile()

    def _start(self) -> None:
        """The database first: one that went back in time, as a replica that lags, would get a second noise."""
        generation = self._database.generation
        self._drawn = served.verify(self._store, self._database)
        self._closed = ClosedSteps(self._grid, self._source)
        self._estimator = served.begun(self._algorithm, self._store, self._shared)
        self._generation = generation

    def _compile(self) -> None:
        """Kernels, by an entry that is thrown away: within a transaction that would take too long."""
        plan = self._algorithm.plan
        made_up = Entry(Raw(np.zeros(plan.row)), entering.NOBODY, True, Raw(plan.reward.range[0]))
        self._join([made_up], range(1, 2), StepSums(self._grid), bool)

    def run(self) -> None:
        """All that is due enters, and every step that is full is released. One thread at a time: of two, one would
        measure the step of the other."""
        with self._lock:
            while not self._next():
                pass

    def _next(self) -> bool:
        """One thing that is due; True if nothing is, or another worker is at it."""
        uid = self._store.uid
        if self._generation != self._database.generation:
            self._start()
        with self._database.transaction() as run:
            before = rows.head(run, uid)
            done = leaf_rows.sums(run, uid, self._closed.step)
            new = served.found(self._store, run, self._estimator.step)
            sealed_still = bool(leaf_rows.drawn(run, uid))
            head = rows.head(run, uid)  # another may release meanwhile
        self._shared.follow(head)
        served.add(self._drawn.digests, new[self._drawn.steps - self._estimator.step :])
        for step, sealed in done:
            self._closed.close(step, self._sums(step, "leaf", sealed))
        for leaf in new:
            served.follow(self._estimator, leaf, self._shared)
        if sealed_still:
            self._unseal()
            return False
        if not before.step <= self._estimator.step <= head.step:
            raise older()
        with self._database.transaction() as run:
            opened = rows.open_step(run, uid, self._database.skipping)
            if opened is None or opened.step != self._estimator.step:
                return self._busy(run, opened)
            part = None if opened.closed_at else self._due(run, head, opened)
            if part is not None and part.lost:
                rollback.declare(run, self._store, self._clock())
            elif part is not None:
                self._enter(run, opened, part)
        if part is not None and part.lost:
            raise older()
        if part is None and opened.closed_at:
            self._release(opened)
        return part is None and not opened.closed_at

    def _busy(self, run: Run, opened: OpenStep | None) -> bool:
        """Whether another worker is at work on the step; or it has released it. BadState if neither can be."""
        head = rows.head(run, self._store.uid)
        self._shared.follow(head)
        found = opened or rows.open_step(run, self._store.uid)
        if found is None or (opened is not None and opened.step != head.step):
            raise BadState("Expected the sums of the open step, got a database without them.")
        return opened is None

    # entries

    def _due(self, run: Run, head: Head, opened: OpenStep) -> _Part | None:
        """Choices of that step whose deadline has passed, the next ones in the order of numbers; None if there are
        none. A number without a row may be on its way: it is passed over once a later choice is due."""
        uid, window = self._store.uid, self._shared.now.window + self._database.skew
        end, latest, now = opened.settled, 0.0, self._clock()
        for number, made_at in rows.times(run, uid, opened.settled, AT_ONCE):
            if made_at > now + served.BACK and not self._database.several_hosts:  # where there is one clock
                rows.set_back(run, uid, now)
            if made_at + window >= now or end == head.boundary:
                break
            end, latest = min(number, head.boundary), max(latest, made_at)
        if end == opened.settled:
            return None
        waiting = rows.due(run, uid, opened.settled, end, self._database.locking)
        written = {one.number: one for one in rows.written(run, uid, opened.settled, end)}
        return _Part(waiting, written, end, latest + window if end == head.boundary else 0.0)

    def _enter(self, run: Run, opened: OpenStep, part: _Part) -> None:
        """They join the sums of the step, and are gone. The same statements whether or not rewards came."""
        uid, step, store = self._store.uid, opened.step, self._store
        epochs = {one.number // store.bandit.epoch for one in part.waiting}
        opening.check_epochs(run, store.seal.keys, store.bandit, epochs, make=False)  # else all would be unreadable
        sums = self._sums(step, "open", opened.sums)
        entries, numbers = [self._entry(one, part.written) for one in part.waiting], range(0)
        if self._shared.assignment is not None:
            self._shared.follow(rows.head(run, uid))  # a holdout that has ended since may not play the last of these
            numbers = range(opened.settled + 1, part.end + 1)
            there = dict(zip((one.number for one in part.waiting), entries, strict=True))
            entries = [there.get(number) or entering.nothing(self._algorithm.plan.row) for number in numbers]
        with self._people.entering(run, step, {one.person for one in entries} - {entering.NOBODY}) as once_more:
            self._join(entries, numbers, sums, once_more)
        rows.entered(run, uid, part.end)
        sealed = sums.sealed(self._seal(number_of(opened.sums), step, "open"))
        rows.put_step(run, uid, OpenStep(step, part.end, part.closed_at, sealed))

    def _join(self, entries: list[Entry], numbers: range, sums: StepSums, once_more: Callable[[bytes], bool]) -> None:
        """At the estimate of the release before. numbers: of an experiment, where also those that no choice has
        enter."""
        algorithm, estimate = self._estimator.algorithm, self._estimator.estimate
        found = self._curator.entering(entries, numbers, algorithm.plan.row, once_more)
        sums.add(found, algorithm.adder(estimate))

    def _entry(self, choice: Waiting, written: dict[int, Written]) -> Entry:
        """A row that is damaged enters as nothing: it fails alone."""
        uid, size = self._store.uid, self._algorithm.plan.row
        with contextlib.suppress(BadState):
            unseal = self._opener(seals.waiting_place(uid, choice.number))
            row = WaitingRow.unsealed(choice.sealed, unseal, size)
            if row is None:
                return entering.nothing(size)
            reward, given = NO_REWARD, written.get(choice.number)
            if given is None:
                unseal(choice.sealed)  # the same work
            else:
                unseal = self._opener(seals.written_place(uid, choice.number))
                reward = unsealed_reward(given.sealed, unseal)
            return Entry(row.numbers, row.person, row.teaches, reward)
        return entering.nothing(size)

    def _opener(self, place: str) -> Callable[[bytes], bytes | None]:
        """What opens a row of that place."""
        return functools.partial(self._store.seal.open, "epoch", place)

    # releases

    def _release(self, opened: OpenStep) -> None:
        uid, step, seal = self._store.uid, opened.step, self._store.seal
        former, key = number_of(opened.sums), number_of(opened.sums) + 1
        seal.keys.make(seal.label("sums", key))
        total = self._sums(step, "open", opened.sums)
        noisy = self._closed.measured(total, self._source)
        sums = total.sealed(self._seal(key, step, "leaf"))
        leaf = self._seal(key, step, "noisy")(leaves.written(noisy))
        made, late, visible, delay = False, False, 0.0, self._shared.now.delay
        with contextlib.suppress(_OvertakenError), self._database.transaction() as run:
            found = rows.open_step(run, uid, self._database.locking)
            head = rows.head(run, uid, self._database.locking)  # last: others wait for it, for their numbers
            if self._generation != self._database.generation:  # another connection since: what was read is void
                raise _OvertakenError
            if found is None or found[:3] != opened[:3] or number_of(found.sums) != former:
                raise _OvertakenError
            now = self._clock()  # after all waiting for others: what is left is the commit itself
            visible = self.visible_at(opened.closed_at, now)
            made, late = (
                leaf_rows.draw(run, uid, SealedLeaf(step, sums, leaf, visible)),
                visible > opened.closed_at + delay,
            )
            if not made:
                raise _OvertakenError
            left = leaves.left(self._grid, step)
            if left is not None:
                leaf_rows.put_sum(run, uid, left, b"")  # raw, and of no use any more
            for earlier, sealed in leaf_rows.sums(run, uid, 0):
                if number_of(sealed) != key:
                    whole = self._sums(earlier, "leaf", sealed)
                    leaf_rows.put_sum(run, uid, earlier, whole.sealed(self._seal(key, earlier, "leaf")))
            fingerprints.check(run, seal.keys, uid, [seal.label("sums", key)])
            fingerprints.forget(run, [seal.label("sums", former)])
            following = int(next_boundary(head.boundary, *self._algorithm.plan.schedule))
            rows.advance(run, uid, head._replace(step=step + 1, boundary=following, sums_key=key))
            rows.put_step(run, uid, opening.empty(seal, uid, key, step + 1, opened.settled, self._algorithm))
            if late:
                rows.event(run, uid, now, LATE)
        if made and not late and self._clock() > visible and delay > 0:  # the commit took so long
            with self._database.transaction() as run:
                rows.event(run, uid, self._clock(), LATE)

    def _unseal(self) -> None:
        """Leaves that were drawn, by whomever, once the witness has them on disk. RolledBack, and they stay sealed, if
        the database is known by then to have been taken back in time."""
        uid = self._store.uid
        self._store.witness.record(self._drawn)
        with contextlib.suppress(_OvertakenError), self._database.transaction() as run:
            rows.head(run, uid, self._database.locking)
            if self._generation != self._database.generation:
                raise _OvertakenError
            for step, sums, noisy, visible_at in leaf_rows.take(run, uid, self._drawn.steps):
                leaf_rows.keep(run, uid, step, sums, served.opened(self._store, step, "noisy", noisy), visible_at)

    def visible_at(self, closed: float, now: float) -> float:
        """closed + delay; where the commit could come after that, the next multiple of the delay. A clock that was set
        back since the step ended holds nothing up."""
        closed, delay = min(closed, now), self._shared.now.delay
        if delay == 0:
            return closed
        return closed + delay * max(1, math.ceil((now - closed) / delay + 0.5))

    def _sums(self, step: int, what: str, sealed: bytes) -> StepSums:
        unseal = functools.partial(self._store.seal.open, "sums", place(self._store.uid, step, what))
        return StepSums.unsealed(self._grid, sealed, unseal)

    def _seal(self, key: int, step: int, what: str) -> Callable[[bytes], bytes]:
        return functools.partial(self._store.seal.seal, "sums", key, place(self._store.uid, step, what))
