"""Rows of a result as a polars frame, and as a file."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from reticent.experiments.result import Result, SimulatedRun

NUMBERS = ("epsilon", "delta", "regret", "reward_mean", "uniform_regret", "uniform_reward", "single_regret")


def frame(result: Result) -> pl.DataFrame:
    """One row a run."""
    columns = [f for f in SimulatedRun.__struct_fields__ if f not in ("options", "setting")]
    data: dict[str, Any] = {name: [getattr(run, name) for run in result.runs] for name in columns}
    data["options"] = [json.dumps(run.options, sort_keys=True) for run in result.runs]
    data["setting"] = [json.dumps(run.setting, sort_keys=True) for run in result.runs]
    return pl.DataFrame(data, schema_overrides=dict.fromkeys(NUMBERS, pl.Float64))


def write(result: Result, folder: str | Path) -> Path:
    """result.parquet in that folder."""
    path = Path(folder) / "result.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    frame(result).write_parquet(path)
    return path
