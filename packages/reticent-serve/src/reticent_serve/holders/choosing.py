"""What a choice does to a database: a number, an answer, and what is kept until it enters
(reticent_serve.holders.rows).

Where several workers serve, numbers are given out first, in a transaction of their own, then everything is computed and
sealed, and then the rows are sent at once: nobody computes while others wait, and a group is one trip, since numbers
for those who wait meanwhile are taken on the way (`following`). A number whose rows never come, since its worker was
killed in between, enters as nothing.

And what is written of a choice afterwards, its reward: a row of its own, which is not looked at before the choice
enters. The same work whatever there is."""

import contextlib
import functools
import math
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from reticent.core import validation
from reticent.core.curator import Asked, Curator, Drawn
from reticent.data import Array, Raw
from reticent.errors import BadState, HorizonReached, RefusedRequest, ReticentError, Unavailable
from reticent.mechanisms.entering import HASH, NOBODY, WaitingRow, sealed_reward
from reticent.model.chances import Later
from reticent_serve.holders import opening, rollback, rows
from reticent_serve.holders import seal as seals
from reticent_serve.holders.database import Rows, Run, Statement, ran
from reticent_serve.holders.opening import BanditStore
from reticent_serve.holders.requests import MILLI, WRONG, Answer, Report, StoredChoice, Ticket, another_answer
from reticent_serve.holders.rows import Answered, Head, Placed, Taken, Waiting, Written
from reticent_serve.holders.served import ServedEstimates
from reticent_serve.holders.shared_settings import SharedSettings
from reticent_serve.holders.witness import older

MANY = 1000  # epochs that are remembered


class SealedRows:
    """Of one worker. size: numbers that are kept of a choice."""

    def __init__(self, store: BanditStore, size: int) -> None:
        self._store, self._size = store, size
        self._checked, self._generation = set[int](), -1  # epochs whose keys are known to be the database's

    # keys

    def check_keys(self, run: Run, epochs: Iterable[int], *, make: bool = True) -> None:
        """Those of these epochs are the database's, until the transaction ends: what it records may not happen."""
        new = self._unchecked(epochs)
        opening.check_epochs(run, self._store.seal.keys, self._store.bandit, new, make=make)
        self._checked |= new

    def checked(self, epochs: Collection[int]) -> bool:
        """Whether all of them are known, and there."""
        keys, label = self._store.seal.keys, self._store.seal.label
        return not self._unchecked(epochs) and all(keys.find(label("epoch", epoch)) is not None for epoch in epochs)

    def forget(self) -> None:
        """What was recorded may not have happened."""
        self._checked.clear()

    def _unchecked(self, epochs: Iterable[int]) -> set[int]:
        if self._generation != self._store.database.generation or len(self._checked) > MANY:
            self._checked, self._generation = set(), self._store.database.generation
        return set(epochs) - self._checked

    def epoch(self, number: int) -> int:
        return number // self._store.bandit.epoch

    # rows

    def placed(self, asked: Asked, number: int, at: float, answer: Answer, row: Raw[Array]) -> Placed:
        """All that is kept of a choice."""
        waits = self.waits(number, answer.ticket, at, WaitingRow(row, asked.person or NOBODY))
        return Placed(self.answered(asked.hashed, asked.person, number, answer), waits)

    def refused(self, asked: Asked, number: int, at: float, answer: Answer) -> Placed:
        """Of a bad request that keeps its number."""
        waits = self.nothing(number, answer.ticket, at)
        return Placed(self.answered(asked.hashed, asked.person, number, answer), waits)

    def nothing(self, number: int, ticket: bytes, at: float) -> Waiting:
        """What enters as nothing."""
        return self.waits(number, ticket, at, self._silent)

    @property
    def _silent(self) -> WaitingRow:
        return WaitingRow(validation.nothing(self._size), teaches=False)

    def waits(self, number: int, ticket: bytes, at: float, row: WaitingRow) -> Waiting:
        seal = self._seal(number, seals.waiting_place(self._store.uid, number))
        return Waiting(number, ticket, at, row.sealed(seal))

    def answered(self, hashed: bytes, who: bytes | None, number: int, answer: Answer) -> Answered:
        """Sealed, and marked with its person, or with nobody."""
        where = seals.choice_place(self._store.uid, hashed)
        person = who or secrets.token_bytes(HASH)
        mark = self._store.seal.mark("epoch", self.epoch(number), where, person)
        assert mark is not None  # its key was made just now
        return Answered(hashed, number, self._seal(number, where)(answer.packed()), mark)

    def written(self, number: int, report: Report) -> Written:
        seal = self._seal(number, seals.written_place(self._store.uid, number))
        return Written(number, report.ticket.text, sealed_reward(report.reward, seal))

    def _seal(self, number: int, place: str) -> Callable[[bytes], bytes]:
        """What seals for that place."""
        return functools.partial(self._store.seal.seal, "epoch", self.epoch(number), place)


Result = Answer | ReticentError
Made = dict[bytes, tuple[Answer, Later | None]]  # by requests: an answer, and what computes its propensity
Following = Callable[[], Sequence[Asked]]  # those who will be asked for next, if it is known
FRESH = 1.0  # seconds for which numbers that were taken on the way are used: less than the skew of clocks
BEFORE = "Expected a request that can be answered, got one that was refused before: ask by another."
AGAIN = "Expected a choice that is committed at once, got one that took too long: ask again."


class _Numbered(NamedTuple):
    """Requests that have no answer yet, in the order of their numbers, of which the last is head.choices. found: the
    answers of others, or why there is no number for them."""

    requests: list[Asked]
    head: Head
    found: dict[bytes, Result]

    @property
    def first(self) -> int:
        return self.head.choices - len(self.requests) + 1


class _Ahead(NamedTuple):
    """What was taken on the way, for which requests, by which connection and when."""

    requests: list[bytes]
    taken: Taken
    generation: int
    at: float


class Choosing:
    """Of one worker. Called under its lock."""

    def __init__(
        self,
        curator: Curator,
        store: BanditStore,
        served: ServedEstimates,
        shared: SharedSettings,
        clock: Callable[[], float],
    ) -> None:
        self._curator, self._store, self._served, self._database = curator, store, served, store.database
        self._shared, self._clock = shared, clock
        self.rows = SealedRows(store, served.estimator.algorithm.plan.row)
        self._ahead: _Ahead | None = None

    # answers

    def choose(
        self, requests: Sequence[Asked], drawn: Sequence[Drawn], made: Made, following: Following = tuple
    ) -> list[StoredChoice | ReticentError]:
        """Each request's choice, or the answer that it has. made: gets answers with their tickets: if the end of the
        transaction is not seen, they may be there the next time. following: asked for at most once."""
        self._served.refresh()  # after an error, whether this is still the database that was served from
        firsts: dict[bytes, int] = {}
        for i, request in enumerate(requests):
            firsts.setdefault(request.hashed, i)
        unique = [requests[i] for i in firsts.values()]
        with contextlib.nullcontext() if self._database.several_hosts else self._database.transaction() as run:
            numbered = self._numbered(run, unique)
            epochs = self._store.bandit.coming(numbered.first - 1, len(numbered.requests))
            if not self.rows.checked(epochs):
                with self._within(run) as inside:
                    self.rows.check_keys(inside, epochs)
            picked = {hashed: drawn[first] for hashed, first in firsts.items()}
            self._place(run, numbered, picked, made, following)
        self._served.expected = max(self._served.expected, numbered.head.step)
        out: list[StoredChoice | ReticentError] = []
        for i, request in enumerate(requests):
            result, (answer, chance) = numbered.found[request.hashed], made.get(request.hashed, (None, None))
            if isinstance(result, Answer) and result.arm == WRONG:
                out.append(RefusedRequest(request.problem or BEFORE))
                continue
            own = answer is not None and isinstance(result, Answer) and result.ticket == answer.ticket
            known = chance if own and firsts[request.hashed] == i else None
            out.append(self._as_choice(result, known or another_answer))
        return out

    @contextlib.contextmanager
    def _within(self, run: Run | None) -> Iterator[Run]:
        """The transaction that there is, or one of its own where several workers serve."""
        if run is not None:
            yield run
            return
        with self._database.transaction() as new:
            yield new

    def _opened(self, answers: Mapping[bytes, bytes]) -> dict[bytes, Result]:
        """By their requests."""
        out: dict[bytes, Result] = {}
        for hashed, sealed in answers.items():
            opened = None
            with contextlib.suppress(BadState):
                opened = self._store.seal.open("epoch", seals.choice_place(self._store.uid, hashed), sealed)
            out[hashed] = (
                BadState("Expected a request whose answer can be read, got an expired or damaged one.")
                if opened is None
                else Answer.unpacked(opened)
            )
        return out

    def _answers(self, run: Run, requests: Sequence[Asked]) -> dict[bytes, Result]:
        """Those that requests have already."""
        return self._opened(rows.answers_to(run, self._store.uid, [one.hashed for one in requests]))

    def choice(self, answer: Answer, propensity: Callable[[], float]) -> StoredChoice:
        ticket = self._store.tickets.written(answer.ticket)
        return StoredChoice(answer.arm, answer.name, ticket, answer.version, answer.chance or propensity)

    def _as_choice(self, result: Result, propensity: Callable[[], float]) -> StoredChoice | ReticentError:
        """A choice, or the refusal that is stored in its place: it has a number, or the schedule would tell of it."""
        if isinstance(result, ReticentError):
            return result
        if result.arm == WRONG:
            return RefusedRequest(BEFORE)
        return self.choice(result, propensity)

    # numbers

    def head(self, run: Run, locking: str = "") -> Head:
        """RolledBack if steps that were released are open again: another database is behind the same connection."""
        return self._followed(rows.head(run, self._store.uid, locking))

    def _followed(self, head: Head) -> Head:
        if head.step < self._served.released:
            raise older()
        self._shared.follow(head)
        return head

    def _take(self, requests: Sequence[Asked]) -> list[Statement]:
        """Gives numbers to requests, before anything of their persons is read. It waits for no disk: their rows do."""
        asked = [request.hashed for request in requests]
        return [Statement(self._database.hurried), *rows.numbering(self._store.uid, asked, self.most)]

    def _numbered(self, run: Run | None, requests: Sequence[Asked]) -> _Numbered:
        """Numbers for requests: those that were taken ahead, or new ones."""
        ahead, self._ahead = self._ahead, None
        known = [request.hashed for request in requests], self._database.generation
        if ahead is not None and (ahead.requests, ahead.generation) == known and time.monotonic() < ahead.at + FRESH:
            taken = ahead.taken
        else:
            asked = self._take(requests)
            taken = self._taken(self._database.trip(asked)[0] if run is None else ran(run, asked))
        if taken.head is None:
            with self._within(run) as inside:
                return self._last(inside, requests)
        if not taken.agree:
            raise Unavailable(AGAIN)
        found = self._opened(taken.answers)
        return _Numbered([one for one in requests if one.hashed not in found], taken.head, found)

    def _taken(self, found: Sequence[Rows]) -> Taken:
        """Followed when it is read: what was taken ahead may be older than what is known when it is used."""
        taken = rows.numbered(found)
        if taken.head is not None:
            self._followed(taken.head)
        return taken

    def _last(self, run: Run, requests: Sequence[Asked]) -> _Numbered:
        """Numbers up to the last that there is, and errors for those that come after it."""
        head, found = self.head(run), self._answers(run, requests)
        new, left = [one for one in requests if one.hashed not in found], max(0, self.most - head.choices)
        found |= {request.hashed: self._no_room(head.choices + left) for request in new[left:]}
        if not new[:left]:
            return _Numbered([], head, found)
        taken = self._taken(ran(run, self._take(new[:left])))
        if taken.head is None or not taken.agree:  # another worker has taken them
            raise Unavailable(AGAIN)
        return _Numbered(new[:left], taken.head, found)

    def taken(self, run: Run, count: int) -> Head:
        """So many numbers, up to `choices`; HorizonReached if there are not so many left."""
        found = rows.take(run, self._store.uid, count, self.most)
        if found is None:
            raise self._no_room(self.head(run).choices)
        return self._followed(found)

    def now(self) -> float:
        """In whole milliseconds, as ids hold it."""
        return math.ceil(self._clock() * MILLI) / MILLI

    @functools.cached_property
    def most(self) -> int:
        """Choices that there may be."""
        plan = self._served.estimator.algorithm.plan
        return min(end for end in (plan.horizon, plan.mechanism.capacity, 1 << 47) if end is not None)

    def _no_room(self, choices: int) -> HorizonReached:
        why = "the horizon that the noise is calibrated for"
        if self.most != self._served.estimator.algorithm.plan.horizon:
            why = "more could overflow sums of integers"
        return HorizonReached(f"Expected at most {self.most} choices ({why}), got {choices} and 1 more.")

    # rows

    def _place(
        self, run: Run | None, numbered: _Numbered, drawn: Mapping[bytes, Drawn], answers: Made, following: Following
    ) -> None:
        """The rows of these choices, whose answers `numbered` and `answers` get. Every number has a row that waits,
        also of a request that is refused, or that another worker has answered meanwhile: else its step would close at
        another time."""
        at, made, void = self.now(), dict[bytes, Placed](), list[Waiting]()
        for number, request in enumerate(numbered.requests, numbered.first):
            hashed, ticket = request.hashed, self._store.tickets.made(number, at)
            if request.problem is not None:
                answer = Answer(ticket, drawn[hashed].version, WRONG, None)
                answers[hashed], made[hashed] = (answer, None), self.rows.refused(request, number, at, answer)
                continue
            played = self._curator.played(number, request, drawn[hashed])
            answer = Answer(ticket, drawn[hashed].version, played.place, played.name)
            if request.ahead is not None:
                answer = answer._replace(propensity=played.chance(), error=played.chance.error)
            answers[hashed] = answer, played.chance
            if self._shared.validator.retired(request.offer):
                why = "Expected actions that are offered, got one that was retired meanwhile: ask again."
                numbered.found[hashed] = BadState(why)
                void.append(self.rows.nothing(number, answer.ticket, at))
            else:
                made[hashed] = self.rows.placed(request, number, at, answer, played.row)
        if void:
            with self._within(run) as inside:
                rows.wait(inside, self._store.uid, void)
        if not made:
            return
        own = rows.placed_of(self._sent(run, list(made.values()), following))
        numbered.found.update({hashed: answers[hashed][0] for hashed in own})
        if len(own) < len(made):
            with self._within(run) as inside:
                numbered.found.update(self._others(inside, [made[hashed] for hashed in made.keys() - own]))

    def _sent(self, run: Run | None, made: Sequence[Placed], following: Following) -> list[Rows]:
        """What the statements of these rows return. Numbers for those who come next are taken on the way."""
        released, settings = self._served.released, self._shared.text
        asked = rows.placing(self._store.uid, made, step=released, settings=settings)
        if run is not None:
            return ran(run, asked)
        coming = list({request.hashed: request for request in following()}.values())
        if not coming:
            return self._database.trip(asked)[0]
        out, taken = self._database.trip(asked, self._take(coming))
        hashes = [request.hashed for request in coming]
        self._ahead = _Ahead(hashes, self._taken(taken), self._database.generation, time.monotonic())
        return out

    def _others(self, run: Run, missed: Sequence[Placed]) -> dict[bytes, Result]:
        """The answers that other workers have given meanwhile: our numbers enter as nothing. Unavailable where rows
        were not taken since their numbers have entered."""
        self.head(run)  # still at work
        found = rows.answers_to(run, self._store.uid, [one.answered.request for one in missed])
        if len(found) < len(missed):
            self.rows.forget()
            raise Unavailable(AGAIN)
        rows.wait(run, self._store.uid, sorted(self.rows.nothing(*one.waiting[:3]) for one in missed))
        return self._opened(found)

    # what is written of a choice

    def write(self, reports: Sequence[Report]) -> list[bool]:
        """One transaction: whether each came before its choice's deadline. RolledBack, from now on, if the database has
        lost one of these choices."""
        self._served.check()
        now, settings = self._clock(), self._shared.text
        ends = [one.ticket.made_at + self._shared.now.window for one in reports]
        timely = [one for one, end in zip(reports, ends, strict=True) if now <= end]
        # two choices of one number: the database has lost the first
        twice = len({one.ticket[:2] for one in timely}) > len({one.ticket.number for one in timely})
        firsts = {one.ticket.number: one for one in reversed(self._open(timely))}
        written = sorted(self.rows.written(one.ticket.number, one) for one in firsts.values())
        asked = rows.writing(self._store.uid, written, settings)
        found = self._database.trip([*asked, *map(Statement, self._database.touching)])[0]
        stays = rows.wrote(found, written)
        head = self._followed(stays.head)
        if self._shared.text != settings:  # nothing was written: others have changed the settings
            return self.write(reports)
        came = [now <= end and one.ticket.number in stays.numbers for one, end in zip(reports, ends, strict=True)]
        late = [one.ticket for one, in_time in zip(reports, came, strict=True) if not in_time and one.ticket.number > 0]
        if twice or not stays.own or late:
            self._check_lost(head, reports, late, sure=twice or not stays.own)
        return came

    def _open(self, timely: list[Report]) -> list[Report]:
        """Those whose keys there are. Keys are destroyed when all of their choices have entered."""
        if self.rows.checked({self.rows.epoch(one.ticket.number) for one in timely}):
            return timely
        with self._database.transaction() as run:
            entered = rows.settled(run, self._store.uid)
            timely = [one for one in timely if one.ticket.number > entered]
            self.rows.check_keys(run, {self.rows.epoch(one.ticket.number) for one in timely}, make=False)
        return timely

    def _check_lost(self, head: Head, reports: Sequence[Report], late: Sequence[Ticket], *, sure: bool) -> None:
        """RolledBack if the database has lost one of these choices. sure: it has given its number to another."""
        with self._database.transaction() as run:
            lost = sure or rollback.lost(run, self._store, head, [one.ticket for one in reports], late)
            if lost:
                rollback.declare(run, self._store, self._clock())
        if lost:
            with self._database.transaction() as run:
                self.head(run)  # raises, as for everybody else
            raise older()
