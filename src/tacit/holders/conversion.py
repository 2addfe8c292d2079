"""What was waiting in a store of 0.7.0 or earlier, where it waits now.

There a reward joined the step that was open when it came. That step ends by the old rule: what was added to it stays,
and choices that were not answered yet, whatever their number, enter it at their deadlines. After it each choice enters
the step of its number. Where contexts are public, those of choices that wait are in sums already: such a choice enters
as nothing."""

import contextlib
import json
import math
import time
from functools import partial

import numpy as np

from tacit.data import Raw
from tacit.errors import BadState
from tacit.holders import incarnation, rows
from tacit.holders.database import Run
from tacit.holders.rows import REWARD, BanditRow, OpenStep, Waiting, Written
from tacit.holders.seal import Keys, Seal, number_of
from tacit.mechanisms import waiting
from tacit.mechanisms.entering import HASH, NOBODY
from tacit.mechanisms.waiting import NUMBER, WaitingRow

FORM = 1  # byte before a person's hash, of 0.7.0
UNRELEASED = (
    "Expected all steps that are closed to be released, got one that is not: start the earlier release once more for a "
    "moment, which releases it, then stop it and migrate."
)


def convert(run: Run, found: BanditRow, keys: Keys) -> None:
    """One bandit at work."""
    seal, uid = Seal(keys, found.uid), found.uid
    head = rows.standing(run, uid)
    if run("SELECT 1 FROM old_due WHERE bandit = ? LIMIT 1", uid):
        raise BadState(UNRELEASED)
    pending = json.loads(head.settings or "{}").get("pending", 1 << 62)
    void, week = incarnation.is_public(found), json.loads(found.plan).get("week") is not None
    first = head.choices
    for table, deferred in (("waiting", False), ("deferred", True)):
        for ticket, number, made_at, sealed in run(
            f"SELECT ticket, number, made_at, sealed FROM old_{table} WHERE bandit = ? AND number > ?",
            uid,
            head.choices - pending,
        ):
            with contextlib.suppress(BadState):  # a damaged row enters as nothing
                text = seal.open("epoch", f"{uid} {table} {bytes(ticket).hex()}", bytes(sealed))
                if text is not None and not void:
                    old = Waiting(int(number), bytes(ticket), float(made_at), text)
                    _row(run, seal, uid, old, deferred, week, number_of(bytes(sealed)))
                    first = min(first, int(number) - 1)
    closed_at = time.time() if first == head.boundary else 0.0
    rows.make_step(run, uid, OpenStep(head.step, first, closed_at, _sums(run, seal, uid, head)))
    run("UPDATE bandit SET version = ? WHERE uid = ?", incarnation.ROWS, uid)


def _row(run: Run, seal: Seal, uid: str, old: Waiting, deferred: bool, week: bool, key: int) -> None:
    """One choice that waited, and a reward that came before it was shown. Where a week has a limit of its own, it holds
    whose it is. 0.6.0 knew people by ids that had no one form: such a choice teaches nothing."""
    text, reward, person, teaches = old.sealed, math.nan, NOBODY, True
    if deferred:
        text, (reward,) = text[: -NUMBER.size], NUMBER.unpack(text[-NUMBER.size :])
    if week:
        text, person = text[:-HASH], text[-HASH:]
        teaches = len(text) % 8 == FORM or person == NOBODY
        text = text[: len(text) // 8 * 8]
    place = incarnation.waiting_place(uid, old.number)
    sealed = WaitingRow(Raw(np.frombuffer(text)), person, deferred, teaches).sealed(
        partial(seal.seal, "epoch", key, place)
    )
    rows.wait(run, uid, [old._replace(sealed=sealed)])
    run("INSERT INTO old_ticket (bandit, ticket, number) VALUES (?, ?, ?)", uid, old.ticket, old.number)
    if not math.isnan(reward):
        place = incarnation.written_place(uid, old.number, REWARD)
        value = waiting.sealed_reward(Raw(reward), partial(seal.seal, "epoch", key, place))
        rows.write(run, uid, [Written(old.number, REWARD, old.ticket, value)])


def _sums(run: Run, seal: Seal, uid: str, head: rows.Head) -> bytes:
    """The shards of the open step as one sum, sealed."""
    found = run("SELECT shard, sums FROM old_open_sum WHERE bandit = ? AND step = ?", uid, head.step)
    parts = [seal.open("sums", incarnation.place(uid, head.step, str(shard)), bytes(sums)) for shard, sums in found]
    if not parts or any(part is None for part in parts):
        raise BadState("Expected the sums of the open step and their key, got a database or a folder without: recover.")
    total = np.sum([np.frombuffer(part or b"", np.int64) for part in parts], axis=0)
    return seal.seal("sums", head.sums_key, incarnation.place(uid, head.step, "open"), total.tobytes())
