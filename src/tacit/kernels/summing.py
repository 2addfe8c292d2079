"""The contributions of many rows at one public estimate, summed: as they are, row after row, or each in whole cells of
the noise grid (mechanisms.grid). Whole numbers: any order and any split of the rows gives the same bits.

A row is an arm as in model.arms, of width numbers, and what else is kept of a choice (`Tally`). One
whose reward is NaN adds nothing. Beside its own numbers it may add some for an experiment; both are one vector, and in
cells that vector is left out whole if it is longer than any user's, or no number.

Each kernel `sum_*` is the version in cells; cell = 0 stands for floats (`each_*`)."""

from typing import NamedTuple

import numpy as np

from tacit.data import Array, Booleans, Exact, Integers
from tacit.kernels.compile import inlined, kernel
from tacit.kernels.formulas import (
    add_centred,
    add_fields,
    add_glm,
    add_score,
    add_sides,
)
from tacit.model.links import Code


class Tally(NamedTuple):
    """Where and how a row counts for an experiment (algorithms.sides): `size` numbers from `start` on in the sums, from
    what is kept from `column` on in a row. size 0: nowhere. sides: (k, s) for each; of no length where there is none.
    """

    start: int
    size: int
    column: int
    part: float
    low: float
    high: float
    sides: Array


class Linearised(NamedTuple):
    """What contributions of model.glm are made with: the estimate of each block's coordinates, and settings."""

    theta: Array  # (blocks, q)
    inverse: Array  # (blocks, q, q)
    link: Code
    blend: float
    scale: float
    low: float
    high: float


class Scored(NamedTuple):
    """Those of model.scores."""

    theta: Array  # (blocks, q)
    link: Code
    low: float
    high: float


class Counted(NamedTuple):
    """Those of model.fields."""

    signed: Booleans  # (p,)
    constant: float
    swing: float
    centre: float
    alpha: float
    scale: float
    low: float
    high: float


class Around(NamedTuple):
    """Those of model.centred, for rows that begin with so many features."""

    width: int
    skip: int
    longest: float
    centre: float
    scale: float
    low: float
    high: float


@kernel
def add_rounded(v: Array, cell: float, out: Integers) -> None:
    """out += round(v / cell)."""
    for j in range(v.size):
        out[j] += np.int64(np.rint(v[j] / cell))


@kernel
def join_row(
    row: Array,
    y: float,
    own: Exact,
    places: Integers,
    tally: Tally,
    more: Exact,
    cell: float,
    longest: float,
    out: Exact,
) -> None:
    """out[places] += own, and the numbers for an experiment, which are made here, in theirs;
    `own` and `more` are 0 afterwards."""
    if tally.sides.shape[0] > 0:
        weight = add_sides(row[tally.column :], y, tally.sides, tally.part, tally.low, tally.high, more)
        for j in range(own.size):
            own[j] *= weight
    s = 0.0
    for j in range(own.size):
        s += own[j] * own[j]
    for j in range(more.size):
        s += more[j] * more[j]
    inside = s <= longest * longest
    for j in range(own.size):
        if cell == 0.0:
            out[places[j]] += own[j]
        elif inside:
            out[places[j]] += np.int64(np.rint(own[j] / cell))
        own[j] = 0.0
    for j in range(more.size):
        if cell == 0.0:
            out[tally.start + j] += more[j]
        elif inside:
            out[tally.start + j] += np.int64(np.rint(more[j] / cell))
        more[j] = 0.0


@inlined
def block_of_row(row: Array, width: int, blocks: int) -> int:
    """The number of its block, after so many features."""
    return int(row[width]) if blocks > 1 else 0


@kernel
def sum_glm(
    rows: Array,
    rewards: Array,
    at: Linearised,
    places: Integers,
    tally: Tally,
    cell: float,
    longest: float,
    out: Exact,
) -> None:
    """out[places[a]] += the contributions of the rows in block a; places: (blocks, numbers of a contribution)."""
    blocks, q = at.theta.shape
    own, more = Exact(np.zeros(places.shape[1])), Exact(np.zeros(tally.size))
    for i in range(rewards.size):
        if not np.isnan(rewards[i]):
            a = block_of_row(rows[i], q, blocks)
            x, theta, inverse = rows[i, :q], at.theta[a], at.inverse[a]
            add_glm(x, rewards[i], theta, inverse, at.link, at.blend, at.scale, at.low, at.high, own)
            join_row(rows[i], rewards[i], own, places[a], tally, more, cell, longest, out)


@kernel
def sum_scores(
    rows: Array,
    rewards: Array,
    at: Scored,
    places: Integers,
    tally: Tally,
    cell: float,
    longest: float,
    out: Exact,
) -> None:
    """The same for scores."""
    blocks, q = at.theta.shape
    own, more = Exact(np.zeros(q)), Exact(np.zeros(tally.size))
    for i in range(rewards.size):
        if not np.isnan(rewards[i]):
            a = block_of_row(rows[i], q, blocks)
            add_score(rows[i, :q], rewards[i], at.theta[a], 0, at.link, at.low, at.high, own)
            join_row(rows[i], rewards[i], own, places[a], tally, more, cell, longest, out)


@kernel
def sum_fields(
    rows: Array,
    rewards: Array,
    at: Counted,
    places: Integers,
    tally: Tally,
    cell: float,
    longest: float,
    out: Exact,
) -> None:
    """The same for sums by fields."""
    blocks, q = places.shape[0], at.signed.size
    own, more = Exact(np.zeros(places.shape[1])), Exact(np.zeros(tally.size))
    for i in range(rewards.size):
        if not np.isnan(rewards[i]):
            a = block_of_row(rows[i], q, blocks)
            x, y = rows[i, :q], rewards[i]
            add_fields(x, y, at.signed, at.constant, at.swing, at.centre, at.alpha, at.scale, at.low, at.high, own)
            join_row(rows[i], rewards[i], own, places[a], tally, more, cell, longest, out)


@kernel
def sum_centred(
    rows: Array,
    rewards: Array,
    at: Around,
    places: Integers,
    tally: Tally,
    cell: float,
    longest: float,
    out: Exact,
) -> None:
    """The same around a usual reward; places: (1, numbers of a contribution)."""
    own, more = Exact(np.zeros(places.shape[1])), Exact(np.zeros(tally.size))
    for i in range(rewards.size):
        if not np.isnan(rewards[i]):
            x, y = rows[i, : at.width], rewards[i]
            add_centred(x, y, at.skip, at.longest, at.centre, at.scale, at.low, at.high, own)
            join_row(rows[i], y, own, places[0], tally, more, cell, longest, out)


@kernel
def each_glm(rows: Array, rewards: Array, at: Linearised, places: Integers, tally: Tally, out: Exact) -> None:
    """`sum_glm` in floats."""
    sum_glm(rows, rewards, at, places, tally, 0.0, 0.0, out)


@kernel
def each_scores(rows: Array, rewards: Array, at: Scored, places: Integers, tally: Tally, out: Exact) -> None:
    """`sum_scores` in floats."""
    sum_scores(rows, rewards, at, places, tally, 0.0, 0.0, out)


@kernel
def each_fields(rows: Array, rewards: Array, at: Counted, places: Integers, tally: Tally, out: Exact) -> None:
    """`sum_fields` in floats."""
    sum_fields(rows, rewards, at, places, tally, 0.0, 0.0, out)


@kernel
def each_centred(rows: Array, rewards: Array, at: Around, places: Integers, tally: Tally, out: Exact) -> None:
    """`sum_centred` in floats."""
    sum_centred(rows, rewards, at, places, tally, 0.0, 0.0, out)
