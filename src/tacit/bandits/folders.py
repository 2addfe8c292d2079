"""A log that is a folder of Parquet files: what reads its columns of numbers, and whose rows may teach."""

from typing import Any

import numpy as np

from tacit.bandits import engines
from tacit.bandits.engines import Mask
from tacit.core import logs
from tacit.core.door import Door
from tacit.core.persons import Persons
from tacit.errors import PersonLimit
from tacit.logs import numbered, parquet
from tacit.logs.parquet import Encoder, Folder
from tacit.mechanisms.entering import NOBODY


def people(persons: Persons, folder: Folder, first: int, count: int) -> tuple[Mask | None, dict[int, str]]:
    """Which of these rows may teach, each counted for its person, and row -> reason for those that are refused."""
    if "person" not in folder.columns:
        persons.unnamed += count
        return None, {}
    teach, refused, row = np.zeros(count, np.bool_), {}, 0
    for piece in folder.pieces(first, count, engines.AT_ONCE):
        for person in parquet.frame(piece, ["person"])["person"].to_list():
            try:
                teach[row] = persons.count(persons.admit(person)) == NOBODY
            except (ValueError, PersonLimit) as error:
                refused[row] = str(error)
            row += 1
    return teach, refused


def encoder(door: Door, folder: Folder, actions: Any) -> Encoder | None:
    """What reads the folder as columns of numbers; None where rows have to be looked at one by one."""
    names = tuple(numbered(folder.columns))
    if door.schema is not None or not names or not {*names, "reward"} <= folder.numbers:
        return None
    if door.shared or "arms" in folder.columns or (len(names) < door.dim and "action" not in folder.names):
        return None
    logs.check_context(door, len(names), actions)
    return Encoder(names, door.dim, door.blocks, *door.rewards, None if actions is None else tuple(actions))
