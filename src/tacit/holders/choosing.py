"""What a choice does to a database: a number, an answer, and what is kept until it enters. One transaction for a group;
where several workers serve, numbers are given out in a short one before it, so that nobody computes while others wait.
A number whose rows never come, since its worker was killed in between, enters as nothing.

And what is written of a choice afterwards, a reward or that it was shown: a row of its own, which is not looked at
before the choice enters. The same work whatever there is."""

import contextlib
import functools
import math
import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

from numpy.random import Generator

from tacit.core import door
from tacit.core.persons import beyond
from tacit.errors import BadState, HorizonReached, TacitError, Unavailable
from tacit.holders import incarnation, rollback, rows
from tacit.holders.database import Run
from tacit.holders.incarnation import Vault
from tacit.holders.limits import RoundLimits
from tacit.holders.requests import REFUSED, Answer, Report, Request, StoredChoice, Ticket
from tacit.holders.rows import Answered, Head, Waiting, Written
from tacit.holders.terms import Agreed
from tacit.holders.tickets import MILLI
from tacit.holders.versions import Versions
from tacit.holders.witness import older
from tacit.mechanisms import waiting
from tacit.mechanisms.entering import HASH, NOBODY
from tacit.mechanisms.waiting import WaitingRow
from tacit.model.chances import Later

Drawn = tuple[Answer, Callable[[], float]]  # an answer, and what computes its propensity
Result = Answer | TacitError
MANY = 1000  # epochs that are remembered
AGAIN = "Expected a choice that is committed at once, got one that took too long: ask again."


class Choosing:
    """Of one worker. Called under its lock."""

    def __init__(
        self,
        policy: Generator,
        vault: Vault,
        versions: Versions,
        agreed: Agreed,
        people: RoundLimits,
        clock: Callable[[], float],
    ) -> None:
        self._policy, self._vault, self._versions, self._database = policy, vault, versions, vault.database
        self._agreed, self._people, self._clock = agreed, people, clock
        self._checked, self._generation = set[int](), -1  # epochs whose keys are known to be the database's

    # answers

    def draw(self, request: Request, *, ahead: bool = False) -> Drawn:
        """An answer at the present version, if it was not drawn before; with its propensity where the algorithm weighs
        by it, unless that is done afterwards (`ahead`)."""
        if request.ahead is not None:
            return request.ahead, _another_answer
        fold, arms = self._versions.fold, request.offer.arms
        picked = int(fold.algorithm.pick(fold.estimate, arms[None], self._policy)[0])
        place = request.offer.place(picked)
        answer = Answer(b"", fold.step, place, request.offer.name(place))
        propensity = Later(functools.partial(fold.algorithm.chance, fold.estimate, arms, picked))
        return answer.drawn(propensity) if fold.algorithm.plan.weighs and not ahead else answer, propensity

    def choose(self, requests: Sequence[Request], drawn: list[Drawn]) -> list[StoredChoice | TacitError]:
        """Each request's choice, or the answer that it has. `drawn` gets the tickets: if the end of the transaction is
        not seen, they may be there the next time."""
        self._versions.refresh()  # after an error, whether this is still the database that was served from
        firsts: dict[bytes, int] = {}
        for i, request in enumerate(requests):
            firsts.setdefault(request.hashed, i)
        with self._database.transaction() as run:
            found = self._answers(run, requests)
            new = {hashed: i for hashed, i in firsts.items() if hashed not in found}
            head, errors = self._numbered(run, [requests[i] for i in new.values()])
            taken = [i for hashed, i in new.items() if hashed not in errors]
            if not self._database.several_hosts:
                self.head(run)  # still the incarnation at work
                found |= self._placed(run, head, requests, drawn, taken)
        if self._database.several_hosts:
            with self._database.transaction() as run:
                self.head(run)  # still the incarnation at work
                found |= self._placed(run, head, requests, drawn, taken)
        self._versions.expected = max(self._versions.expected, head.step)
        found |= errors
        out: list[StoredChoice | TacitError] = []
        for i, (request, (answer, propensity)) in enumerate(zip(requests, drawn, strict=True)):
            result = found[request.hashed]
            own = isinstance(result, Answer) and result.ticket == answer.ticket and firsts[request.hashed] == i
            out.append(self._as_choice(result, propensity if own else _another_answer))
        return out

    def _answers(self, run: Run, requests: Sequence[Request]) -> dict[bytes, Result]:
        """Those that requests have already."""
        out: dict[bytes, Result] = {}
        for hashed, sealed in rows.answers_to(run, self._vault.uid, [one.hashed for one in requests]).items():
            opened = None
            with contextlib.suppress(BadState):
                opened = self._vault.seal.open("epoch", incarnation.choice_place(self._vault.uid, hashed), sealed)
            out[hashed] = (
                BadState("Expected a request whose answer can be read, got an expired or damaged one.")
                if opened is None
                else Answer.unpacked(opened)
            )
        return out

    def answered_before(self, requests: Sequence[Request]) -> dict[bytes, Answer]:
        """The answers that requests already have, from a database that may be full. Nothing is written."""
        self._versions.check()
        with self._database.transaction() as run:
            self.head(run)  # still the incarnation at work
            found = self._answers(run, requests)
        return {hashed: answer for hashed, answer in found.items() if isinstance(answer, Answer)}

    def without(
        self, requests: Sequence[Request], drawn: Sequence[Drawn], before: dict[bytes, Answer]
    ) -> list[StoredChoice | TacitError]:
        """Answers that are stored nowhere, but for those that were given before; one for each request of the group.
        Their ids hold no number: the database may never come to it."""
        fresh: dict[bytes, StoredChoice | TacitError] = {}
        for request, (answer, propensity) in zip(requests, drawn, strict=True):
            if request.hashed not in before:
                unnumbered = answer._replace(ticket=self._vault.tickets.made(0, 0.0))
                fresh.setdefault(request.hashed, self.choice(unnumbered, propensity, degraded=True))
                continue
            fresh[request.hashed] = self._as_choice(before[request.hashed], _another_answer)
        return [fresh[request.hashed] for request in requests]

    def choice(self, answer: Answer, propensity: Callable[[], float], *, degraded: bool = False) -> StoredChoice:
        ticket = self._vault.tickets.written(answer.ticket)
        return StoredChoice(answer.arm, answer.name, ticket, answer.version, answer.chance or propensity, degraded)

    def _as_choice(self, result: Result, propensity: Callable[[], float]) -> StoredChoice | TacitError:
        """A choice, or the refusal that is stored in its place: it has a number, or the schedule would tell of it."""
        if isinstance(result, TacitError):
            return result
        if result.arm == REFUSED:
            return beyond(self._versions.fold.algorithm.plan.limits.most or 0)
        return self.choice(result, propensity)

    # numbers

    def head(self, run: Run, locking: str = "") -> Head:
        """RolledBack if steps that were released are open again: another database is behind the same connection."""
        return self._followed(rows.head(run, self._vault.uid, locking))

    def _followed(self, head: Head) -> Head:
        if head.step < self._versions.released:
            raise older()
        self._agreed.follow(head)
        return head

    def _numbered(self, run: Run, requests: Sequence[Request]) -> tuple[Head, dict[bytes, Result]]:
        """A number for each request, before anything of its person is read, up to `choices`; and errors for those that
        come after the last number that there is."""
        if not requests:
            return self.head(run), {}
        errors: dict[bytes, Result] = {}
        most, unnamed = self.most, [request.person is None for request in requests]
        found = rows.take(run, self._vault.uid, len(requests), sum(unnamed), most)
        if found is None:
            head = self.head(run)
            left = max(0, most - head.choices)
            errors = {request.hashed: self._no_room(head.choices + left) for request in requests[left:]}
            found = rows.take(run, self._vault.uid, left, sum(unnamed[:left]), most) if left else head
            if found is None:  # another worker has taken them
                raise Unavailable(AGAIN)
        return self._followed(found), errors

    def taken(self, run: Run, count: int, unnamed: int) -> Head:
        """So many numbers, up to `choices`; HorizonReached if there are not so many left."""
        found = rows.take(run, self._vault.uid, count, unnamed, self.most)
        if found is None:
            raise self._no_room(self.head(run).choices)
        return self._followed(found)

    def now(self) -> float:
        """In whole milliseconds, as ids hold it."""
        return math.ceil(self._clock() * MILLI) / MILLI

    @property
    def most(self) -> int:
        """Choices that there may be."""
        plan = self._versions.fold.algorithm.plan
        return min(end for end in (plan.horizon, plan.mechanism.capacity, 1 << 47) if end is not None)

    def _no_room(self, choices: int) -> HorizonReached:
        why = "the horizon that the noise is calibrated for"
        if self.most != self._versions.fold.algorithm.plan.horizon:
            why = "more could overflow sums of integers"
        return HorizonReached(f"Expected at most {self.most} choices ({why}), got {choices} and 1 more.")

    # rows

    def _placed(
        self, run: Run, head: Head, requests: Sequence[Request], drawn: list[Drawn], taken: Sequence[int]
    ) -> dict[bytes, Result]:
        """Choices for the requests of these places, with the numbers up to head.choices: their answers. Every number
        has a row that waits, also of a request that is refused, or that another worker has answered meanwhile: else its
        step would close at another time. Rows are taken in one order: nobody waits in a circle."""
        if not taken:
            return {}
        self.check_keys(run, incarnation.coming(self._vault.bandit, head.choices - len(taken), len(taken)))
        at, out, placed = self.now(), dict[bytes, Result](), list[tuple[Request, int, Answer]]()
        for number, i in enumerate(taken, head.choices - len(taken) + 1):
            answer, propensity = drawn[i]
            drawn[i] = answer._replace(ticket=self._vault.tickets.made(number, at)), propensity
            placed.append((requests[i], number, drawn[i][0]))
            if self._agreed.door.retired(requests[i].offer):
                why = "Expected actions that are offered, got one that was retired meanwhile: ask again."
                out[requests[i].hashed] = BadState(why)
        sealed = [self.answered(*one) for one in placed if one[0].hashed not in out]
        new, waiting_rows = rows.choose(run, self._vault.uid, sorted(sealed)), []
        for request, number, answer in sorted(placed, key=lambda one: one[0].person or b""):
            row = self._nothing
            if request.hashed in new:
                out[request.hashed], row = given, row = self._row_of(run, head, request, answer)
                if given is not answer:
                    rows.refuse(run, self._vault.uid, request.hashed, self.answered(request, number, given).sealed)
            waiting_rows.append(self.waits(number, answer.ticket, at, row))
        rows.wait(run, self._vault.uid, sorted(waiting_rows))
        out |= self._answers(run, [request for request, *_ in placed if request.hashed not in out])  # of other workers
        if rows.settled(run, self._vault.uid) > head.choices - len(taken):
            self._checked.clear()
            raise Unavailable(AGAIN)  # these numbers have entered as nothing
        return out

    @property
    def _nothing(self) -> WaitingRow:
        return WaitingRow(door.nothing(self._versions.fold.algorithm.plan.row), teaches=False)

    def _row_of(self, run: Run, head: Head, request: Request, answer: Answer) -> tuple[Answer, WaitingRow]:
        """The answer, or a refusal, and what is kept until it enters."""
        fold, terms = self._versions.fold, self._agreed.now
        self._people.move(run, head.step, request)
        if self._people.refuses(run, request, terms.on_limit):
            return answer._replace(arm=REFUSED, name=None), self._nothing
        if not self._people.teaches(request):
            return answer, self._nothing
        chance = answer.chance or _another_answer
        arm = answer.arm
        numbers = fold.algorithm.row(request.offer.features, arm, arm, answer.name, self._agreed.door.names, chance)
        return answer, WaitingRow(numbers, self._people.at_entry(request, terms.on_limit) or NOBODY, request.deferred)

    def waits(self, number: int, ticket: bytes, at: float, row: WaitingRow) -> Waiting:
        seal = self._seal(number, incarnation.waiting_place(self._vault.uid, number))
        return Waiting(number, ticket, at, row.sealed(seal))

    def check_keys(self, run: Run, epochs: Iterable[int], *, make: bool = True) -> None:
        """Those of these epochs are the database's, until the transaction ends: what it records may not happen."""
        if self._generation != self._database.generation or len(self._checked) > MANY:
            self._checked, self._generation = set(), self._database.generation
        new = set(epochs) - self._checked
        incarnation.check_epochs(run, self._vault.seal.keys, self._vault.bandit, new, make=make)
        self._checked |= new

    def answered(self, request: Request, number: int, answer: Answer) -> Answered:
        """Sealed, and marked with its person, or with nobody."""
        epoch, where = number // self._vault.bandit.epoch, incarnation.choice_place(self._vault.uid, request.hashed)
        mark = self._vault.seal.mark("epoch", epoch, where, request.person or secrets.token_bytes(HASH))
        assert mark is not None  # its key was made just now
        return Answered(request.hashed, number, self._seal(number, where)(answer.packed()), mark)

    def _seal(self, number: int, place: str) -> Callable[[bytes], bytes]:
        """What seals for that place."""
        return functools.partial(self._vault.seal.seal, "epoch", number // self._vault.bandit.epoch, place)

    # what is written of a choice

    def write(self, reports: Sequence[Report]) -> list[bool]:
        """One transaction: whether each came before its choice's deadline. RolledBack, from now on, if the database has
        lost one of these choices."""
        uid = self._vault.uid
        self._versions.check()
        with self._database.transaction() as run:
            head, entered, now = self.head(run), rows.settled(run, uid), self._clock()
            out, counts, late = list[bool](), list[tuple[int, Report]](), list[Ticket]()
            for report in reports:
                number, made_at = self._number_of(run, report)
                in_time = made_at is not None and now <= made_at + self._agreed.now.hold
                if in_time and entered < number <= head.choices:
                    counts.append((number, report))
                    out.append(True)
                else:
                    late.append(report.ticket)
                    out.append(number == 0)
            if not rollback.lost(run, self._vault, head, [report.ticket for report in reports], late):
                self.check_keys(run, {number // self._vault.bandit.epoch for number, _ in counts}, make=False)
                if rows.write(run, uid, sorted(self.written(*one) for one in counts)):
                    return out
            rollback.declare(run, self._vault, now)
        with self._database.transaction() as run:
            self.head(run)  # raises, as for everybody else
        raise older()

    def _number_of(self, run: Run, report: Report) -> tuple[int, float | None]:
        """The number of a choice, and when it was made, if it has not entered. 0: it is stored nowhere; -1: of 0.6.0,
        and it was over when the database was migrated."""
        number, made_at = report.ticket.number, report.ticket.made_at
        if number is None:
            number = rows.old_number(run, self._vault.uid, report.ticket.text) or -1
        if number and made_at is None:
            made_at = rows.made_at(run, self._vault.uid, number)
        return number, made_at

    def written(self, number: int, report: Report) -> Written:
        seal = self._seal(number, incarnation.written_place(self._vault.uid, number, report.kind))
        return Written(number, report.kind, report.ticket.text, waiting.sealed_reward(report.reward, seal))


def _another_answer() -> NoReturn:
    raise BadState("Expected the propensity to be asked for with the first answer to a request, got a repeated one.")
