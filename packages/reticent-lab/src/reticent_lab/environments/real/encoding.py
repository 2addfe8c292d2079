"""Rows of real data as vectors of norm at most 1, by public constants and the row itself: nothing is fitted."""

import math
from collections.abc import Sequence

import numpy as np

from reticent.data import Array, Integers


def one_hot(columns: Sequence[tuple[Sequence[str], tuple[str, ...]]]) -> Array:
    """Each column is values and the categories that are known of it. As many ones in a row as columns (none where a
    value is unknown), all divided by the root of their number."""
    parts = []
    for values, categories in columns:
        found = codes(values, categories)
        part = np.zeros((len(found), len(categories)))
        known = found >= 0
        part[known, found[known]] = 1.0
        parts.append(part)
    return np.ascontiguousarray(np.hstack(parts) / math.sqrt(len(columns)))


def codes(values: Sequence[str], categories: tuple[str, ...]) -> Integers:
    """The number of each value's category; -1 for others."""
    numbers = {category: i for i, category in enumerate(categories)}
    return np.array([numbers.get(value, -1) for value in values], np.int64)


def intervals(numbers: Array, edges: Sequence[float]) -> list[str]:
    """Which of the intervals between the edges each number is in: "0" below the first of them."""
    return [str(i) for i in np.searchsorted(np.asarray(edges), numbers, side="right")]


def names_of(edges: Sequence[float]) -> tuple[str, ...]:
    """Of the intervals between the edges."""
    return tuple(str(i) for i in range(len(edges) + 1))


def centred(values: Array, low: float, high: float) -> Array:
    """(n, p) numbers between low and high as z and a constant 1, over the root of 2: z is each number in [-1, 1], the
    row divided by sqrt(p) / 2, or by its own norm if that is more."""
    z = 2 * (np.clip(values, low, high) - low) / (high - low) - 1
    z /= np.maximum(np.linalg.norm(z, axis=1, keepdims=True), math.sqrt(z.shape[1]) / 2)
    return np.ascontiguousarray(np.column_stack([z, np.ones(len(z))]) / math.sqrt(2))
