"""Incarnations that nobody may open in this database, and why: they are being moved to another one or were, or they are
a copy, which is older than what was shown since it was made.

Such a row is also marked as one that was taken back in time (3), or replaced (1). Callers hold a transaction
(`run`)."""

from typing import NamedTuple

from tacit.errors import BadState, Moved, RolledBack
from tacit.holders.database import Run

LEAVING, ARRIVING, GONE, COPY = "leaving", "arriving", "gone", "copy"
MARK = 3  # rows.DISPUTED


class Closed(NamedTuple):
    why: str
    place: str  # the other database, in words that hold no password

    @property
    def recoverable(self) -> bool:
        """Whether a new incarnation may take its place here. What has gone, or may come to be open elsewhere, is
        there."""
        return self.why in (LEAVING, COPY)

    @property
    def refusal(self) -> BadState:
        if self.why == COPY:
            return RolledBack(
                "Expected the database that was served from, got a backup of it: choices and releases since then are "
                "not in it. Stop all servers, then `tacit recover CONFIG NAME`."
            )
        if self.why == GONE:
            return Moved(
                f"Expected the database that this bandit is in, got the one that it was moved from, to {self.place}: "
                "change `durable` in the configuration."
            )
        to, place = ("to", self.place) if self.why == LEAVING else ("from", self.place)
        return Moved(
            f"Expected a bandit that stays where it is, got one whose move {to} {place} is not finished: run the same "
            "`tacit move` again."
        )


def found(run: Run, uid: str) -> Closed | None:
    rows = run("SELECT why, place FROM closed WHERE bandit = ?", uid)
    return Closed(str(rows[0][0]), str(rows[0][1])) if rows else None


def refuse(why: Closed | None) -> None:
    if why is not None:
        raise why.refusal


def close(run: Run, uid: str, why: str, place: str = "") -> None:
    """One that is at work, or closed already."""
    reopen(run, uid)
    run("UPDATE bandit SET retired = ? WHERE uid = ? AND retired = 0", MARK, uid)
    run("INSERT INTO closed (bandit, why, place) VALUES (?, ?, ?)", uid, why, place)


def reopen(run: Run, uid: str) -> None:
    """One that is closed; others stay as they are."""
    if run("DELETE FROM closed WHERE bandit = ? RETURNING bandit", uid):
        run("UPDATE bandit SET retired = 0 WHERE uid = ? AND retired = ?", uid, MARK)
