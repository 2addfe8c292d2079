"""A log learnt on a database: some rows in each transaction, and with them a bookmark, so that after a crash no row is
lost and none is learnt twice.

A row is a choice that was made elsewhere and its reward: it goes the way of both (`Rounds`), in the step that is open.
That a log was begun is also on record in the folder of keys, which no restore of the database takes back: what was
learnt before a recovery is not learnt again."""

import functools
import hashlib
import itertools
import secrets
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tacit.bandits import folders, learning
from tacit.bandits.stored import asks as packed
from tacit.bandits.stored.asks import Answer, Ask, Report
from tacit.bandits.stored.rounds import Rounds
from tacit.bandits.stored.tending import PATIENCE
from tacit.errors import BadState, HorizonReached, TacitError
from tacit.store import bookmarks
from tacit.store.witness import older

if TYPE_CHECKING:
    from tacit.bandits.stored.face import Stored

AT_ONCE = 256  # rows in a transaction, at most: others wait for it


class Row(NamedTuple):
    """RAW. A request, and its reward: None if it never came, or if something is wrong with the row. Where that is not
    the reward alone it has no features. A bad row is the same work and leaves the same rows."""

    ask: Ask
    reward: float | None
    problem: str | None
    unnamed: bool


def learn_log(stored: "Stored", table: Any, log: str, actions: Any) -> dict[int, str]:
    """Row -> reason for those that were refused by this call."""
    if not isinstance(log, str) or not log:
        raise ValueError("Expected log to be a name, got none.")
    count, rows_from = folders.source(stored._bandit, table, actions)
    name = hashlib.blake2b(
        b"log" + log.encode("utf-8", "surrogatepass"), key=stored._line.persons, digest_size=16
    ).hexdigest()
    learnt = stored._outage.again(functools.partial(_begin, stored, name))
    if learnt > count:
        raise ValueError(f"Expected at least the {learnt} rows that were learnt under this name, got fewer.")
    with stored._lock:
        stored._outage.again(stored._count)
        stored._bandit._room(count - learnt)
    refused: dict[int, str] = {}
    coming, waiting = _rows(stored, rows_from(learnt)), list[Row]()
    while waiting := waiting + list(itertools.islice(coming, AT_ONCE - len(waiting))):
        with stored._lock:
            stored._own()
            work = functools.partial(_learn, stored._rounds, name, learnt, waiting)
            now, problems = stored._outage.again(work)
        if now == learnt:
            _next_step(stored)
        if now > learnt + len(waiting):  # another worker is ahead
            coming = _rows(stored, rows_from(now))
        waiting, learnt = waiting[now - learnt :], now
        refused |= problems
    return refused


def _begin(stored: "Stored", name: str) -> int:
    """How many of its rows are learnt."""
    line, database = stored._line, stored._database
    label = f"{line.bandit.name}.log.{name}"
    with database.transaction() as run:
        stored._rounds._head(run, database.locking)
        found = bookmarks.learnt(run, line.uid, name)
        if found is None:
            if line.seal.keys.find(label) is not None:
                raise BadState(
                    "Expected a log that is new to this bandit, got one that was begun before a recovery: nobody knows "
                    "which of its rows were released. Give rows that are certainly new, under another name."
                )
            bookmarks.begin(run, line.uid, name)
    line.seal.keys.make(label)
    return found or 0


def _rows(stored: "Stored", found: Iterator[learning.Row]) -> Iterator[Row]:
    for x, reward, person in found:
        silent = learning.is_silent(reward)
        problem = learning.ROW if x is None else None if silent else stored._bandit._problem(reward)
        who: tuple[bytes | None, tuple[bytes, ...]] = None, ()
        try:
            who = stored._people.known(person)
        except ValueError as error:
            x, problem = None, problem or str(error)
        features = np.zeros(stored._bandit._width) if x is None else x
        ask = Ask(secrets.token_bytes(packed.PERSON), features[None], None, None, *who, logged=True)
        yield Row(ask, None if silent or problem else float(reward), problem, person is None)


def _learn(rounds: Rounds, name: str, learnt: int, coming: list[Row]) -> tuple[int, dict[int, str]]:
    """One transaction: as many of the coming rows as the open step takes. How many rows of the log are learnt now, and
    which of these were refused; if they are more than was known, another has learnt them, or we have without seeing the
    end of it: then nothing happens."""
    rounds._versions.refresh()
    uid, database = rounds._line.uid, rounds._database
    refused: dict[int, str] = {}
    reports: list[Report] = []
    with database.transaction() as run:
        head = rounds._begin(run)
        found = bookmarks.learnt(run, uid, name)
        if found is None or found < learnt:
            raise older()
        if found > learnt:
            return found, {}
        now = learnt
        for row in coming[: max(0, head.boundary - head.choices)]:
            answer = Answer(secrets.token_bytes(packed.TICKET), rounds._versions.shown, 0, None)
            unnamed = head.unnamed + row.unnamed
            head, result = rounds._place(run, head, row.ask, answer)
            if isinstance(result, HorizonReached):
                raise result
            head = head._replace(unnamed=unnamed)
            problem = row.problem or (str(result) if isinstance(result, TacitError) else None)
            if problem:
                refused[now] = problem
            reports.append(Report(answer.ticket, row.reward))
            now += 1
        rounds._end(run, head)
        rounds._observe(run, head, reports)
        bookmarks.put(run, uid, name, now)
    return now, refused


def _next_step(stored: "Stored") -> None:
    """Closes the step that is full, and waits until all that is closed is released and used."""
    with stored._lock:
        step = stored._outage.again(functools.partial(_close, stored._rounds))
    while True:
        stored.tend()
        if stored._versions.shown >= step:
            return
        at = stored._versions.next_at
        time.sleep(PATIENCE if at is None else min(PATIENCE, max(0.001, at - stored._clock())))


def _close(rounds: Rounds) -> int:
    """The step that is open then."""
    with rounds._database.transaction() as run:
        head = rounds._begin(run)
        if head.choices >= head.boundary:
            head = rounds._close_step(run, head)
            rounds._end(run, head)
    rounds._versions.expected = max(rounds._versions.expected, head.step)
    return head.step
