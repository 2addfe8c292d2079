"""Choices that a database has lost: by a restore, with its folder of keys or without, or a failover to a replica.

A client sends an id back. It holds the number of its choice (tacit.bandits.stored.tickets), and was given out after the
choice was committed. If the database has not come to that number, or has given it to another choice, it was taken back
in time since: what it has released since then may be a second noise for the same people, and rewards of what is lost
cannot count. So nothing more is released, and everybody is told, until the bandit is recovered."""

import contextlib
from collections.abc import Sequence

from tacit.bandits.stored import line as lines
from tacit.bandits.stored.asks import Answer
from tacit.bandits.stored.line import Line
from tacit.errors import BadState
from tacit.store import rows
from tacit.store.database import Run

EVENT = "a choice that was answered is not in this database: it was taken back in time, and nothing more is released"


def dispute(run: Run, line: Line, head: rows.Head, tickets: Sequence[bytes], at: float) -> bool:
    """Whether one of these choices is lost. Then nobody goes on from this incarnation."""
    pairs = zip(line.tickets.numbers(tickets), tickets, strict=True)
    numbered = [(number, ticket) for number, ticket in pairs if number is not None]
    if not any(number > head.choices for number, _ in numbered):
        placed = _placed(run, line, {number for number, _ in numbered})
        if all(placed.get(number, ticket) == ticket for number, ticket in numbered):
            return False
    line.witness.dispute(line.bandit.incarnation)  # which the next restore does not take back
    rows.dispute(run, line.uid)
    rows.event(run, line.uid, at, EVENT)
    return True


def _placed(run: Run, line: Line, numbers: set[int]) -> dict[int, bytes]:
    """The tickets of these choices, by their numbers, as far as they can be read: not of those that are expired, erased
    or damaged, which prove nothing."""
    out = {}
    for number, request, sealed in rows.answers(run, line.uid, sorted(numbers)):
        with contextlib.suppress(BadState):
            opened = line.seal.open("epoch", lines.choice_place(line.uid, request), sealed)
            if opened is not None:
                out[number] = Answer.unpacked(opened).ticket
    return out
