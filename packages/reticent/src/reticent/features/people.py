"""People that are made up from public sums of features: as if fields had nothing to do with each other."""

from collections.abc import Mapping

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Integers
from reticent.features.columns import Category, Column, Hashed, Number, Tags
from reticent.features.schema import Schema, SchemaPart


def made_up(schema: Schema, sums: Array, count: int, rng: Generator) -> Array:
    """(count, p): the features, within an action's part of the vector, of people whose fields are drawn one by one. A
    value of a field is as likely as its share of the field's sum; what is negative there counts as 0. sums: of features
    that are never negative; others are drawn evenly."""
    out = np.zeros((count, sum(part.size for part in schema.own)))
    drawn: dict[str, Array] = {}
    for part in schema.own:
        if len(part.names) == 1:
            name = part.names[0]
            drawn[name] = _field(schema.context[name], _of(sums, part), count, rng)
    for part in schema.own:
        out[:, part.start : part.start + part.size] = part.weight * _numbers(part, drawn, count)
    return out


def frequencies(schema: Schema, sums: Array) -> dict[str, Array]:
    """Of each field the mean of its numbers over people that are made up so."""
    out = {}
    for part in schema.own:
        if len(part.names) == 1:
            column = schema.context[part.names[0]]
            out[part.names[0]] = np.zeros(part.size) if part.signed.any() else _shares(column, _of(sums, part))
    return out


def row(schema: Schema, numbers: Mapping[str, Array]) -> Array:
    """(p,): the features, within an action's part of the vector, of somebody whose fields have these numbers; their
    mean over people, where the numbers are means."""
    given = {name: found[None] for name, found in numbers.items()}
    return np.concatenate([part.weight * _numbers(part, given, 1)[0] for part in schema.own])


def _of(sums: Array, part: SchemaPart) -> Array:
    return np.maximum(sums[part.start : part.start + part.size], 0.0)


def _shares(column: Column, sums: Array) -> Array:
    total = float(sums.sum())
    return sums / total if total > 0 else np.full(column.size, 1 / column.size)


def _numbers(part: SchemaPart, drawn: Mapping[str, Array], count: int) -> Array:
    values = np.ones((count, 1))
    for name in part.names:
        values = (values[:, :, None] * drawn[name][:, None, :]).reshape(count, -1)
    return values


def _field(column: Column, sums: Array, count: int, rng: Generator) -> Array:
    out = np.zeros((count, column.size))
    people = np.arange(count)
    if isinstance(column, Hashed):
        out[people, rng.integers(column.slots, size=count)] = rng.choice([-1.0, 1.0], size=count)
    elif isinstance(column, Number) and column.bins == 1:
        out[:, 0] = rng.uniform(-1.0, 1.0, size=count)
    else:
        assert isinstance(column, Category | Tags | Number)
        edges = np.cumsum(_shares(column, sums))
        value = np.minimum(np.searchsorted(edges, rng.random(count)), column.size - 1)
        out[people, value] = 1.0
        if isinstance(column, Number):
            _between(out, value, column.bins, rng)
    return out


def _between(out: Array, knot: Integers, bins: int, rng: Generator) -> None:
    """A number that was drawn at a knot lies up to half a step away from it, within its bounds."""
    away = rng.uniform(-0.5, 0.5, size=len(out))
    here = np.flatnonzero(knot < bins)  # not those who have none
    place = np.abs(knot[here] + away[here])
    place = np.minimum(place, 2 * (bins - 1) - place)
    left = np.minimum(place.astype(np.int64), bins - 2)
    out[here] = 0.0
    out[here, left], out[here, left + 1] = 1 - (place - left), place - left
