"""How an era begins: each party draws its half of the key that reports are verified with, and commits to it; both check
the task and sign it, once; then they tell each other their halves, and each makes its store.

On disk: FILE.counter.half, until the store has it, and FILE.counter.task, the task with its signatures. A store that
was deleted cannot be made again for the same task, since its half is gone with it."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reticent.errors import BadBillboard, BadState
from reticent.privacy import randomness
from reticent.privacy.budget import Budget
from reticent_two.aggregators.aggregator import Aggregator
from reticent_two.aggregators.keys import DAY
from reticent_two.roles import identity, signed
from reticent_two.roles.identity import SIGNATURE, Identities
from reticent_two.roles.task import HELPER, LEADER, Task, committed

HALF = 32  # bytes
ONE_TASK = "Expected the task that this aggregator has signed, got another: a new era needs a new database and counter."


class Agreement:
    """Of one party. signer: its private identity. identities: both public ones. limit: the most that the claim may be
    which this party's noise is made for."""

    def __init__(
        self,
        party: int,
        signer: bytes,
        identities: Identities,
        limit: Budget,
        *,
        database: Path,
        counter: Path,
        lifetime: int = DAY,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if identity.public(signer) != identities[party] or len(set(identities)) != 2:
            raise ValueError("Expected this aggregator's own identity and another one for its peer, got others.")
        self.party, self._signer, self.identities, self._limit = party, signer, identities, limit
        self._database, self._counter, self._lifetime, self._clock = database, counter, lifetime, clock
        self._half_file = counter.with_name(counter.name + ".half")
        self._task_file = counter.with_name(counter.name + ".task")

    def commitment(self) -> str:
        """To the half of a store that is not made yet."""
        return committed(self._half())

    def _half(self) -> bytes:
        if not self._half_file.exists():
            if self._database.exists():
                raise BadState(f"Expected no {self._database.name} before an era begins, got one.")
            _write(self._half_file, randomness.octets(HALF))
        return self._half_file.read_bytes()

    # the task

    def found(self) -> tuple[Task, bytes] | None:
        """The task that was signed here, and its signatures: this party's alone until the other's has come."""
        if not self._task_file.exists():
            return None
        text, _, signatures = self._task_file.read_bytes().partition(b"\n")
        return signed.task(text), bytes.fromhex(signatures.decode("ascii"))

    def sign(self, task: Task) -> bytes:
        """This party's signature: for one task, ever, whose claim is within the limit, and whose numbers follow from
        it. BadBillboard, NotSecure; BadState for a second one."""
        found = self.found()
        if found is not None and found[0].text != task.text:
            raise BadState(ONE_TASK)
        task.check()
        if task.known != self.identities:
            raise BadBillboard("Expected a task for the identities of both aggregators, got others.")
        claim = task.operator if self.party == HELPER else task.helper
        if claim.epsilon > self._limit.epsilon or claim.delta > self._limit.delta:
            raise BadBillboard(
                f"Expected a claim of at most epsilon {self._limit.epsilon:g} and delta {self._limit.delta:g}, got "
                f"{claim.epsilon:g} and {claim.delta:g}."
            )
        if found is None:
            if task.commitments[self.party] != self.commitment():
                raise BadBillboard("Expected a task that is committed to this aggregator's half, got another.")
            self._keep(task, b"")
        return identity.signed(self._signer, identity.TASK, task.text)

    def _keep(self, task: Task, signatures: bytes) -> None:
        _write(self._task_file, task.text + b"\n" + signatures.hex().encode())

    # the leader proposes, and the helper answers

    def proposal(self, task: Task) -> bytes:
        """The leader's signature, its half and the task."""
        return self.sign(task) + self._half() + task.text

    def answer(self, proposal: bytes, store: Aggregator | None) -> tuple[bytes, Aggregator]:
        """The helper's signature and half, and its store, which is made if there is none yet: the same however often
        it is asked."""
        theirs, half, text = proposal[:SIGNATURE], proposal[SIGNATURE : SIGNATURE + HALF], proposal[SIGNATURE + HALF :]
        identity.check(self.identities[LEADER], identity.TASK, text, theirs)
        task = signed.task(text)
        signature = self.sign(task)
        _check_half(half, task, LEADER)
        if store is None:
            store = self._begin(task, theirs + signature, (half, self._half()))
        return signature + store.halves[HELPER], store

    def concluded(self, task: Task, answer: bytes) -> Aggregator:
        """The leader's store, once the helper has answered."""
        theirs, half = answer[:SIGNATURE], answer[SIGNATURE:]
        identity.check(self.identities[HELPER], identity.TASK, task.text, theirs)
        _check_half(half, task, HELPER)
        return self._begin(task, self.sign(task) + theirs, (self._half(), half))

    def _begin(self, task: Task, signatures: bytes, halves: tuple[bytes, bytes]) -> Aggregator:
        self._keep(task, signatures)
        made = self._open(task, halves)
        self._half_file.unlink(missing_ok=True)
        return made

    def again(self) -> Aggregator | None:
        """The store of an era that has begun, after a restart; None before."""
        found = self.found()
        return None if found is None or self._half_file.exists() else self._open(found[0])

    def _open(self, task: Task, halves: tuple[bytes, bytes] | None = None) -> Aggregator:
        given: Any = {"signer": self._signer, "lifetime": self._lifetime, "clock": self._clock}
        return Aggregator(task, self.party, self._database, self._counter, halves, **given)


def _check_half(half: bytes, task: Task, party: int) -> None:
    if len(half) != HALF or committed(half) != task.commitments[party]:
        raise BadBillboard("Expected the half of the key that the task is committed to, got another.")


def _write(path: Path, content: bytes) -> None:
    """On disk when this returns; only its owner may read it."""
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
