"""Choices that a database has lost: by a restore, with its folder of keys or without, or a failover to a replica.

A client sends an id back. It holds the number of its choice (reticent_serve.holders.requests), and was given after the
choice was committed. If the database has not come to that number, or has given it to another choice, it was taken back
in time since: what it has released since then may be a second noise for the same people, and rewards of what is lost
cannot count. So nothing more is released, and everybody is told, until a backup is restored.

That a number is another choice's is seen by what was written of both, or when the choice enters
(reticent_serve.holders.steps); what comes later is compared with the answers that are still kept."""

import contextlib
from collections.abc import Sequence

from reticent.errors import BadState
from reticent_serve.holders import closed, rows
from reticent_serve.holders import seal as seals
from reticent_serve.holders.database import Run
from reticent_serve.holders.opening import BanditStore
from reticent_serve.holders.requests import Answer, Ticket

EVENT = "a choice that was answered is not in this database: it was taken back in time, and nothing more is released"


def lost(run: Run, store: BanditStore, head: rows.Head, tickets: Sequence[Ticket], late: Sequence[Ticket]) -> bool:
    """Whether the database has not come to one of these choices, or has given the number of one of the late ones to
    another."""
    if any(ticket.number > head.choices for ticket in tickets):
        return True
    numbered = [(ticket.number, ticket.text) for ticket in late]
    placed = _placed(run, store, [number for number, _ in numbered]) if numbered else {}
    return any(placed.get(number, text) != text for number, text in numbered)


def declare(run: Run, store: BanditStore, at: float) -> None:
    """The database was taken back in time: on the witness's record, too, which the next restore does not take back."""
    store.witness.take_back(store.uid)
    rows.put_state(run, store.uid, closed.BACK)
    rows.event(run, store.uid, at, EVENT)


def _placed(run: Run, store: BanditStore, numbers: list[int]) -> dict[int, bytes]:
    """The tickets of these choices, by their numbers, as far as they can be read: not of those that are expired, erased
    or damaged, which prove nothing."""
    out = {}
    for number, request, sealed in rows.answers(run, store.uid, sorted(set(numbers))):
        with contextlib.suppress(BadState):
            opened = store.seal.open("epoch", seals.choice_place(store.uid, request), sealed)
            if opened is not None:
                out[number] = Answer.unpacked(opened).ticket
    return out
