"""The statements of a group of choices: two transactions, each of which is sent at once (`Database.trip`), so that
nobody computes, and nothing is under way, while others wait.

The first gives out numbers, to those requests that have no answer yet. The second has the rows: an answer for each
request, unless another worker was first, and what waits for each answer. Rows that come when their numbers have entered
as nothing, for a bandit that is not at work, or by settings that were changed meanwhile are not taken."""

from collections.abc import Sequence
from typing import NamedTuple

from tacit.holders import rows as tables
from tacit.holders.database import Rows, Statement
from tacit.holders.rows import Answered, Head, Waiting, Written, listed

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


def take(uid: str, requests: Sequence[bytes], most: int) -> list[Statement]:
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


def taken(found: Sequence[Rows]) -> Taken:
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


def place(uid: str, rows: Sequence[Placed], *, step: int, settings: str) -> list[Statement]:
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


def placed(found: Sequence[Rows]) -> set[bytes]:
    """The requests that had no answer before."""
    return {bytes(request) for (request,) in found[0]}


def write(uid: str, rows: Sequence[Written], settings: str) -> list[Statement]:
    """What is written of choices that were made and have not entered: the first stays. The same
    work whatever there was: a row that stays is written again, as it is. settings: those that the bandit has, or
    nothing happens."""
    if not rows:
        return [Statement(tables.HEAD, (uid,))]
    marks, numbers = ", ".join("?" * len(rows)), (row.number for row in rows)
    return [
        Statement(tables.HEAD, (uid,)),
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


def written(found: Sequence[Rows], rows: Sequence[Written]) -> Stays:
    """What these statements have returned. RolledBack as `rows.head`."""
    head, last = tables.at_work(found[0]), found[2] if rows else []
    stays = {(int(number), bytes(ticket)) for number, ticket in last}
    return Stays(head, {number for number, _ in stays}, stays <= {(row.number, row.ticket) for row in rows})
