"""Logged data as an environment, by rejection: only rounds where the bandit agrees with the log count.

A Parquet or CSV file with the columns `action` (0 .. K-1 or names), `reward`, optionally `propensity` (the probability
with which the log's policy took that action; 1 / K if absent), and the features: either x0, x1, ... (one context a
round, put into a block of its own for each arm: dim = K times their number, and every action occurs) or, in Parquet,
`arms` (K lists of dim numbers; an action is a place in them).

A round is kept with probability (smallest propensity) / propensity, which makes the log uniform; the rounds that are
left are replayed in random order, and one in K of them agrees. The rewards so collected are those of a live run
(Li et al. 2011, arXiv:1003.5956). There is no regret, since other arms' rewards were never seen: look at `reward_mean`.
"""

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.random import Generator

from reticent.data import Array, Integers
from reticent.environments.base import LOGGED, Environment, World
from reticent.model import arms as arm_sets
from reticent_lab.environments.worlds_kernel import fill_log


@dataclass(frozen=True, kw_only=True)
class replay(Environment):
    """dim and arms come from the file. `low` and `high` are the range of rewards; without them it is [0, 1] if the
    log's rewards lie there, and the log's own range otherwise, which for people's data is a choice that data made."""

    file: str
    low: float | None = None
    high: float | None = None
    dim: int = 0
    arms: int = 0

    def __post_init__(self) -> None:
        log = self._log()
        for field, actual in (("arms", log["arms"].shape[1]), ("dim", log["arms"].shape[2])):
            if getattr(self, field) not in (0, actual):
                raise ValueError(f"Expected {field}={actual} for {self.file}, got {getattr(self, field)}.")
            object.__setattr__(self, field, int(actual))
        super().__post_init__()

    def _log(self) -> dict[str, np.ndarray[Any, Any]]:
        path = Path(self.file)
        if not path.exists():
            raise ValueError(f"Expected a Parquet or CSV file, got {self.file} which does not exist.")
        return _read(self.file, path.stat().st_mtime_ns)

    @property
    def data(self) -> str:
        return hashlib.sha256(Path(self.file).read_bytes()).hexdigest()

    @property
    def reward_kind(self) -> tuple[int, float]:
        return LOGGED, 1.0

    @property
    def rewards(self) -> tuple[float, float]:
        log = self._log()
        low, high = float(log["reward"].min()), float(log["reward"].max())
        if self.low is not None and self.high is not None:
            return (self.low, self.high)
        return (0.0, 1.0) if low >= 0 and high <= 1 else (low, high if high > low else low + 1)

    @property
    def rounds(self) -> int:
        return len(self._log()["action"])

    def start(self, rng: Generator, horizon: int) -> World:
        log = self._log()
        propensity = log["propensity"]
        kept = np.flatnonzero(rng.random(len(propensity)) < propensity.min() / propensity)
        order = rng.permutation(kept)
        clock = np.zeros(1, np.int64)
        return World(
            lambda block: fill_log(block, log["arms"], log["action"], log["reward"], order, clock),
            None,
        )


@functools.lru_cache(maxsize=4)
def _read(file: str, _changed: int) -> dict[str, np.ndarray[Any, Any]]:
    path = Path(file)
    try:
        frame = pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError):
        raise ValueError(f"Expected a Parquet or CSV file, got {file} which cannot be read as one.") from None
    missing = {"action", "reward"} - set(frame.columns)
    if missing:
        raise ValueError(
            f"Expected the columns action and reward in {file}, got none named {', '.join(sorted(missing))}."
        )
    action, reward = _actions(frame, file), _column(frame, "reward", file)
    if "arms" in frame.columns:
        arms = arm_sets.as_array(frame["arms"].to_list())
        if action.max() >= arms.shape[1] or not frame["action"].dtype.is_numeric():
            raise ValueError(f"Expected actions in 0..{arms.shape[1] - 1} in {file}, places in `arms`, got others.")
    else:
        names = [f"x{i}" for i in range(len(frame.columns)) if f"x{i}" in frame.columns]
        if not names:
            raise ValueError(f"Expected feature columns x0, x1, ... or arms in {file}, got {', '.join(frame.columns)}.")
        count = int(action.max()) + 1
        if len(np.unique(action)) < count:
            raise ValueError(
                f"Expected each of the actions 0..{count - 1} in {file}, got gaps: number them without, or name them."
            )
        context = np.stack([_column(frame, name, file) for name in names], axis=1)
        arms = np.einsum("ab,nj->nabj", np.eye(count), context).reshape(len(context), count, -1)
    propensity = np.full(len(action), 1 / arms.shape[1])
    if "propensity" in frame.columns:
        propensity = _column(frame, "propensity", file)
    if not (np.isfinite(reward).all() and ((propensity > 0) & (propensity <= 1)).all()):
        raise ValueError(f"Expected finite rewards and propensities in (0, 1] in {file}, got one outside.")
    bad = next((i for i, problem in enumerate(arm_sets.problems(arms)) if problem), None)
    if bad is not None:
        raise ValueError(f"Expected arms of norm at most 1 and finite features in {file}, got row {bad}.")
    return {"arms": np.ascontiguousarray(arms), "action": action, "reward": reward, "propensity": propensity}


def _actions(frame: pl.DataFrame, file: str) -> Integers:
    """The actions' numbers; names are numbered in their order."""
    column = frame["action"]
    if not len(column) or column.null_count():
        raise ValueError(f"Expected rounds with an action each in {file}, got none.")
    if column.dtype == pl.String:
        return np.unique(column.to_numpy(), return_inverse=True)[1].astype(np.int64)
    found = _column(frame, "action", file)
    if not (found == np.floor(found)).all() or found.min() < 0:
        raise ValueError(f"Expected names or whole actions in 0.. in {file}, got a negative one or a fraction.")
    return found.astype(np.int64)


def _column(frame: pl.DataFrame, name: str, file: str) -> Array:
    """A column of numbers; what is missing is NaN."""
    if not frame[name].dtype.is_numeric():
        raise ValueError(f"Expected numbers in the column {name} of {file}, got others.")
    return frame[name].to_numpy().astype(np.float64)
