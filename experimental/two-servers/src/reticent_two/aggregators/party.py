"""What both parties do alike: a store that is compared with its counter file before every action, and the close of a
step."""

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn, Self

from reticent.data import Words
from reticent.errors import BadBillboard, BadState, BatchTooSmall, HorizonReached, ReticentError, Retired, WrongBatch
from reticent.kernels.rounds import next_boundary
from reticent.privacy import randomness
from reticent_devices.roles.billboard import need
from reticent_serve.holders.database import InTurn, Run
from reticent_serve.holders.sqlite import SQLite
from reticent_two.aggregators import messages, rows
from reticent_two.aggregators.counter import ChainLink, CounterFile, CounterMark, SignedBoard
from reticent_two.aggregators.keys import DAY, KeyRing
from reticent_two.aggregators.messages import LeafCommitment, StepCertificate
from reticent_two.aggregators.rows import PartyState
from reticent_two.noise import Stirred
from reticent_two.roles import board as boards
from reticent_two.roles import identity, wire
from reticent_two.roles.board import NOTHING
from reticent_two.roles.sealing import PrivateKey
from reticent_two.roles.task import HELPER, LEADER, PARTIES, Task, key
from reticent_two.roles.wire import LeafShare
from reticent_two.shares import SharedSteps
from reticent_two.vdaf import xof

RETIRED = (
    "Expected a database that its counter file knows as the last one, got another: the era is retired, and nothing "
    "more is answered. Start a new one."
)
Changed = tuple[bytes, bytes]  # what has changed, for the chain, and the reply; nothing of the first: no change


class Party:
    """See Aggregator."""

    def __init__(
        self,
        task: Task,
        party: int,
        database: str | Path,
        counter: str | Path,
        halves: tuple[bytes, bytes] | None = None,
        *,
        signer: bytes,
        lifetime: int = DAY,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if party not in (LEADER, HELPER):
            raise ValueError(f"Expected party to be {LEADER} (leader) or {HELPER} (helper), got another.")
        task.check()
        if identity.public(signer) != task.known[party]:
            raise BadBillboard("Expected a task with this aggregator's identity, got another.")
        self.task, self.party, self._signer, self._clock = task, party, signer, clock
        self._signed = SignedBoard(-1, NOTHING, -1, NOTHING)
        self._lock = InTurn()
        self._sums: SharedSteps | None = None
        self._counter = CounterFile(Path(counter))
        try:
            place = Path(counter)
            show = partial(PrivateKey.shown, task=task.digest, party=party, signer=signer)
            self._keys = KeyRing(place.with_name(place.name + ".keys"), show, clock, lifetime)
            self._database = SQLite(Path(database), erase=True)
            self._begin(halves)
        except BaseException as error:
            if isinstance(error, Retired):
                self._erase()
            self.close()
            raise

    def _begin(self, halves: tuple[bytes, bytes] | None) -> None:
        mark = self._counter.read()
        with self._database.transaction() as run:
            made = rows.exist(run)
            if mark is not None and mark.task and (mark.task, mark.party) != (self.task.digest.hex(), self.party):
                raise BadState("Expected the counter file of this task and party, got another's.")
            if mark is None and not made:
                mark = self._mark(ChainLink(0, ""), retired=False)
                self._counter.write(mark)
            if mark is None or mark.retired or (not made and mark.link != ChainLink(0, "")):
                self._retire()
            if not made:
                if halves is None:
                    raise ValueError("Expected the halves of the key for a new aggregator, got none.")
                key(self.task, halves)
                rows.create(run, halves, bytes(8 * self.task.size), self._counter.place)
        with self._acting() as (_, state, _):
            self._key = key(self.task, state.halves)  # checked against the task at each start
            self.halves = state.halves

    def close(self) -> None:
        """Let go of the database and of the counter file."""
        if hasattr(self, "_database"):
            self._database.close()
        self._counter.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # what is public

    @property
    def step(self) -> int:
        """How many steps are closed."""
        with self._acting() as (_, state, _):
            return state.step

    @property
    def users(self) -> int:
        """Whose reports are in closed steps."""
        with self._acting() as (_, state, _):
            return state.users

    @property
    def missing(self) -> int:
        """Reports until the open step is full."""
        with self._acting() as (_, state, _):
            return self._missing(state)

    def _missing(self, state: PartyState) -> int:
        if state.step >= self.task.steps.leaves:
            return 0
        return next_boundary(state.users, *self.task.steps.schedule) - state.users - state.reports

    # acting

    @contextlib.contextmanager
    def _acting(self) -> Iterator[tuple[Run, PartyState, list[ChainLink]]]:
        """A transaction in which the counter file was compared with the database; Retired where they do not agree. A
        link that is put into the list is written to the counter file once the transaction is on disk: what follows from
        the change leaves after that."""
        with self._lock():
            try:
                new: list[ChainLink] = []
                with self._database.transaction() as run:
                    yield run, self._compared(run), new
                for link in new:
                    self._counter.write(self._mark(link, retired=False))
            except BaseException as error:
                self._sums = None  # read again
                if isinstance(error, Retired):
                    self._erase()
                raise

    def _act(self, work: Callable[[Run, PartyState], Changed]) -> bytes:
        """What `work` replies, after its change is on disk and in the counter file."""
        with self._acting() as (run, state, new):
            changed, reply = work(run, state)
            if changed:
                chain = messages.hashed(bytes.fromhex(state.link.chain), changed).hex()
                new.append(ChainLink(state.link.number + 1, chain))
                rows.advance(run, new[0])
        return reply

    def _compared(self, run: Run) -> PartyState:
        mark, state = self._counter.read(), rows.state(run)
        if mark is None or mark.retired or state is None or state.place != self._counter.place:
            self._retire()
        self._signed = mark.signed
        if mark.link != state.link:
            if mark.link != state.before or state.link.number != mark.link.number + 1:
                self._retire()
            self._counter.write(self._mark(state.link, retired=False))  # it was stopped in between: nothing has left
        return state

    def _mark(self, link: ChainLink, *, retired: bool) -> CounterMark:
        return CounterMark(self.task.digest.hex(), self.party, link, self._signed, retired)

    def retire(self) -> NoReturn:
        """End the era, as the other party has: Retired, now and always."""
        with self._lock():
            try:
                self._retire()
            finally:
                self._erase()

    def _retire(self) -> NoReturn:
        self._keys.destroy()
        self._counter.write(self._mark(ChainLink(-1, ""), retired=True))
        raise Retired(RETIRED)

    def _erase(self) -> None:
        """What a retired era has of people, in a transaction of its own: that which has found out is rolled back.
        Where the database cannot be written, at the next question."""
        with contextlib.suppress(ReticentError):
            with self._database.transaction() as run:
                if rows.state(run) is not None:
                    rows.erase(run)
            self._database.close()  # what was written ahead goes with it

    def _shares(self, run: Run, state: PartyState) -> SharedSteps:
        if self._sums is None or self._sums.step != state.step:
            self._sums = SharedSteps(self.task.grids[self.party])
            self._sums.restore(state.step, rows.shares(run, state.step, self.task.grids[0].window), state.open)
        return self._sums

    def _counted(self, run: Run, state: PartyState, shares: Sequence[Words]) -> PartyState:
        """The state with so many shares more in the open step."""
        if not shares:
            return state
        sums = self._shares(run, state)
        for share in shares:
            sums.add(share)
        return rows.opened(run, state._replace(reports=state.reports + len(shares), open=sums.saved()))

    # what devices get

    def key(self) -> bytes:
        """The newest sealing key, signed (reticent_two.roles.sealing)."""
        with self._acting():
            return self._keys.shown()

    def sign(self, text: bytes) -> bytes:
        """The signature of the next board, whose hash is in the counter file before it leaves: one of a version, ever,
        and one estimate of a step, which may be renewed. It has to follow the last one, and to cite what both parties
        have released. That its estimate is right is not checked: a leader that could have any number of them signed
        would read a person's features from the arms that are chosen by one after the other."""
        board, hashed = boards.read(self.task, text), boards.hashed(text)
        content = boards.content(board)
        with self._acting() as (run, state, _):
            last = self._signed
            if (board.version, hashed) != last[:2]:
                need(board.version == last.version + 1 and board.previous == last.board, "the hash of the last board")
                need(board.step > last.step or content == last.content, "one estimate of a step")
                need(board.step <= state.step and board.leaves == self._leaves(run, board.step), "what was released")
                need(board.made - self._clock() < DAY, "a time that is not ahead")  # an old one may have waited
                self._signed = SignedBoard(board.version, hashed, board.step, content)
                self._counter.write(self._mark(state.link, retired=False))
            return identity.signed(self._signer, identity.BOARD, text)

    def leaves(self, step: int) -> tuple[str, str]:
        """Hashes of what both have released of the step before that one, which this party knows."""
        with self._acting() as (run, _, _):
            return self._leaves(run, step)

    def _leaves(self, run: Run, step: int) -> tuple[str, str]:
        """Hashes of both parties' leaves of the step before that one; nothing before the first."""
        if not step:
            return NOTHING, NOTHING
        found = rows.leaf(run, step - 1)
        own, theirs = hashlib.sha256(found.leaf).hexdigest(), (found.theirs or b"").hex()
        return (own, theirs) if self.party == LEADER else (theirs, own)

    # the close of a step

    def certificate(self, step: int | None = None) -> bytes:
        """Of that step, which is closed, or open and full; BatchTooSmall while it is not. One that is asked for a later
        step was rolled back, counter file and all, or is asked by a liar: the era is retired."""
        with self._acting() as (run, state, _):
            if step is not None and step < state.step:
                return messages.encode_certificate(self.task, self._closed(run, step))
            if step is not None and step > state.step:  # the other one has closed what this one does not know of
                self._retire()
            return messages.encode_certificate(self.task, self._certificate(run, state))

    def _closed(self, run: Run, step: int) -> StepCertificate:
        nonces = rows.nonces(run, step)
        digest = hashlib.sha256(b"".join(nonces)).digest()
        return StepCertificate(step, len(nonces), digest, rows.certified(run, step - 1))

    def _certificate(self, run: Run, state: PartyState) -> StepCertificate:
        if state.step >= self.task.steps.leaves:
            raise HorizonReached(f"Expected at most {self.task.steps.leaves} steps, and they have all been released.")
        if self._missing(state):
            raise BatchTooSmall(f"Expected {self._missing(state)} more reports in the open step, got a close.")
        nonces = hashlib.sha256(b"".join(rows.nonces(run, state.step))).digest()
        return StepCertificate(state.step, state.reports, nonces, rows.certified(run, state.step - 1))

    def release(self, theirs: bytes) -> bytes:
        """Close the step that the other party's certificate is of, and commit to its leaf: by a hash, which leaves when
        all is on disk. Where the two parties have other reports, the era is retired."""
        given = messages.decode_certificate(self.task, theirs)
        return self._act(lambda run, state: self._close(run, state, given))

    def _close(self, run: Run, state: PartyState, theirs: StepCertificate) -> Changed:
        task, encoded = self.task, messages.encode_certificate(self.task, theirs)
        if theirs.step < state.step:
            if rows.certified(run, theirs.step) != messages.hashed(encoded):
                self._retire()
            return b"", self._commitment(run, theirs.step)
        if theirs != self._certificate(run, state):
            self._retire()
        sums = self._shares(run, state)
        binder = task.digest + state.step.to_bytes(4, "little") + theirs.nonces
        noise = Stirred(xof.stream(randomness.octets(xof.SEED), b"reticent noise of a step", binder))
        leaf = wire.encode_leaf(task, LeafShare(self.party, state.step, state.reports, sums.release(noise)))
        gone = state.step + 1 - task.grids[self.party].window
        rows.close(run, state, sums.saved(state.step), messages.hashed(encoded), leaf, gone)
        rows.opened(run, PartyState.next(state, bytes(8 * task.size)))
        if state.step + 1 == task.steps.leaves:
            rows.end(run)
        return messages.hashed(b"close", encoded, leaf), self._commitment(run, state.step)

    def _commitment(self, run: Run, step: int) -> bytes:
        found = rows.leaf(run, step)
        made = LeafCommitment(self.party, step, hashlib.sha256(found.leaf).digest())
        return messages.encode_commitment(self.task, made, self._signer)

    def leaf(self, theirs: bytes) -> bytes:
        """The leaf of the step that the other party's commitment is of, which is kept first: the same one however often
        it is asked for."""
        given = messages.decode_commitment(self.task, theirs, 1 - self.party)

        def work(run: Run, state: PartyState) -> Changed:
            if given.step >= state.step:
                raise WrongBatch("Expected a commitment for a step that is closed, got another.")
            found = rows.leaf(run, given.step)
            if found.theirs is None:
                rows.keep(run, given.step, given.leaf, theirs)
                return messages.hashed(b"keep", theirs), found.leaf
            if found.theirs != given.leaf:
                raise WrongBatch(f"Expected the {PARTIES[1 - self.party]}'s one commitment for a step, got a second.")
            return b"", found.leaf

        return self._act(work)
