"""Every statement on the tables: what a choice, a reward and a release do to rows. Callers hold a transaction (`run`).

What happens once happens by a constraint, never by looking first: one choice for each request, one row for each number,
one reward for each choice, one leaf for each step."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from reticent.errors import RolledBack
from reticent_serve.holders import closed
from reticent_serve.holders.database import Rows, Run, Statement
from reticent_serve.holders.witness import Predecessor, predecessors

MOST_AT_ONCE = 1000  # rows that one transaction purges


class BanditRow(NamedTuple):
    """A bandit, as it was made."""

    uid: str
    name: str
    plan: str
    epoch: int  # choices that share a key
    prior: bytes | None
    prior_std: float
    predecessors: tuple[Predecessor, ...] = ()

    def coming(self, choices: int, count: int = 1) -> range:
        """The epochs of so many choices after those, and the one after them."""
        return range((choices + 1) // self.epoch, (choices + count) // self.epoch + 2)


class Head(NamedTuple):
    """Where a bandit stands: step `step` is open and closes at `boundary` choices. All public."""

    step: int
    choices: int
    boundary: int
    sums_key: int  # the number of the key that sums are sealed with
    settings: str | None = None  # what all workers do alike
    state: str = closed.OPEN
    place: str = ""

    @property
    def ended(self) -> bool:
        """Retired for good."""
        return self.state == closed.ENDED


# bandits


def last(run: Run, name: str, locking: str = "") -> BanditRow | None:
    """The one of that name."""
    found = run(
        f"SELECT uid, name, plan, epoch, prior, prior_std, predecessors FROM bandit WHERE name = ?{locking}", name
    )
    if not found:
        return None
    *others, before = found[0]
    return BanditRow(*others)._replace(predecessors=predecessors(json.loads(before)))


def make(run: Run, bandit: BanditRow, boundary: int, state: str) -> bool:
    """False if another has made one of that name meanwhile."""
    made = run(
        "INSERT INTO bandit (uid, name, plan, epoch, prior, prior_std, predecessors, state, place, step, choices,"
        " boundary, sums_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', 0, 0, ?, 0)"
        " ON CONFLICT DO NOTHING RETURNING uid",
        *bandit[:-1],
        json.dumps(bandit.predecessors),
        state,
        boundary,
    )
    return bool(made)


HEAD = "SELECT step, choices, boundary, sums_key, settings, state, place FROM bandit WHERE uid = ?"


def head(run: Run, uid: str, locking: str = "") -> Head:
    """RolledBack if another bandit has taken its place, or has to; Moved if it is in another database."""
    return at_work(run(HEAD + locking, uid))


def at_work(found: Rows) -> Head:
    """What HEAD has found, with the same errors."""
    if not found:
        raise RolledBack("Expected the bandit that was opened, got a database without it: it was restored since.")
    out = Head(*found[0])
    closed.refuse(out.state, out.place)
    return out


def standing(run: Run, uid: str) -> Head:
    """As `head`, whatever its state."""
    return Head(*run(HEAD, uid)[0])


def open_begun(run: Run, uid: str) -> None:
    run("UPDATE bandit SET state = ? WHERE uid = ? AND state = ?", closed.OPEN, uid, closed.BEGUN)


def put_state(run: Run, uid: str, state: str, place: str = "") -> None:
    run("UPDATE bandit SET state = ?, place = ? WHERE uid = ?", state, place, uid)


def advance(run: Run, uid: str, new: Head) -> None:
    """To the step that is open now. Numbers are given out meanwhile."""
    run(
        "UPDATE bandit SET step = ?, boundary = ?, sums_key = ? WHERE uid = ?",
        new.step,
        new.boundary,
        new.sums_key,
        uid,
    )


def settle(run: Run, uid: str, settings: str) -> None:
    run("UPDATE bandit SET settings = ? WHERE uid = ?", settings, uid)


def drop_raw(run: Run, uid: str) -> None:
    """Its noisy leaves stay."""
    for table in ("waiting", "written", "choice", "open_step", "drawn"):
        run(f"DELETE FROM {table} WHERE bandit = ?", uid)
    run("UPDATE leaf SET sums = ? WHERE bandit = ?", b"", uid)


# choices


class Answered(NamedTuple):
    """The answer to a request. sealed, mark: RAW."""

    request: bytes
    number: int
    sealed: bytes
    mark: bytes


def take(run: Run, uid: str, count: int, most: int) -> Head | None:
    """Gives out so many numbers, of which the last is `choices`; None, and none is given, if they would be more than
    `most`, or if the bandit is not at work."""
    found = run(
        "UPDATE bandit SET choices = choices + ? WHERE uid = ? AND state = 'open'"
        " AND choices + ? <= ? RETURNING step, choices, boundary, sums_key, settings",
        count,
        uid,
        count,
        most,
    )
    return Head(*found[0]) if found else None


def answer(run: Run, uid: str, rows: Sequence[Answered]) -> None:
    """Answers to requests that nobody else makes."""
    run(
        f"INSERT INTO choice (bandit, request, number, sealed, mark) VALUES {listed(rows, 5)}",
        *(value for row in rows for value in (uid, *row)),
    )


def first_choice(run: Run, uid: str) -> int | None:
    """The number of the oldest choice that has not been purged."""
    ((number,),) = run("SELECT min(number) FROM choice WHERE bandit = ?", uid)
    return None if number is None else int(number)


def marks(run: Run, uid: str, start: int, stop: int) -> list[tuple[bytes, int, bytes]]:
    """(request, number, mark) of choices start, ..., stop - 1."""
    found = run(
        "SELECT request, number, mark FROM choice WHERE bandit = ? AND number >= ? AND number < ?", uid, start, stop
    )
    return [(bytes(request), int(number), bytes(mark)) for request, number, mark in found]


def answers_to(run: Run, uid: str, requests: Sequence[bytes]) -> dict[bytes, bytes]:
    """The sealed answers of those requests that have one."""
    marks = ", ".join("?" * len(requests)) or "NULL"
    found = run(f"SELECT request, sealed FROM choice WHERE bandit = ? AND request IN ({marks})", uid, *requests)
    return {bytes(request): bytes(sealed) for request, sealed in found}


def answers(run: Run, uid: str, numbers: list[int]) -> list[tuple[int, bytes, bytes]]:
    """(number, request, sealed) of the choices of these numbers that are still there."""
    marks = ", ".join("?" * len(numbers)) or "NULL"
    found = run(f"SELECT number, request, sealed FROM choice WHERE bandit = ? AND number IN ({marks})", uid, *numbers)
    return [(int(number), bytes(request), bytes(sealed)) for number, request, sealed in found]


class Waiting(NamedTuple):
    """A choice that has not entered. sealed: RAW."""

    number: int
    ticket: bytes
    made_at: float
    sealed: bytes


def wait(run: Run, uid: str, rows: Sequence[Waiting]) -> None:
    if rows:
        run(
            f"INSERT INTO waiting (bandit, number, ticket, made_at, sealed) VALUES {listed(rows, 5)}",
            *(value for row in rows for value in (uid, *row)),
        )


def first_waiting(run: Run, uid: str, start: int) -> float | None:
    """When the first choice after number `start` that waits was made; None if there is none."""
    found = run("SELECT made_at FROM waiting WHERE bandit = ? AND number > ? ORDER BY number LIMIT 1", uid, start)
    return float(found[0][0]) if found else None


class Written(NamedTuple):
    """What was written of a choice. sealed: RAW."""

    number: int
    ticket: bytes
    sealed: bytes


def write(run: Run, uid: str, rows: Sequence[Written]) -> None:
    if rows:
        run(
            f"INSERT INTO written (bandit, number, ticket, sealed) VALUES {listed(rows, 4)}",
            *(value for row in rows for value in (uid, *row)),
        )


def waiting_row(run: Run, uid: str, number: int) -> bytes | None:
    """What is kept of a choice that has not entered, sealed. RAW."""
    found = run("SELECT sealed FROM waiting WHERE bandit = ? AND number = ?", uid, number)
    return bytes(found[0][0]) if found else None


def erase(run: Run, uid: str, number: int, sealed: bytes | None) -> None:
    """That choice, wherever it is. If it has not entered, that row waits in its place."""
    run("UPDATE waiting SET sealed = ? WHERE bandit = ? AND number = ?", sealed, uid, number)
    for table in ("written", "choice"):
        run(f"DELETE FROM {table} WHERE bandit = ? AND number = ?", uid, number)


def purge(run: Run, uid: str, before: int, locking: str) -> bool:
    """Removes what is left of choices below that number, some at a time; whether there may be more."""
    more = False
    for table, key in (("waiting", "number"), ("written", "number"), ("choice", "request")):
        gone = run(
            f"DELETE FROM {table} WHERE bandit = ? AND {key} IN (SELECT {key} FROM {table} WHERE bandit = ?"
            f" AND number < ? ORDER BY {key} LIMIT {MOST_AT_ONCE}{locking}) RETURNING number",
            uid,
            uid,
            before,
        )
        more = more or len(gone) >= MOST_AT_ONCE
    return more


# the step that choices enter


class OpenStep(NamedTuple):
    """settled: the number that entered last. closed_at: 0 until all of its choices have. sums: RAW, sealed."""

    step: int
    settled: int
    closed_at: float
    sums: bytes


def open_step(run: Run, uid: str, locking: str = "") -> OpenStep | None:
    """None if another is at work on it, where that is looked for."""
    found = run("SELECT step, settled, closed_at, sums FROM open_step WHERE bandit = ?" + locking, uid)
    return OpenStep(int(found[0][0]), int(found[0][1]), float(found[0][2]), bytes(found[0][3])) if found else None


def make_step(run: Run, uid: str, new: OpenStep) -> None:
    run("INSERT INTO open_step (bandit, step, settled, closed_at, sums) VALUES (?, ?, ?, ?, ?)", uid, *new)


def put_step(run: Run, uid: str, new: OpenStep) -> None:
    run("UPDATE open_step SET step = ?, settled = ?, closed_at = ?, sums = ? WHERE bandit = ?", *new, uid)


def settled(run: Run, uid: str) -> int:
    """The number that entered last."""
    ((number,),) = run("SELECT coalesce(max(settled), 0) FROM open_step WHERE bandit = ?", uid)
    return int(number)


def times(run: Run, uid: str, start: int, most: int) -> list[tuple[int, float]]:
    """(number, when it was made) of the next choices after that number which wait, in the order of their numbers."""
    found = run(
        f"SELECT number, made_at FROM waiting WHERE bandit = ? AND number > ? ORDER BY number LIMIT {most}", uid, start
    )
    return [(int(number), float(at)) for number, at in found]


def set_back(run: Run, uid: str, now: float) -> None:
    """Choices that were made later than now, by a clock that was set back since, wait from now on."""
    run("UPDATE waiting SET made_at = ? WHERE bandit = ? AND made_at > ?", now, uid, now)


def due(run: Run, uid: str, start: int, stop: int, locking: str) -> list[Waiting]:
    """Of choices start + 1, ..., stop those that wait, in the order of their numbers."""
    found = run(
        "SELECT number, ticket, made_at, sealed FROM waiting WHERE bandit = ? AND number > ? AND number <= ?"
        f" ORDER BY number{locking}",
        uid,
        start,
        stop,
    )
    return [
        Waiting(int(number), bytes(ticket), float(at), bytes(sealed or b"")) for number, ticket, at, sealed in found
    ]


def written(run: Run, uid: str, start: int, stop: int) -> list[Written]:
    """What was written of choices start + 1, ..., stop."""
    found = run(
        "SELECT number, ticket, sealed FROM written WHERE bandit = ? AND number > ? AND number <= ?", uid, start, stop
    )
    return [Written(int(number), bytes(text), bytes(sealed or b"")) for number, text, sealed in found]


def entered(run: Run, uid: str, stop: int) -> None:
    """Removes choices up to that number from those that wait, with what was written of them."""
    for table in ("waiting", "written"):
        run(f"DELETE FROM {table} WHERE bandit = ? AND number <= ?", uid, stop)


def listed(rows: Sequence[object], columns: int) -> str:
    return ", ".join([f"({', '.join('?' * columns)})"] * len(rows))


# events


def event(run: Run, uid: str, at: float, what: str) -> None:
    run("INSERT INTO event (bandit, at, what) VALUES (?, ?, ?)", uid, at, what)


def events(run: Run, uid: str) -> list[tuple[float, str]]:
    return [(float(at), str(what)) for at, what in run("SELECT at, what FROM event WHERE bandit = ? ORDER BY at", uid)]


AT_WORK = (
    "(SELECT coalesce(max(settled), 0) FROM open_step WHERE bandit = ?) < ?"
    " AND EXISTS (SELECT 1 FROM bandit WHERE uid = ? AND state = 'open' AND step >= ? AND settings = ?)"
)


class Taken(NamedTuple):
    """Numbers that were given out, of which the last is `head.choices`. head: None if there are not so many, or the
    bandit is not at work. answers: of requests that have one, sealed. agree: whether they were the same when
    numbers were given out; else these are lost."""

    head: Head | None
    answers: dict[bytes, bytes]
    agree: bool


def numbering(uid: str, requests: Sequence[bytes], most: int) -> list[Statement]:
    """For requests: numbers up to `most`."""
    marks, count = ", ".join("?" * len(requests)) or "NULL", len(requests)
    return [
        Statement(f"SELECT request, sealed FROM choice WHERE bandit = ? AND request IN ({marks})", (uid, *requests)),
        Statement(
            "WITH had AS MATERIALIZED"
            f" (SELECT count(*) AS n FROM choice WHERE bandit = ? AND request IN ({marks}))"
            " UPDATE bandit SET choices = choices + ? - had.n FROM had"
            " WHERE uid = ? AND state = 'open' AND choices + ? - had.n <= ?"
            " RETURNING step, choices, boundary, sums_key, settings, (SELECT n FROM had)",
            (uid, *requests, count, uid, count, most),
        ),
    ]


def numbered(found: Sequence[Rows]) -> Taken:
    """What these statements have returned."""
    answers = {bytes(request): bytes(sealed) for request, sealed in found[-2]}
    if not found[-1]:
        return Taken(None, answers, agree=False)
    *head, had = found[-1][0]
    return Taken(Head(*head), answers, agree=had == len(answers))


class Placed(NamedTuple):
    """The rows of a choice. RAW, sealed."""

    answered: Answered
    waiting: Waiting


def placing(uid: str, rows: Sequence[Placed], *, step: int, settings: str) -> list[Statement]:
    """Answers and what waits. step: one that the bandit has reached; settings: those that it has, or nothing happens.
    In the order of requests: nobody waits in a circle."""
    rows = sorted(rows)
    first = min(row.answered.number for row in rows)
    return [
        Statement(
            "INSERT INTO choice (bandit, request, number, sealed, mark)"
            f" SELECT ?, v.* FROM (VALUES {listed(rows, 4)}) AS v WHERE {AT_WORK} ON CONFLICT DO NOTHING"
            " RETURNING request",
            (uid, *(value for row in rows for value in row.answered), uid, first, uid, step, settings),
        ),
        Statement(
            "INSERT INTO waiting (bandit, number, ticket, made_at, sealed)"
            " SELECT choice.bandit, v.column2, v.column3, v.column4, v.column5"
            f" FROM (VALUES {listed(rows, 5)}) AS v CROSS JOIN choice"
            " WHERE choice.bandit = ? AND choice.request = v.column1 AND choice.number = v.column2",
            (*(value for row in rows for value in (row.answered.request, *row.waiting)), uid),
        ),
    ]


def placed_of(found: Sequence[Rows]) -> set[bytes]:
    """The requests that had no answer before."""
    return {bytes(request) for (request,) in found[0]}


def writing(uid: str, rows: Sequence[Written], settings: str) -> list[Statement]:
    """What is written of choices that were made and have not entered: the first stays. The same
    work whatever there was: a row that stays is written again, as it is. settings: those that the bandit has, or
    nothing happens."""
    if not rows:
        return [Statement(HEAD, (uid,))]
    marks, numbers = ", ".join("?" * len(rows)), (row.number for row in rows)
    return [
        Statement(HEAD, (uid,)),
        Statement(
            "INSERT INTO written (bandit, number, ticket, sealed)"
            f" SELECT ?, v.* FROM (VALUES {listed(rows, 3)}) AS v"
            " WHERE v.column1 > (SELECT coalesce(max(settled), 0) FROM open_step WHERE bandit = ?)"
            " AND v.column1 <= (SELECT choices FROM bandit WHERE uid = ? AND state = 'open' AND settings = ?)"
            " ON CONFLICT (bandit, number) DO UPDATE SET ticket = written.ticket",
            (uid, *(value for row in rows for value in row), uid, uid, settings),
        ),
        Statement(f"SELECT number, ticket FROM written WHERE bandit = ? AND number IN ({marks})", (uid, *numbers)),
    ]


class Stays(NamedTuple):
    """Of which numbers something is written now. own: whether all of it is of the same choices as what was to be
    written."""

    head: Head
    numbers: set[int]
    own: bool


def wrote(found: Sequence[Rows], rows: Sequence[Written]) -> Stays:
    """What these statements have returned. RolledBack as `rows.head`."""
    head, last = at_work(found[0]), found[2] if rows else []
    stays = {(int(number), bytes(ticket)) for number, ticket in last}
    return Stays(head, {number for number, _ in stays}, stays <= {(row.number, row.ticket) for row in rows})
