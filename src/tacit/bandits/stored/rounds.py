"""What a choice and a reward do: one transaction each, or one for a group of them."""

import contextlib
import secrets
from collections.abc import Callable, Sequence
from threading import Event
from typing import NoReturn

from tacit.bandits import learning
from tacit.bandits.joint.continual import SummedBandit
from tacit.bandits.persons import beyond
from tacit.bandits.stored import asks as packed
from tacit.bandits.stored import contexts, lost
from tacit.bandits.stored import line as lines
from tacit.bandits.stored.asks import Answer, Ask, Report, StoredChoice
from tacit.bandits.stored.line import Line
from tacit.bandits.stored.people import People
from tacit.bandits.stored.terms import Agreed
from tacit.bandits.stored.versions import Versions
from tacit.data import Array, Raw
from tacit.errors import BadState, HorizonReached, PersonLimit, TacitError, WrongKeys
from tacit.kernels.rounds import CHOICES, next_boundary
from tacit.mechanisms import leaves
from tacit.store import rows
from tacit.store.database import Run
from tacit.store.rows import Head, Waiting
from tacit.store.seal import number_of
from tacit.store.witness import older

Drawn = tuple[Answer, Callable[[], float]]  # an answer, and what computes its propensity
Part = tuple[bytes, Raw]  # whose it is, or nobody's, and what it adds to the sums


class Rounds:
    """Of one worker. Called under its lock; `wake` is set when a step was closed."""

    def __init__(
        self,
        bandit: SummedBandit,
        line: Line,
        versions: Versions,
        agreed: Agreed,
        *,
        clock: Callable[[], float],
        wake: Event,
        people: People,
    ) -> None:
        self._bandit, self._line, self._versions, self._database = bandit, line, versions, line.database
        self._agreed, self._clock, self._wake, self._people = agreed, clock, wake, people
        self._checked = -1  # the last epoch whose key is known to be the database's

    def choose(self, asks: Sequence[Ask], drawn: list[Drawn]) -> list[StoredChoice | TacitError]:
        """One transaction: each request's rows and count, or the answer that it has. `drawn` gets the tickets that hold
        their numbers: if the end of the transaction is not seen, they may be there the next time."""
        self._versions.refresh()  # after an error, whether this is still the database that was served from
        out: list[StoredChoice | TacitError] = []
        with self._database.transaction() as run:
            head = self._begin(run)
            closed = head.step
            for i, (ask, (answer, propensity)) in enumerate(zip(asks, drawn, strict=True)):
                numbered = answer._replace(ticket=self._line.tickets.made(head.choices + 1))
                head, result = self._place(run, head, ask, numbered)
                if isinstance(result, Answer):
                    first = result.ticket in (answer.ticket, numbered.ticket)
                    drawn[i] = (result if first else answer), propensity
                    out.append(self._choice(result, propensity if first else _another_answer))
                else:
                    out.append(result)
            self._end(run, head)
        self._versions.expected = max(self._versions.expected, head.step)
        if head.step > closed:
            self._wake.set()
        return out

    def known(self, asks: Sequence[Ask]) -> dict[bytes, Answer]:
        """The answers that requests already have, from a database that may be full. Nothing is written."""
        self._versions.check()
        with self._database.transaction() as run:
            self._head(run)  # still the incarnation at work
            found = {ask.request: self._answer(run, ask) for ask in asks}
        return {request: answer for request, answer in found.items() if answer is not None}

    def without(
        self, asks: Sequence[Ask], drawn: Sequence[Drawn], known: dict[bytes, Answer]
    ) -> list[StoredChoice | TacitError]:
        """Answers that are stored nowhere, but for those that are known; one for each request of the group. Their ids
        hold no number: the database may never come to it."""
        fresh: dict[bytes, StoredChoice | TacitError] = {}
        for ask, (answer, propensity) in zip(asks, drawn, strict=True):
            if ask.request not in known:
                unnumbered = answer._replace(ticket=secrets.token_bytes(packed.TICKET))
                fresh.setdefault(ask.request, self._choice(unnumbered, propensity, degraded=True))
                continue
            found = self._limited(known[ask.request])
            fresh[ask.request] = self._choice(found, _another_answer) if isinstance(found, Answer) else found
        return [fresh[ask.request] for ask in asks]

    def _choice(self, answer: Answer, propensity: Callable[[], float], *, degraded: bool = False) -> StoredChoice:
        ticket = self._line.tickets.written(answer.ticket)
        return StoredChoice(answer.arm, answer.name, ticket, answer.version, answer.chance or propensity, degraded)

    def draw(self, ask: Ask, *, ahead: bool = False) -> Drawn:
        """An answer at the present version, if it was not drawn before; with its propensity where the bandit weighs by
        it, unless that is done afterwards (`ahead`)."""
        if ask.ahead is not None:
            return ask.ahead, _another_answer
        offered = ask.features if ask.available is None else ask.features[ask.available]
        picked = int(self._bandit._pick(offered[None])[0])
        chosen = picked if ask.available is None else int(ask.available[picked])
        name = ask.names[chosen] if ask.names else None
        answer = Answer(secrets.token_bytes(packed.TICKET), self._versions.shown, chosen, name)
        propensity = self._bandit._propensity(offered, picked)
        return answer.drawn(propensity) if self._bandit._weighs and not ahead else answer, propensity

    def _head(self, run: Run, locking: str = "") -> Head:
        """RolledBack if steps that were released are open again: another database is behind the same connection."""
        head = rows.head(run, self._line.uid, locking)
        if head.step < self._versions.released:
            raise older()
        self._agreed.follow(head)
        return head

    def _begin(self, run: Run) -> Head:
        """Choices can be placed from there, by nobody else until the transaction ends."""
        head = self._head(run, self._database.locking)
        self._check_keys(run, head)
        contexts.begin(run, self._line.uid, self._bandit, head.step)
        return head

    def _check_keys(self, run: Run, head: Head) -> None:
        """Those of this epoch and the next are there until the transaction ends: what it records may not happen."""
        lines.check_epochs(run, self._line.seal.keys, self._line.bandit, head.choices)
        self._checked = (head.choices + 1) // self._line.bandit.epoch + 1

    def _end(self, run: Run, head: Head) -> None:
        """They were placed up to there."""
        rows.advance(run, self._line.uid, head)
        contexts.end(run, self._line.uid, self._bandit, head.step)

    def _place(self, run: Run, head: Head, ask: Ask, answer: Answer) -> tuple[Head, Answer | TacitError]:
        """One choice: its rows and its count, or the answer that its request already has, or an error."""
        uid, number = self._line.uid, head.choices + 1
        if number // self._line.bandit.epoch > self._checked:
            self._check_keys(run, head)
        if not self._answered(run, ask, number, answer):
            found = self._answer(run, ask)
            if found is None:
                return head, BadState("Expected a request whose answer can be read, got an expired or damaged one.")
            return head, self._limited(found)
        if self._retired(ask):
            rows.unchoose(run, uid, ask.request)
            return head, BadState("Expected actions that are offered, got one that was retired meanwhile: ask again.")
        try:
            self._bandit._state.counts[CHOICES] = head.choices
            self._bandit._room(1)
        except HorizonReached as error:
            rows.unchoose(run, uid, ask.request)
            return head, error
        learns = self._people.chooses(run, head.step, ask)
        if not learns and self._agreed.now.on_limit == "refuse" and not self._people.served:
            answer = answer._replace(arm=packed.REFUSED, name=None)
            rows.unchoose(run, uid, ask.request)
            self._answered(run, ask, number, answer)
        if head.choices >= head.boundary:
            head = self._close_step(run, head)
        if learns:
            row = self._bandit._counted(self._kept(ask, answer)).tobytes() + self._people.mark(ask.person)
            self._wait(run, answer.ticket, number, self._clock(), row, ask.deferred)
        return head._replace(choices=number, unnamed=head.unnamed + (ask.person is None)), self._limited(answer)

    def _retired(self, ask: Ask) -> bool:
        """Whether it offers what another worker has retired since it was checked."""
        gone = {one.name for one in self._agreed.now.actions if one.until is not None}
        if not gone or ask.names is None:
            return False
        offered = ask.names if ask.available is None else [ask.names[i] for i in ask.available]
        return not gone.isdisjoint(offered)

    def _kept(self, ask: Ask, answer: Answer) -> Array:
        """What is kept of a choice until its reward comes."""
        if ask.logged:
            return learning.kept(self._bandit, ask.features[answer.arm])
        return self._bandit._kept(ask.features, answer.arm, answer.arm, answer.name, answer.chance)

    def _answered(self, run: Run, ask: Ask, number: int, answer: Answer) -> bool:
        """Whether this is the first answer to its request; it is marked with its person, or with nobody."""
        epoch, where = number // self._line.bandit.epoch, lines.choice_place(self._line.uid, ask.request)
        mark = self._line.seal.mark("epoch", epoch, where, ask.person or secrets.token_bytes(packed.PERSON))
        assert mark is not None  # its key was made just now
        sealed = self._seal(epoch, where, answer.packed())
        return rows.choose(run, self._line.uid, ask.request, number, sealed, mark)

    def _limited(self, answer: Answer) -> Answer | PersonLimit:
        """Or the refusal that is stored in its place: it counts as a choice, or the schedule would tell of it."""
        if answer.arm != packed.REFUSED:
            return answer
        assert self._bandit.max_rounds_per_person is not None
        return beyond(self._bandit.max_rounds_per_person)

    def _wait(self, run: Run, ticket: bytes, number: int, made_at: float, x: bytes, deferred: bool) -> None:
        uid, epoch = self._line.uid, number // self._line.bandit.epoch
        if deferred:
            sealed = self._seal(epoch, f"{uid} deferred {ticket.hex()}", packed.deferred(x, None))
            rows.defer(run, uid, ticket, Waiting(number, made_at, sealed))
        else:
            rows.wait(run, uid, ticket, number, made_at, self._seal(epoch, f"{uid} waiting {ticket.hex()}", x))

    def _answer(self, run: Run, ask: Ask) -> Answer | None:
        """The answer that a request has; None if it has none, or one that has expired or is damaged."""
        sealed = rows.answer(run, self._line.uid, ask.request)
        where, opened = lines.choice_place(self._line.uid, ask.request), None
        with contextlib.suppress(BadState):
            opened = None if sealed is None else self._line.seal.open("epoch", where, sealed)
        return None if opened is None else Answer.unpacked(opened)

    def _close_step(self, run: Run, head: Head) -> Head:
        uid = self._line.uid
        contexts.end(run, uid, self._bandit, head.step)
        rows.close_step(run, uid, head.step, self._clock())
        new = head._replace(step=head.step + 1, boundary=int(next_boundary(head.choices, *self._bandit._schedule)))
        size, shards = self._bandit.mechanism.size, self._database.shards
        rows.open_step(run, uid, new.step, lines.zeros(self._line.seal, uid, head.sums_key, new.step, size, shards))
        contexts.begin(run, uid, self._bandit, new.step)
        return new

    def observe(self, reports: Sequence[Report]) -> list[TacitError | None]:
        """One transaction, in the order of tickets: two who report the same in another order would wait for each
        other. An error in place of None concerns that one alone: its row stays as it is."""
        return self._write([report.ticket for report in reports], lambda run, head: self._observe(run, head, reports))

    def _write(
        self, tickets: Sequence[bytes], work: Callable[[Run, Head], list[TacitError | None]]
    ) -> list[TacitError | None]:
        """What is sent for these choices; RolledBack, from now on, if the database has lost one of them."""
        self._versions.refresh()
        with self._database.transaction() as run:
            head = self._head(run)
            if not lost.dispute(run, self._line, head, tickets, self._clock()):
                return work(run, head)
        with self._database.transaction() as run:
            self._head(run)  # raises, as for everybody else
        raise older()

    def _observe(self, run: Run, head: Head, reports: Sequence[Report]) -> list[TacitError | None]:
        expired = head.choices - self._agreed.now.pending
        parts, out = [], list[TacitError | None]([None] * len(reports))
        for i in sorted(range(len(reports)), key=lambda i: reports[i].ticket):
            try:
                part = self._answer_of(run, reports[i], expired)
            except BadState as error:
                out[i] = error
                continue
            parts += [] if part is None else [part]
        self._add(run, parts)
        return out

    def _answer_of(self, run: Run, report: Report, expired: int) -> Part | None:
        """What a reward adds to the sums, if it counts; BadState, and its row stays, if that cannot be read."""
        uid, ticket = self._line.uid, report.ticket
        found = rows.take(run, uid, ticket) or self._hold(run, report, expired)
        if found is None or report.reward is None or found.number <= expired:
            return None
        try:
            return self._part(self._opened(f"{uid} waiting {ticket.hex()}", found.sealed), report.reward)
        except BadState:
            rows.wait(run, uid, ticket, *found)
            raise

    def _hold(self, run: Run, report: Report, expired: int) -> Waiting | None:
        """The first reward of a choice that is not known to be shown stays with it; None instead of one cancels it. The
        waiting row of one that became known meanwhile."""
        uid, where = self._line.uid, f"{self._line.uid} deferred {report.ticket.hex()}"
        found = rows.deferred(run, uid, report.ticket, self._database.locking)
        if found is None:
            return rows.take(run, uid, report.ticket)
        if found.number <= expired:
            return None
        x, reward = packed.undeferred(self._opened(where, found.sealed))
        if report.reward is None and reward is None:
            rows.undefer(run, uid, report.ticket)
        else:
            held = packed.deferred(x, report.reward if reward is None else reward)
            rows.put_deferred(run, uid, report.ticket, self._seal(number_of(found.sealed), where, held))
        return None

    def activate(self, tickets: Sequence[bytes]) -> list[TacitError | None]:
        """One transaction: these choices were shown. A reward that came before counts now; else it is waited for. An
        error in place of None concerns that one alone: its row stays as it is."""
        return self._write(tickets, lambda run, head: self._activate(run, head, tickets))

    def _activate(self, run: Run, head: Head, tickets: Sequence[bytes]) -> list[TacitError | None]:
        expired = head.choices - self._agreed.now.pending
        parts, wrong = [], dict[bytes, TacitError]()
        for ticket in sorted(set(tickets)):
            try:
                part = self._shown(run, ticket, expired)
            except BadState as error:
                wrong[ticket] = error
                continue
            parts += [] if part is None else [part]
        self._add(run, parts)
        return [wrong.get(ticket) for ticket in tickets]

    def _shown(self, run: Run, ticket: bytes, expired: int) -> Part | None:
        """What a choice that was deferred adds to the sums, if its reward came before; BadState as `_answer_of`."""
        uid = self._line.uid
        found = rows.undefer(run, uid, ticket)
        if found is None or found.number <= expired:
            return None
        try:
            x, reward = packed.undeferred(self._opened(f"{uid} deferred {ticket.hex()}", found.sealed))
            if reward is not None:
                return self._part(x, reward)
        except BadState:
            rows.defer(run, uid, ticket, found)
            raise
        self._wait(run, ticket, found.number, found.made_at, x, False)
        return None

    def _part(self, row: bytes, reward: float) -> Part:
        """Whose it is, where answers are counted, and what it adds in whole cells, at the version that is served."""
        kept, person = self._people.split(row)
        x = packed.features_of(kept, self._bandit._keeps)
        opened = self._bandit._state.prefix.open
        opened[:] = 0
        self._bandit._learn(x, reward)
        out = Raw(opened.copy())
        opened[:] = 0
        return person, out

    def _add(self, run: Run, parts: Sequence[Part]) -> None:
        """To the step that is open when this transaction ends: until then its shard is ours, and who closes it waits.
        Done for nothing as well: a reward that does not count is the same work."""
        uid, shard, tried = self._line.uid, secrets.randbelow(self._database.shards), -1
        while True:
            head = rows.head(run, uid)
            sealed = rows.open_sum(run, uid, head.step, shard, self._database.locking)
            if sealed is not None:
                break
            if head.step == tried:
                raise BadState("Expected the sums of the open step, got a database without them: recover.")
            tried = head.step  # it was closed meanwhile
        where = lines.place(uid, head.step, shard)
        opened = self._line.seal.open("sums", where, sealed)
        if opened is None:
            raise BadState("Expected the key that sums are sealed with, got a folder without it: recover.")
        total = leaves.exact(opened, self._bandit.mechanism.size)
        for person, part in sorted(
            parts, key=lambda one: one[0]
        ):  # in an order: two who report would wait for each other
            if self._people.answers(run, person, head.step):
                total += part
        new = self._line.seal.seal("sums", number_of(sealed), where, total.tobytes())  # keys may have been rotated
        rows.put_sum(run, uid, head.step, shard, new)

    def _opened(self, place: str, sealed: bytes) -> bytes:
        """Of a row that has not expired: its key is there, or somewhere else."""
        opened = self._line.seal.open("epoch", place, sealed)
        if opened is None:
            raise WrongKeys("Expected the key of a row that has not expired, got a folder of keys without it.")
        return opened

    def _seal(self, epoch: int, place: str, text: bytes) -> bytes:
        return self._line.seal.seal("epoch", epoch, place, text)


def _another_answer() -> NoReturn:
    raise BadState("Expected the propensity to be asked for with the first answer to a request, got a repeated one.")
