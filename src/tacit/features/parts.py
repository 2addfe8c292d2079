"""Parts of a vector side by side, with weights whose squares sum to 1."""

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tacit.data import Array, Booleans
from tacit.features.columns import Column, Entries

CONSTANT: Entries = [(0, 1.0)]


class SchemaPart(NamedTuple):
    """names: none for the constant, one of a field, two of a cross. From `start` on, `size` numbers, each times
    `weight`. signed: which of them may be negative."""

    names: tuple[str, ...]
    start: int
    size: int
    weight: float
    signed: Booleans


class Parts:
    """A part is a constant (), a field (name,) or a cross (one, other). Vectors have norm at most 1.

    person: the names of fields that are the same for all that is offered to somebody."""

    def __init__(self, parts: Sequence[tuple[str, ...]], fields: Mapping[str, Column], person: Collection[str]) -> None:
        self._fields = fields
        weights = [math.prod(fields[name].weight for name in part) for part in parts]
        total = math.sqrt(sum(w * w for w in weights))
        sizes = [math.prod(fields[name].size for name in part) for part in parts]
        starts = [0, *itertools.accumulate(sizes)]
        self._parts = list(zip(parts, starts, (w / total for w in weights), strict=False))
        self._of_person = [one for one in self._parts if set(one[0]) <= set(person)]
        self._of_action = [one for one in self._parts if not set(one[0]) <= set(person)]
        self.size = starts[-1]

    def of_person(self, entries: Mapping[str, Entries]) -> Array:
        """A vector with those parts that a person's fields alone decide."""
        out = np.zeros(self.size)
        self._put(self._of_person, entries, out)
        return out

    def put_action(self, entries: Mapping[str, Entries], out: Array) -> None:
        """The other parts."""
        self._put(self._of_action, entries, out)

    def _put(
        self, parts: Sequence[tuple[tuple[str, ...], int, float]], entries: Mapping[str, Entries], out: Array
    ) -> None:
        for part, start, weight in parts:
            if len(part) == 2:
                width = self._fields[part[1]].size
                for i, a in entries[part[0]]:
                    for j, b in entries[part[1]]:
                        out[start + i * width + j] = weight * a * b
            else:
                for i, a in entries[part[0]] if part else CONSTANT:
                    out[start + i] = weight * a

    @property
    def each(self) -> tuple[SchemaPart, ...]:
        """What lies where."""
        out = []
        for names, start, weight in self._parts:
            signs = [self._fields[name].signed for name in names]
            signed = np.zeros(1, np.bool_)
            for sides in signs:
                signed = np.logical_or.outer(signed, np.array(sides)).ravel()
            out.append(SchemaPart(names, start, signed.size, weight, signed))
        return tuple(out)

    def labels(self) -> list[str]:
        out = []
        for part, _, _ in self._parts:
            sides = [[f"{name}={label}" for label in self._fields[name].labels()] for name in part]
            out += [" x ".join(pair) or "constant" for pair in itertools.product(*sides)]
        return out
