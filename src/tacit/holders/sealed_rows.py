"""The rows of a choice, sealed for their places: its answer, what waits, and what is written of it. RAW before."""

import functools
import secrets
from collections.abc import Callable, Collection, Iterable

from tacit.core import door
from tacit.holders import opening
from tacit.holders.choice_rows import Placed
from tacit.holders.database import Run
from tacit.holders.limits import RoundLimits
from tacit.holders.opening import Vault
from tacit.holders.requests import Answer, Report, Request
from tacit.holders.rows import Answered, Waiting, Written
from tacit.holders.terms import Agreed
from tacit.holders.versions import Versions
from tacit.mechanisms import waiting
from tacit.mechanisms.entering import HASH, NOBODY
from tacit.mechanisms.waiting import WaitingRow

MANY = 1000  # epochs that are remembered


class SealedRows:
    """Of one worker."""

    def __init__(self, vault: Vault, versions: Versions, agreed: Agreed, people: RoundLimits) -> None:
        self._vault, self._versions, self._agreed, self._people = vault, versions, agreed, people
        self._checked, self._generation = set[int](), -1  # epochs whose keys are known to be the database's

    # keys

    def check_keys(self, run: Run, epochs: Iterable[int], *, make: bool = True) -> None:
        """Those of these epochs are the database's, until the transaction ends: what it records may not happen."""
        new = self._unchecked(epochs)
        opening.check_epochs(run, self._vault.seal.keys, self._vault.bandit, new, make=make)
        self._checked |= new

    def checked(self, epochs: Collection[int]) -> bool:
        """Whether all of them are known, and there."""
        keys, label = self._vault.seal.keys, self._vault.seal.label
        return not self._unchecked(epochs) and all(keys.find(label("epoch", epoch)) is not None for epoch in epochs)

    def forget(self) -> None:
        """What was recorded may not have happened."""
        self._checked.clear()

    def _unchecked(self, epochs: Iterable[int]) -> set[int]:
        if self._generation != self._vault.database.generation or len(self._checked) > MANY:
            self._checked, self._generation = set(), self._vault.database.generation
        return set(epochs) - self._checked

    def epoch(self, number: int) -> int:
        return number // self._vault.bandit.epoch

    # rows

    def placed(self, request: Request, number: int, at: float, answer: Answer) -> Placed:
        """All that is kept of a choice."""
        waits = self.waits(number, answer.ticket, at, self._row(request, answer))
        return Placed(self.answered(request, number, answer), waits)

    def refused(self, request: Request, number: int, at: float, answer: Answer) -> Placed:
        """Of a bad request that keeps its number."""
        return Placed(self.answered(request, number, answer), self.nothing(number, answer.ticket, at))

    def _row(self, request: Request, answer: Answer) -> WaitingRow:
        """What is kept until it enters."""
        algorithm, arm = self._versions.fold.algorithm, answer.arm
        numbers = algorithm.row(request.offer.features, arm, arm, answer.name, self._agreed.door.names)
        return WaitingRow(numbers, request.person or NOBODY)

    def nothing(self, number: int, ticket: bytes, at: float) -> Waiting:
        """What enters as nothing."""
        return self.waits(number, ticket, at, self._silent)

    @property
    def _silent(self) -> WaitingRow:
        return WaitingRow(door.nothing(self._versions.fold.algorithm.plan.row), teaches=False)

    def waits(self, number: int, ticket: bytes, at: float, row: WaitingRow) -> Waiting:
        seal = self._seal(number, opening.waiting_place(self._vault.uid, number))
        return Waiting(number, ticket, at, row.sealed(seal))

    def answered(self, request: Request, number: int, answer: Answer) -> Answered:
        """Sealed, and marked with its person, or with nobody."""
        where = opening.choice_place(self._vault.uid, request.hashed)
        person = request.person or secrets.token_bytes(HASH)
        mark = self._vault.seal.mark("epoch", self.epoch(number), where, person)
        assert mark is not None  # its key was made just now
        return Answered(request.hashed, number, self._seal(number, where)(answer.packed()), mark)

    def written(self, number: int, report: Report) -> Written:
        seal = self._seal(number, opening.written_place(self._vault.uid, number))
        return Written(number, report.ticket.text, waiting.sealed_reward(report.reward, seal))

    def _seal(self, number: int, place: str) -> Callable[[bytes], bytes]:
        """What seals for that place."""
        return functools.partial(self._vault.seal.seal, "epoch", self.epoch(number), place)
