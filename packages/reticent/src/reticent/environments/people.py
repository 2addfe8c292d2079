"""People with fields, in tables that a kernel draws from."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Array
from reticent.environments.people_kernel import People
from reticent.features.columns import Column
from reticent.features.schema import Schema

NO_CROSS = np.zeros((0, 0, 0))
TYPES = 4  # hidden types of people, where fields depend on each other


class Field(NamedTuple):
    """column: how a schema encodes it. values: those that occur. chances: how often each does, relative to others."""

    column: Column
    values: Sequence[Any]
    chances: Sequence[float]


def effects(fields: Mapping[str, Field], spread: Mapping[str, float], arms: int, alike: float, rng: Generator) -> Array:
    """(arms, fields, values): what each action is worth by the value of a field, on average nothing; drawn at the knots
    or categories of its column with that standard deviation, 0 where none is given. alike: the share of its variance
    that all actions have in common."""
    out = np.zeros((arms, len(fields), _most(fields)))
    for f, (name, (column, values, chances)) in enumerate(fields.items()):
        if name in spread:
            basis = np.zeros((len(values), column.size))
            for row, value in zip(basis, values, strict=True):
                for place, number in column.entries(value):
                    row[place] = number
            own, common = rng.standard_normal((arms, column.size)), rng.standard_normal(column.size)
            found = (np.sqrt(1 - alike) * own + np.sqrt(alike) * common) @ basis.T
            mean = found @ np.asarray(chances) / np.sum(chances)
            out[:, f, : len(values)] = spread[name] * (found - mean[:, None])
    return out


def tables(fields: Mapping[str, Field], schema: Schema, bound: float, rng: Generator) -> People:
    """What `draw_person` takes: all fields, and the numbers of those that the schema (of disjoint arms) has. bound: the
    chance that a field follows the hidden type of its person; which part of its values a type has is drawn."""
    most = _most(fields)
    upto, start = np.full((len(fields), most), np.inf), np.full(len(fields), -1)
    size = max(field.column.size for field in fields.values())
    numbers = np.zeros((len(fields), most, size))
    labels = schema.labels[: schema.dim // schema.blocks]
    for f, (name, field) in enumerate(fields.items()):
        upto[f, : len(field.values) - 1] = np.cumsum(field.chances)[:-1] / np.sum(field.chances)
        if name in schema.context:
            start[f] = labels.index(f"{schema.actions[0]}: {name}={field.column.labels()[0]}")
            own = slice(start[f], start[f] + field.column.size)
            for v, value in enumerate(field.values):
                numbers[f, v, : field.column.size] = schema.placed({name: value})[1][0, own]
    slots = np.array([rng.permutation(TYPES) for _ in fields])
    return People(upto, slots, bound, start, numbers, float(schema.placed({})[1][0, 0]))


def _most(fields: Mapping[str, Field]) -> int:
    """Values of a field."""
    return max(len(field.values) for field in fields.values())
