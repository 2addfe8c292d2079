"""A log that is a folder of Parquet files: what reads its columns of numbers, and whose rows may teach."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tacit.bandits import engines
from tacit.bandits.engines import Mask
from tacit.bandits.joint.summing import Summer
from tacit.core import logs
from tacit.core.choices import reward_problem
from tacit.core.door import Door
from tacit.core.persons import Persons
from tacit.data import Integers
from tacit.errors import PersonLimit
from tacit.logs import numbered, parquet
from tacit.logs.parquet import FEATURES, Encoder, Folder
from tacit.mechanisms.entering import NOBODY


def people(persons: Persons, folder: Folder, first: int, count: int) -> tuple[Mask | None, dict[int, str]]:
    """Which of these rows may teach, each counted for its person, and row -> reason for those that are refused."""
    if "person" not in folder.columns:
        persons.unnamed += count
        return None, {}
    teach, refused = np.zeros(count, np.bool_), {}
    for row, person in enumerate(_named(folder, first, count)):
        try:
            teach[row] = persons.count(persons.admit(person)) == NOBODY
        except (ValueError, PersonLimit) as error:
            refused[row] = str(error)
    return teach, refused


def check_rows(engine: engines.Engine, folder: Folder, persons: Persons, rewards: tuple[float, float]) -> None:
    """ValueError if too many rows cannot be learnt for what is in them: before a row of it is spent."""
    refused, looks = dict[int, str](), Summer(nothing, (), 0, 1.0, 1.0)
    for first in range(0, folder.count, engines.AT_ONCE):
        count = min(engines.AT_ONCE, folder.count - first)
        refused |= reasons(engine(first, count, looks, None).wrong, first, rewards)
        if "person" in folder.columns:
            for row, person in enumerate(_named(folder, first, count), first):
                try:
                    persons.digest(person)
                except ValueError as error:
                    refused[row] = refused.get(row, str(error))
    logs.check_few(dict(sorted(refused.items())), folder.count)


def nothing(*_: Any) -> None:
    """Adds no row."""


def reasons(wrong: Integers, first: int, rewards: tuple[float, float]) -> dict[int, str]:
    """Row -> reason, of rows from `first` on."""
    reward = reward_problem(math.inf, *rewards) or ""
    return {first + int(row): logs.ROW if wrong[row] == FEATURES else reward for row in np.flatnonzero(wrong)}


def _named(folder: Folder, first: int, count: int) -> Iterator[Any]:
    for piece in folder.pieces(first, count, engines.AT_ONCE):
        yield from parquet.frame(piece, ["person"])["person"].to_list()


def encoder(door: Door, folder: Folder, actions: Any) -> Encoder | None:
    """What reads the folder as columns of numbers; None where rows have to be looked at one by one."""
    names = tuple(numbered(folder.columns))
    if door.schema is not None or not names or not {*names, "reward"} <= folder.numbers:
        return None
    if door.shared or "arms" in folder.columns or (len(names) < door.dim and "action" not in folder.names):
        return None
    logs.check_context(door, len(names), actions)
    return Encoder(names, door.dim, door.blocks, *door.rewards, None if actions is None else tuple(actions))
