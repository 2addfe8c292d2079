"""What the row of a bandit says of whether it may be opened there."""

from reticent.errors import BadState, Moved, RolledBack

BEGUN, OPEN, ENDED = "begun", "open", "ended"  # begun: its witness may not be there yet
LEAVING, ARRIVING, GONE = "leaving", "arriving", "gone"  # it is being moved to another database, or was
COPY = "copy"  # a backup, which is older than what was shown since it was made
BACK = "taken back"  # an id proved that the database was taken back in time
RESTORE = "Stop all servers, then `reticent restore CONFIG NAME FILE` with a backup."


def refuse(state: str, place: str) -> None:
    """An error unless it is open, or has ended. place: the other database, in words that hold no password."""
    if state not in (OPEN, ENDED):
        raise _refusal(state, place)


def refuse_moved(state: str, place: str) -> None:
    """Moved if it is in another database."""
    if state in (ARRIVING, GONE):
        raise _refusal(state, place)


def _refusal(state: str, place: str) -> BadState:
    if state == BEGUN:
        return BadState("Expected a bandit that is made, got one that was begun: open it once more.")
    if state == BACK:
        return RolledBack(
            "Expected a database with all choices that were answered from it, got one that lacks some, as an id "
            f"showed: it was taken back in time. {RESTORE}"
        )
    if state == COPY:
        return RolledBack(
            "Expected the database that was served from, got a backup of it: choices and releases since then are not "
            f"in it. Correct `database`, or put that database back. If it is lost: {RESTORE}"
        )
    if state == GONE:
        return Moved(
            f"Expected the database that this bandit is in, got the one that it was moved from, to {place}: change "
            "`database` in the configuration."
        )
    return Moved(
        f"Expected a bandit that stays where it is, got one whose move {'to' if state == LEAVING else 'from'} {place} "
        "is not finished: run the same `reticent move` again."
    )
