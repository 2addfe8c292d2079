"""A Book of rows: what core.curator's rules ask of a database, as one worker knows it."""

from numpy.random import Generator

from tacit.core.assignment import Assignment
from tacit.core.door import Door
from tacit.core.onepass import OnePassEstimate, View
from tacit.holders.opening import Vault
from tacit.holders.terms import Agreed
from tacit.holders.versions import Versions


class RowsBook:
    """policy: what fresh draws come from."""

    def __init__(self, policy: Generator, vault: Vault, versions: Versions, agreed: Agreed) -> None:
        self._policy, self._vault, self._versions, self._agreed = policy, vault, versions, agreed
        self._shown: tuple[OnePassEstimate, View] | None = None

    @property
    def door(self) -> Door:
        return self._agreed.door

    @property
    def key(self) -> bytes:
        return self._vault.persons

    @property
    def assignment(self) -> Assignment | None:
        return self._agreed.assignment

    @property
    def shown(self) -> View:
        fold = self._versions.fold
        if self._shown is None or self._shown[0] is not fold.estimate:
            self._shown = fold.estimate, View(fold.algorithm, fold.estimate, self._policy)
        return self._shown[1]

    @property
    def version(self) -> int:
        return self._versions.version

    @property
    def default(self) -> float | None:
        return self._agreed.now.default
