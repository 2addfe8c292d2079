"""Every statement on the tables: what a choice, a reward and a release do to rows. Callers hold a transaction (`run`).

What happens once happens by a constraint, never by looking first: one choice for each request, one waiting row for each
ticket that is deleted once, one leaf for each step."""

from typing import NamedTuple

from tacit.errors import RolledBack
from tacit.store.database import Rows, Run

REPLACED, ENDED, DISPUTED = 1, 2, 3  # why an incarnation is retired: recovered from, for good, or until it is recovered
MOST_AT_ONCE = 1000  # rows that one transaction purges


class Bandit(NamedTuple):
    """An incarnation, as it was made."""

    uid: str
    name: str
    incarnation: int
    version: int
    plan: str
    epoch: int  # choices that share a key
    prior: bytes | None
    prior_std: float
    twice: int = 0  # earlier incarnations whose releases are counted twice
    silent: int = 0  # 1: nobody who is named teaches
    silences: int = 0  # incarnations of which that holds, up to this one


class Head(NamedTuple):
    """Where an incarnation stands: step `step` is open and closes at `boundary` choices. All public."""

    step: int
    choices: int
    boundary: int
    unnamed: int  # choices without a person
    sums_key: int  # the number of the key that sums are sealed with
    settings: str | None = None  # what all workers do alike
    ended: bool = False  # retired for good
    disputed: bool = False  # an id proved that the database was taken back in time


# bandits


def last(run: Run, name: str) -> Bandit | None:
    """The latest incarnation."""
    found = run(
        "SELECT uid, name, incarnation, version, plan, epoch, prior, prior_std, coalesce(twice, 0),"
        " coalesce(silent, 0), (SELECT count(*) FROM bandit AS other"
        " WHERE other.name = bandit.name AND other.silent = 1) FROM bandit WHERE name = ?"
        " ORDER BY incarnation DESC LIMIT 1",
        name,
    )
    return Bandit(*found[0]) if found else None


def make(run: Run, bandit: Bandit, boundary: int) -> bool:
    """False if another has made it meanwhile."""
    made = run(
        "INSERT INTO bandit (uid, name, incarnation, version, plan, epoch, prior, prior_std, twice, silent, retired,"
        " step, choices, boundary, unnamed, sums_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, ?, 0, 0)"
        " ON CONFLICT DO NOTHING RETURNING uid",
        *bandit[:10],
        boundary,
    )
    return bool(made)


def head(run: Run, uid: str, locking: str = "") -> Head:
    """RolledBack if another incarnation has taken its place, or has to."""
    found = standing(run, uid, locking)
    if found.disputed:
        raise RolledBack(
            "Expected a database with all choices that were answered from it, got one that lacks some, as an id "
            "showed: it was taken back in time. Stop all servers, then `tacit recover CONFIG NAME`."
        )
    return found


def standing(run: Run, uid: str, locking: str = "") -> Head:
    """As `head`, also of a database that is known to have been taken back in time."""
    found = run(
        "SELECT step, choices, boundary, unnamed, sums_key, settings, retired FROM bandit WHERE uid = ?" + locking, uid
    )
    if not found or found[0][-1] == REPLACED:
        raise RolledBack("Expected the incarnation at work, got one that was recovered from since: open it again.")
    *numbers, retired = found[0]
    return Head._make((*numbers, retired == ENDED, retired == DISPUTED))


def dispute(run: Run, uid: str) -> None:
    """Nobody goes on from that incarnation until it is recovered."""
    run("UPDATE bandit SET retired = ? WHERE uid = ? AND retired = 0", DISPUTED, uid)


def advance(run: Run, uid: str, new: Head) -> None:
    run(
        "UPDATE bandit SET step = ?, choices = ?, boundary = ?, unnamed = ?, sums_key = ? WHERE uid = ?",
        *new[:5],
        uid,
    )


def settle(run: Run, uid: str, settings: str) -> None:
    run("UPDATE bandit SET settings = ? WHERE uid = ?", settings, uid)


def retire(run: Run, uid: str, why: int) -> None:
    """Nothing raw stays, and nobody goes on from it; its noisy leaves stay, with sums of public contexts."""
    for table in ("waiting", "deferred", "choice", "open_sum", "due", "drawn"):
        run(f"DELETE FROM {table} WHERE bandit = ?", uid)
    run("UPDATE leaf SET sums = ? WHERE bandit = ?", b"", uid)
    released = "SELECT step FROM leaf WHERE bandit = ?"
    run(f"DELETE FROM context_sum WHERE bandit = ? AND step NOT IN ({released})", uid, uid)
    run("UPDATE bandit SET retired = ? WHERE uid = ?", why, uid)


def incarnations(run: Run, name: str) -> list[tuple[int, str]]:
    """(number, uid) of all that this database has had of that name, the first one first."""
    found = run("SELECT incarnation, uid FROM bandit WHERE name = ? ORDER BY incarnation", name)
    return [(int(number), str(uid)) for number, uid in found]


# choices


def choose(run: Run, uid: str, request: bytes, number: int, sealed: bytes, mark: bytes) -> bool:
    """Whether this is the first choice for that request."""
    made = run(
        "INSERT INTO choice (bandit, request, number, sealed, mark) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
        " RETURNING number",
        uid,
        request,
        number,
        sealed,
        mark,
    )
    return bool(made)


def first_choice(run: Run, uid: str) -> int | None:
    """The number of the oldest choice that has not been purged."""
    ((number,),) = run("SELECT min(number) FROM choice WHERE bandit = ?", uid)
    return None if number is None else int(number)


def marks(run: Run, uid: str, start: int, stop: int) -> list[tuple[bytes, int, bytes | None]]:
    """(request, number, mark) of choices start, ..., stop - 1; workers of the first version left no mark."""
    found = run(
        "SELECT request, number, mark FROM choice WHERE bandit = ? AND number >= ? AND number < ?", uid, start, stop
    )
    return [(bytes(request), int(number), None if mark is None else bytes(mark)) for request, number, mark in found]


def answer(run: Run, uid: str, request: bytes) -> bytes | None:
    found = run("SELECT sealed FROM choice WHERE bandit = ? AND request = ?", uid, request)
    return bytes(found[0][0]) if found else None


def answers(run: Run, uid: str, numbers: list[int]) -> list[tuple[int, bytes, bytes]]:
    """(number, request, sealed) of the choices of these numbers that are still there."""
    marks = ", ".join("?" * len(numbers)) or "NULL"
    found = run(f"SELECT number, request, sealed FROM choice WHERE bandit = ? AND number IN ({marks})", uid, *numbers)
    return [(int(number), bytes(request), bytes(sealed)) for number, request, sealed in found]


def unchoose(run: Run, uid: str, request: bytes) -> None:
    run("DELETE FROM choice WHERE bandit = ? AND request = ?", uid, request)


def wait(run: Run, uid: str, ticket: bytes, number: int, made_at: float, sealed: bytes) -> None:
    run(
        "INSERT INTO waiting (bandit, ticket, number, made_at, sealed) VALUES (?, ?, ?, ?, ?)",
        uid,
        ticket,
        number,
        made_at,
        sealed,
    )


def next_waiting(run: Run, uid: str, start: int) -> int | None:
    """The number of the first choice from `start` on that waits."""
    ((number,),) = run("SELECT min(number) FROM waiting WHERE bandit = ? AND number >= ?", uid, start)
    return None if number is None else int(number)


def waiting(run: Run, uid: str, start: int, stop: int) -> list[tuple[bytes, float]]:
    """(ticket, made_at) of choices start, ..., stop - 1 that wait."""
    found = run("SELECT ticket, made_at FROM waiting WHERE bandit = ? AND number >= ? AND number < ?", uid, start, stop)
    return [(bytes(ticket), float(made_at)) for ticket, made_at in found]


class Waiting(NamedTuple):
    """A choice that waits for its reward, or until it is known that it was shown."""

    number: int
    made_at: float
    sealed: bytes


def take(run: Run, uid: str, ticket: bytes) -> Waiting | None:
    """The waiting row of that ticket, which is gone from now on."""
    return _waiting(
        run("DELETE FROM waiting WHERE bandit = ? AND ticket = ? RETURNING number, made_at, sealed", uid, ticket)
    )


def defer(run: Run, uid: str, ticket: bytes, row: Waiting) -> None:
    run(
        "INSERT INTO deferred (bandit, ticket, number, made_at, sealed) VALUES (?, ?, ?, ?, ?)",
        uid,
        ticket,
        *row,
    )


def deferred(run: Run, uid: str, ticket: bytes, locking: str) -> Waiting | None:
    found = run(
        "SELECT number, made_at, sealed FROM deferred WHERE bandit = ? AND ticket = ?" + locking,
        uid,
        ticket,
    )
    return _waiting(found)


def put_deferred(run: Run, uid: str, ticket: bytes, sealed: bytes) -> None:
    run("UPDATE deferred SET sealed = ? WHERE bandit = ? AND ticket = ?", sealed, uid, ticket)


def undefer(run: Run, uid: str, ticket: bytes) -> Waiting | None:
    """Its row, which is gone from now on."""
    return _waiting(
        run("DELETE FROM deferred WHERE bandit = ? AND ticket = ? RETURNING number, made_at, sealed", uid, ticket)
    )


def _waiting(found: Rows) -> Waiting | None:
    return Waiting(int(found[0][0]), float(found[0][1]), bytes(found[0][2])) if found else None


def purge(run: Run, uid: str, before: int, locking: str) -> bool:
    """Removes choices below that number, some at a time; whether there may be more. In the order of tickets, as rewards
    take them: else the two would wait for each other."""
    more = False
    for table, key in (("waiting", "ticket"), ("deferred", "ticket"), ("choice", "request")):
        gone = run(
            f"DELETE FROM {table} WHERE bandit = ? AND {key} IN (SELECT {key} FROM {table} WHERE bandit = ?"
            f" AND number < ? ORDER BY {key} LIMIT {MOST_AT_ONCE}{locking}) RETURNING number",
            uid,
            uid,
            before,
        )
        more = more or len(gone) == MOST_AT_ONCE
    return more


# steps


def open_step(run: Run, uid: str, step: int, shards: list[bytes]) -> None:
    for shard, sums in enumerate(shards):
        run("INSERT INTO open_sum (bandit, step, shard, closed, sums) VALUES (?, ?, ?, 0, ?)", uid, step, shard, sums)


def close_step(run: Run, uid: str, step: int, at: float) -> None:
    """Waits for rewards that are being added; later ones find the step closed."""
    run("UPDATE open_sum SET closed = 1 WHERE bandit = ? AND step = ?", uid, step)
    run("INSERT INTO due (bandit, step, at) VALUES (?, ?, ?)", uid, step, at)


def open_sum(run: Run, uid: str, step: int, shard: int, locking: str) -> bytes | None:
    """None if the step has been closed."""
    found = run(
        "SELECT sums FROM open_sum WHERE bandit = ? AND step = ? AND shard = ? AND closed = 0" + locking,
        uid,
        step,
        shard,
    )
    return bytes(found[0][0]) if found else None


def put_sum(run: Run, uid: str, step: int, shard: int, sums: bytes) -> None:
    run("UPDATE open_sum SET sums = ? WHERE bandit = ? AND step = ? AND shard = ?", sums, uid, step, shard)


def closed_sums(run: Run, uid: str, step: int) -> list[tuple[int, bytes]]:
    """(shard, sums) of a closed step: they do not change any more."""
    found = run(
        "SELECT shard, sums FROM open_sum WHERE bandit = ? AND step = ? AND closed = 1 ORDER BY shard", uid, step
    )
    return [(int(shard), bytes(sums)) for shard, sums in found]


def all_open_sums(run: Run, uid: str, locking: str) -> list[tuple[int, int, bytes]]:
    """(step, shard, sums) of all steps that are not released."""
    found = run("SELECT step, shard, sums FROM open_sum WHERE bandit = ? ORDER BY step, shard" + locking, uid)
    return [(int(step), int(shard), bytes(sums)) for step, shard, sums in found]


def due_at(run: Run, uid: str, step: int) -> float | None:
    """When a step was closed; None if it is open, or released."""
    found = run("SELECT at FROM due WHERE bandit = ? AND step = ?", uid, step)
    return float(found[0][0]) if found else None


def finish_step(run: Run, uid: str, step: int) -> list[bytes]:
    """Removes a closed step's sums, and returns them as they were at last."""
    run("DELETE FROM due WHERE bandit = ? AND step = ?", uid, step)
    gone = run("DELETE FROM open_sum WHERE bandit = ? AND step = ? AND closed = 1 RETURNING sums", uid, step)
    return [bytes(sums) for (sums,) in gone]


# names


def lines(run: Run) -> list[tuple[str, str]]:
    """(name, uid of its first incarnation) of all bandits of this database."""
    found = run("SELECT name, uid FROM bandit ORDER BY incarnation DESC")
    return sorted({str(name): str(uid) for name, uid in found}.items())


# events


def event(run: Run, uid: str, at: float, what: str) -> None:
    run("INSERT INTO event (bandit, at, what) VALUES (?, ?, ?)", uid, at, what)


def events(run: Run, uid: str) -> list[tuple[float, str]]:
    return [(float(at), str(what)) for at, what in run("SELECT at, what FROM event WHERE bandit = ? ORDER BY at", uid)]


def forget_events(run: Run, uid: str, what: str) -> None:
    run("DELETE FROM event WHERE bandit = ? AND what = ?", uid, what)
