"""The statements of a group of choices: two transactions, each of which is sent at once (`Database.trip`), so that
nobody computes, and nothing is under way, while others wait.

The first gives out numbers, to those requests that have no answer yet. The second has the rows: an answer for each
request, unless another worker was first, and what waits for each answer. It is for the database to say whether a person
is beyond the limit; what is kept in either case is sealed before. Rows that come when their numbers have entered as
nothing, for a bandit that is not at work, or by settings that were changed meanwhile are not taken."""

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


def take(uid: str, requests: Sequence[tuple[bytes, bool]], most: int) -> list[Statement]:
    """For requests, each with whether it names nobody: numbers up to `most`."""
    hashes, marks = [request for request, _ in requests], ", ".join("?" * len(requests))
    count, unnamed = len(requests), sum(nobody for _, nobody in requests)
    return [
        Statement(
            f"SELECT request, sealed FROM choice WHERE bandit = ? AND request IN ({marks or 'NULL'})", (uid, *hashes)
        ),
        Statement(
            "WITH had AS MATERIALIZED (SELECT count(*) AS n, coalesce(sum(v.column2), 0) AS nobody"
            f" FROM (VALUES {listed(requests, 2)}) AS v CROSS JOIN choice"
            " WHERE choice.bandit = ? AND choice.request = v.column1)"
            " UPDATE bandit SET choices = choices + ? - had.n, unnamed = unnamed + ? - had.nobody FROM had"
            " WHERE uid = ? AND state = 'open' AND choices + ? - had.n <= ?"
            " RETURNING step, choices, boundary, unnamed, sums_key, settings, (SELECT n FROM had)",
            (
                *(value for request, nobody in requests for value in (request, int(nobody))),
                *(uid, count, unnamed, uid, count, most),
            ),
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
    """The rows of a choice. person: whose rounds count when they choose; then there is what is kept if all of them are
    used, the answer and what waits. RAW, sealed."""

    answered: Answered
    waiting: Waiting
    person: bytes | None = None
    refusal: bytes = b""
    nothing: bytes = b""


def place(uid: str, name: str, rows: Sequence[Placed], *, step: int, settings: str, most: int) -> list[Statement]:
    """Answers and what waits, and one round more of everybody who is counted and has less than `most`. name: of the
    bandit. step: one that it has reached; settings: those that it has, or nothing happens. In the order of
    requests, and of persons: nobody waits in a circle."""
    rows = sorted(rows)
    first = min(row.answered.number for row in rows)
    out = [
        Statement(
            "INSERT INTO choice (bandit, request, number, sealed, mark)"
            f" SELECT ?, v.* FROM (VALUES {listed(rows, 4)}) AS v WHERE {AT_WORK} ON CONFLICT DO NOTHING"
            " RETURNING request",
            (uid, *(value for row in rows for value in row.answered), uid, first, uid, step, settings),
        )
    ]
    persons = sorted({row.person for row in rows if row.person is not None})
    if not persons:
        return [*out, _wait(uid, rows)]
    return [*out, _hold(name, persons), _refuse(uid, name, rows, most), *_count(uid, name, rows, most)]


def placed(found: Sequence[Rows]) -> tuple[set[bytes], set[bytes]]:
    """The requests that had no answer before, and those among them of people beyond the limit."""
    made, refused = found[0], found[2] if len(found) > 2 else []
    return {bytes(request) for (request,) in made}, {bytes(request) for (request,) in refused}


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


def _wait(uid: str, rows: Sequence[Placed]) -> Statement:
    """What waits for answers that were made here."""
    return Statement(
        "INSERT INTO waiting (bandit, number, ticket, made_at, sealed)"
        " SELECT choice.bandit, v.column2, v.column3, v.column4, v.column5"
        f" FROM (VALUES {listed(rows, 5)}) AS v CROSS JOIN choice"
        " WHERE choice.bandit = ? AND choice.request = v.column1 AND choice.number = v.column2",
        (*(value for row in rows for value in (row.answered.request, *row.waiting)), uid),
    )


def _hold(name: str, persons: Sequence[bytes]) -> Statement:
    """Nobody else counts these until the transaction ends."""
    return Statement(
        f"INSERT INTO person (name, digest, rounds) VALUES {', '.join(['(?, ?, 0)'] * len(persons))} ON CONFLICT"
        " (name, digest) DO UPDATE SET rounds = person.rounds",
        tuple(value for person in persons for value in (name, person)),
    )


def _own(rows: Sequence[Placed], *columns: str) -> str:
    """A table of the answers that were made here, each with how many of its person there are up to it (nth)."""
    more = "".join(f", v.column{i} AS {column}" for i, column in enumerate(columns, 4))
    return (
        f"WITH own AS (SELECT v.column1 AS asked, v.column2 AS number, v.column3 AS digest{more},"
        " row_number() OVER (PARTITION BY v.column3 ORDER BY v.column2) AS nth"
        f" FROM (VALUES {listed(rows, 3 + len(columns))}) AS v CROSS JOIN choice"
        " WHERE choice.bandit = ? AND choice.request = v.column1 AND choice.number = v.column2)"
    )


def _key(row: Placed) -> tuple[bytes, int, bytes]:
    """Nobody's choice has an empty digest, which no person has."""
    return row.answered.request, row.answered.number, row.person or b""


def _refuse(uid: str, name: str, rows: Sequence[Placed], most: int) -> Statement:
    return Statement(
        _own(rows, "refusal") + " UPDATE choice SET sealed = own.refusal FROM own JOIN person"
        " ON person.name = ? AND person.digest = own.digest AND person.rounds + own.nth > ?"
        " WHERE choice.bandit = ? AND choice.request = own.asked RETURNING request",
        (*(value for row in rows for value in (*_key(row), row.refusal)), uid, name, most, uid),
    )


def _count(uid: str, name: str, rows: Sequence[Placed], most: int) -> list[Statement]:
    return [
        Statement(
            _own(rows, "ticket", "made_at", "sealed", "blank")
            + " INSERT INTO waiting (bandit, number, ticket, made_at, sealed)"
            " SELECT ?, own.number, own.ticket, own.made_at,"
            " CASE WHEN person.rounds + own.nth > ? THEN own.blank ELSE own.sealed END"
            " FROM own LEFT JOIN person ON person.name = ? AND person.digest = own.digest",
            (
                *(value for row in rows for value in (*_key(row), *row.waiting[1:], row.nothing)),
                *(uid, uid, most, name),
            ),
        ),
        Statement(
            _own(rows) + " UPDATE person SET rounds = CASE WHEN person.rounds >= ? THEN person.rounds"
            " WHEN person.rounds + more.n > ? THEN ? ELSE person.rounds + more.n END"
            " FROM (SELECT digest, count(*) AS n FROM own GROUP BY digest) AS more"
            " WHERE person.name = ? AND person.digest = more.digest",
            (*(value for row in rows for value in _key(row)), uid, most, most, most, name),
        ),
    ]
