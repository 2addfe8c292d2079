"""Learning from a log that is a folder of Parquet files: the same sums whether rows are added one by one, many at once,
or on other machines."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit import checks, cluster
from tacit.bandits import engines
from tacit.bandits.engines import Mask
from tacit.core import logs, repeated
from tacit.core.choices import reward_problem
from tacit.errors import PersonLimit
from tacit.features import frames
from tacit.kernels.rounds import BOUNDARY, CHOICES
from tacit.logs import numbered, parquet
from tacit.logs.parquet import FEATURES, Encoder, Folder
from tacit.mechanisms.entering import NOBODY

if TYPE_CHECKING:
    from tacit.bandits.joint.continual import ContinualBandit


def learn(bandit: "ContinualBandit", table: Any, actions: Any, engine: str) -> dict[int, str]:
    """From a table, or from a folder of Parquet files. Row -> reason for those that were refused."""
    checks.one_of(cluster.ENGINES, engine=engine)
    if not isinstance(table, str | Path):
        if engine != "local":
            raise ValueError(f"Expected a folder of Parquet files for engine={engine!r}, got a table.")
        table = frames.columns(table)  # an Arrow stream is read once
        count, found = logs.read(bandit._door, table, actions)
        _begin(bandit, table, count)
        return _learn_rows(bandit, found)
    folder = _folder(bandit, table)
    encoder = _encoder(bandit, folder, actions)
    if encoder is not None:
        _begin(bandit, table, folder.count)
        made = engines.Ray(folder, encoder) if engine == "ray" else engines.Local(folder, encoder)
        return learn_folder(bandit, folder, made)
    if engine != "local":
        raise ValueError(
            "Expected secure noise, rounds that count when they are chosen, and the columns x0, x1, ... of numbers for "
            "engine='ray', got others: "
            "schema.encode(frame) makes such columns."
        )
    count, rows_from = logs.source(bandit._door, table, actions)
    _begin(bandit, table, count)
    return _learn_rows(bandit, rows_from(0))


def _begin(bandit: "ContinualBandit", table: Any, count: int) -> None:
    """HorizonReached or ValueError for a log that has no room or was learnt before. From now on it was: also if this
    call is interrupted."""
    bandit._room(count)
    digest = repeated.digest(bandit._door, table, bandit._persons.key)
    if digest is not None:
        if digest in bandit._logs:
            raise ValueError(repeated.TWICE)
        bandit._logs |= {digest}


def _learn_rows(bandit: "ContinualBandit", found: Iterator[logs.Row]) -> dict[int, str]:
    """Row -> reason for those that were refused."""
    refused = {}
    for row, (x, reward, person) in enumerate(found):
        bandit._step()
        bandit._logged += 1
        silent = logs.is_silent(reward)
        problem = logs.ROW if x is None else None if silent else reward_problem(reward, *bandit.rewards)
        mark = NOBODY
        try:
            mark = _mark(bandit, person)  # whatever is in the row
        except (ValueError, PersonLimit) as error:
            x, problem = None, problem or str(error)
        if problem is not None:
            refused[row] = problem
        if x is None:
            bandit._state.counts[CHOICES] += 1
            continue
        ticket = bandit._ticket(bandit._logged_row(x), mark)  # whatever the reward is: a public context is summed here
        if problem is None and not silent:
            bandit.observe(ticket, float(reward))
    return refused


def learn_folder(bandit: "ContinualBandit", folder: Folder, engine: engines.Engine) -> dict[int, str]:
    """Step by step: the rows of a step are summed at the estimate that it opened with, wherever that is done."""
    refused: dict[int, str] = {}
    reward = reward_problem(math.inf, *bandit.rewards) or ""
    first = 0
    while first < folder.count:
        bandit._step()
        counts = bandit._state.counts
        count = min(folder.count - first, int(counts[BOUNDARY] - counts[CHOICES]))
        teach, people = _people(bandit, folder, first, count)
        summer = bandit._summer()
        assert summer is not None
        total, wrong = engine(first, count, summer, teach)
        bandit._state.prefix.join(total)  # a row counts for no more than the bandit learns
        counts[CHOICES] += count
        bandit._logged += count
        refused |= {first + row: why for row, why in people.items()}
        for row in np.flatnonzero(wrong):
            refused[first + int(row)] = logs.ROW if wrong[row] == FEATURES else reward
        first += count
    return refused


def _folder(bandit: "ContinualBandit", path: str | Path) -> Folder:
    folder = Folder(path)
    logs.check_columns(bandit._door, folder.columns)
    return folder


def _people(bandit: "ContinualBandit", folder: Folder, first: int, count: int) -> tuple[Mask | None, dict[int, str]]:
    """Which of these rows may teach, each counted for its person, and row -> reason for those that are refused."""
    if "person" not in folder.columns:
        bandit._persons.unnamed += count
        return None, {}
    teach, refused, row = np.zeros(count, np.bool_), {}, 0
    for piece in folder.pieces(first, count, engines.AT_ONCE):
        for person in parquet.frame(piece, ["person"])["person"].to_list():
            try:
                teach[row] = _mark(bandit, person) == NOBODY
            except (ValueError, PersonLimit) as error:
                refused[row] = str(error)
            row += 1
    return teach, refused


def _encoder(bandit: "ContinualBandit", folder: Folder, actions: Any) -> Encoder | None:
    """What reads the folder as columns of numbers; None where rows have to be looked at one by one."""
    names = tuple(numbered(folder.columns))
    if bandit.features is not None or not names or not {*names, "reward"} <= folder.numbers:
        return None
    if bandit._persons.later or bandit._summer() is None or _home(bandit, "_summer") is not _home(bandit, "_join"):
        return None
    if bandit._shared or "arms" in folder.columns or (len(names) < bandit.dim and "action" not in folder.names):
        return None
    logs.check_context(bandit._door, len(names), actions)
    low, high = bandit.rewards
    return Encoder(names, bandit.dim, bandit._blocks, low, high, None if actions is None else tuple(actions))


def _home(bandit: "ContinualBandit", name: str) -> type:
    """The class that defines it."""
    return next(kind for kind in type(bandit).__mro__ if name in kind.__dict__)


def _mark(bandit: "ContinualBandit", person: Any) -> bytes:
    """One round of that person, or of nobody: its mark. PersonLimit or ValueError if it is refused."""
    return bandit._persons.count(bandit._persons.admit(person))
