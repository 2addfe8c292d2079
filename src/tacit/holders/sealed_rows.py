"""The rows of a choice, sealed for their places: its answer, what waits, and what is written of it. RAW before."""

import functools
import secrets
from collections.abc import Callable, Collection, Iterable

from tacit.core import door
from tacit.core.curator import Asked
from tacit.data import Array, Raw
from tacit.holders import opening
from tacit.holders.choice_rows import Placed
from tacit.holders.database import Run
from tacit.holders.opening import Vault
from tacit.holders.requests import Answer, Report
from tacit.holders.rows import Answered, Waiting, Written
from tacit.mechanisms import waiting
from tacit.mechanisms.entering import HASH, NOBODY
from tacit.mechanisms.waiting import WaitingRow

MANY = 1000  # epochs that are remembered


class SealedRows:
    """Of one worker. size: numbers that are kept of a choice."""

    def __init__(self, vault: Vault, size: int) -> None:
        self._vault, self._size = vault, size
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
        return WaitingRow(door.nothing(self._size), teaches=False)

    def waits(self, number: int, ticket: bytes, at: float, row: WaitingRow) -> Waiting:
        seal = self._seal(number, opening.waiting_place(self._vault.uid, number))
        return Waiting(number, ticket, at, row.sealed(seal))

    def answered(self, hashed: bytes, who: bytes | None, number: int, answer: Answer) -> Answered:
        """Sealed, and marked with its person, or with nobody."""
        where = opening.choice_place(self._vault.uid, hashed)
        person = who or secrets.token_bytes(HASH)
        mark = self._vault.seal.mark("epoch", self.epoch(number), where, person)
        assert mark is not None  # its key was made just now
        return Answered(hashed, number, self._seal(number, where)(answer.packed()), mark)

    def written(self, number: int, report: Report) -> Written:
        seal = self._seal(number, opening.written_place(self._vault.uid, number))
        return Written(number, report.ticket.text, waiting.sealed_reward(report.reward, seal))

    def _seal(self, number: int, place: str) -> Callable[[bytes], bytes]:
        """What seals for that place."""
        return functools.partial(self._vault.seal.seal, "epoch", self.epoch(number), place)
