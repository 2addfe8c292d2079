"""What a choice is: to the user, and for a batch."""

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

SHOWN = 20  # rows, in a notebook
Index = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Choice:
    """The arm for one user: its index, its name if the arms had names, and the ticket with which its reward is
    reported."""

    index: int
    name: str | None
    id: int
    _propensity: Callable[[], float] = field(repr=False, compare=False)

    @property
    def propensity(self) -> float:
        """The probability with which this user got this arm at that state; computed when asked for."""
        return self._propensity()

    @property
    def propensity_error(self) -> float:
        """The standard error of `propensity`: 0 where it is exact (docs/evaluation.md)."""
        return getattr(self._propensity, "error", 0.0)

    def __reduce__(self) -> NoReturn:
        raise TypeError("Expected the id of a choice, got pickle or copy: what computes its propensity is raw data.")


@dataclass(frozen=True, slots=True)
class Choices:
    """The arms for a batch. Rows in `refused` (index -> reason) have index -1 and id 0; they count as choices that
    nobody will answer, so that the schedule does not depend on what is in a row. It has as many elements as rows: the
    choice of each, None for those that were refused."""

    index: Index
    id: Index
    refused: Mapping[int, str]
    _names: Sequence[str] | None = field(repr=False)
    _propensities: Sequence[Callable[[], float] | None] = field(repr=False)

    def __len__(self) -> int:
        return len(self.id)

    def __repr__(self) -> str:
        return f"<Choices: {len(self)} rows, {len(self.refused)} refused>"

    def _repr_html_(self) -> str:
        rows = [f"<tr><td>{one.id}<td>{html.escape(str(one.name or one.index))}" for one in self if one is not None]
        return f"<table><tr><th>id<th>action{''.join(rows[:SHOWN])}</table>{repr(self).strip('<>')}"

    def __iter__(self) -> Iterator[Choice | None]:
        for index, number, chance in zip(self.index.tolist(), self.id.tolist(), self._propensities, strict=True):
            yield None if chance is None else Choice(index, self._names[index] if self._names else None, number, chance)

    __reduce__ = Choice.__reduce__
