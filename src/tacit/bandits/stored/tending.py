"""What goes on in the background: releases, the end of what has expired, and of its keys."""

import time
import weakref
from threading import Event
from typing import TYPE_CHECKING

from tacit import checks
from tacit.bandits.joint.continual import SummedBandit
from tacit.bandits.stored.asks import Report
from tacit.bandits.stored.line import Line, check_epochs, place
from tacit.bandits.stored.terms import Agreed
from tacit.errors import BadState
from tacit.store import fingerprints, leaf_rows, rows
from tacit.store.database import Database

if TYPE_CHECKING:
    from tacit.bandits.stored.face import Stored

SILENT_AT_ONCE = 256  # choices that silence answers in one transaction, at most
SKEW = 5.0  # seconds that workers' clocks may differ by
JUMPED = "the system's clock was set: it is not followed until this process is started again"
PATIENCE = 0.5  # seconds between looks at what other workers have closed


def work(stored: "weakref.ref[Stored]", closing: Event, wake: Event) -> None:
    """Until the bandit is closed or gone. An error ends nothing: a later look may succeed."""
    wait = 0.0
    while not closing.is_set():
        wake.wait(wait)
        wake.clear()
        one = stored()
        if one is None or closing.is_set():
            return
        try:
            one.tend()
            at = one._versions.next_at
        except Exception:
            at = None
        wait = PATIENCE if at is None else min(PATIENCE, max(0.001, at - one._clock()))
        del one


def silence(
    bandit: SummedBandit, missing_as: float | None, after: float | None, rate: float | None
) -> tuple[float, float] | None:
    """(the reward that silence means, after how many seconds), or ValueError. At `rate` choices a second a choice
    expires after pending / rate seconds."""
    if missing_as is None and after is None:
        return None
    if missing_as is None or after is None or rate is None:
        raise ValueError("Expected missing_as=, after= and rate= together, got some of them.")
    checks.positive(after=after, rate=rate)
    problem = bandit._problem(missing_as)
    if problem:
        raise ValueError(problem)
    if after * rate > bandit.pending:
        raise ValueError(
            f"Expected after to be less than pending / rate = {bandit.pending / rate:g} seconds, when choices expire "
            f"at the earliest, got {after:g}."
        )
    return float(missing_as), float(after)


def answer_for_the_silent(stored: "Stored", reward: float, after: float) -> None:
    """All who are silent by now, in parts, so that requests and releases do not wait for it. Who is in a part and who
    comes before it is fixed by numbers of choices: one who reports moves nobody else to another step."""
    before, start = stored._clock() - after, 0
    while (found := part(stored._line, stored._other, start, before)) is not None:
        tickets, start = found
        if tickets:
            stored.observe_group([Report(ticket, reward) for ticket in tickets])
            stored._outage.again(stored._releases.run)


def tell_of_a_jump(line: Line, database: Database, at: float) -> None:
    with database.transaction() as run:
        rows.event(run, line.uid, at, JUMPED)


def part(line: Line, database: Database, start: int, before: float) -> tuple[list[bytes], int] | None:
    """The next part of those who are silent: tickets that wait since before that time, and where the part after it
    starts. None if all that wait from there on are younger."""
    with database.transaction() as run:
        first = rows.next_waiting(run, line.uid, start)
        if first is None:
            return None
        start = first // SILENT_AT_ONCE * SILENT_AT_ONCE
        stop = start + SILENT_AT_ONCE
        found = rows.waiting(run, line.uid, start, stop)
    if found and all(made_at > before + SKEW for _, made_at in found):
        return None
    return [ticket for ticket, made_at in found if made_at <= before], stop


def purge(line: Line, database: Database, agreed: Agreed) -> None:
    """Removes the rows of epochs all of whose choices have expired, then their keys: by the number of choices alone.
    The next epoch's key is made ahead."""
    epoch = line.bandit.epoch
    with database.transaction() as run:
        head = rows.head(run, line.uid)
        check_epochs(run, line.seal.keys, line.bandit, head.choices)
    choices, pending = head.choices, agreed.follow(head).pending
    line.seal.keys.forget_destroyed()
    oldest = max(0, (choices - pending) // epoch)  # the first epoch with a choice that has not expired
    start = line.seal.label("epoch", 0)[:-1]
    dead = [label for label in line.seal.keys.labels(start) if int(label[len(start) :]) < oldest]
    if not dead:
        return
    more = True
    while more:
        with database.transaction() as run:
            more = rows.purge(run, line.uid, oldest * epoch, database.locking)
        time.sleep(0)  # requests first
    with database.transaction() as run:
        fingerprints.forget(run, dead)
    for label in dead:
        line.seal.keys.destroy(label)


def rotate(line: Line, database: Database) -> None:
    """In one transaction: nobody else adds to sums or releases meanwhile. All earlier keys are destroyed: also that of
    a rotation whose end was not seen."""
    uid = line.uid
    with database.transaction() as run:
        head = rows.head(run, uid, database.locking)
        new = head.sums_key + 1
        fingerprints.check(run, line.seal.keys, uid, [line.seal.label("sums", new)])
        for step, shard, sealed in rows.all_open_sums(run, uid, database.locking):
            rows.put_sum(run, uid, step, shard, _resealed(line, new, place(uid, step, shard), sealed))
        for step, sealed in leaf_rows.sums(run, uid, 0):
            leaf_rows.put_sum(run, uid, step, _resealed(line, new, place(uid, step, "leaf"), sealed))
        for one in leaf_rows.drawn(run, uid):
            leaf_rows.reseal(run, uid, one.step, _resealed(line, new, place(uid, one.step, "noisy"), one.noisy))
        rows.advance(run, uid, head._replace(sums_key=new))
        fingerprints.forget(run, [line.seal.label("sums", head.sums_key)])
        rows.event(run, uid, time.time(), "keys rotated")
    start = line.seal.label("sums", 0)[:-1]
    for label in line.seal.keys.labels(start):
        if int(label[len(start) :]) < new:
            line.seal.keys.destroy(label)


def _resealed(line: Line, key: int, where: str, sealed: bytes) -> bytes:
    opened = line.seal.open("sums", where, sealed)
    if opened is None:
        raise BadState("Expected the key that sums are sealed with, got a folder without it: recover.")
    return line.seal.seal("sums", key, where, opened)
