"""Results: one row a run, summed up in a table, a picture and JSON."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from tacit import extras
from tacit.experiments import disk_cache

if TYPE_CHECKING:
    import polars

    from tacit.experiments.figure import Line


class SimulatedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One bandit, one world, one seed."""

    bandit: str
    label: str
    env: str
    options: dict[str, Any]
    setting: dict[str, Any]
    epsilon: float | None  # inf without noise, None for bandits without privacy
    delta: float | None
    horizon: int
    seed: int
    run: int
    rounds: int  # that counted: all, or those where a replayed log agreed
    regret: float | None  # None for replayed logs
    reward_mean: float | None  # None if no round counted
    uniform_regret: float | None  # to expect of uniform play in the same world
    uniform_reward: float | None
    single_regret: float | None  # of always playing one place among the arms, the best in hindsight
    us_per_round: float
    at: list[int]
    curve: list[float]

    def write(self, path: Path) -> None:
        # JSON has no infinity: epsilon without noise is written as -1
        plain = msgspec.structs.replace(self, epsilon=-1.0 if self.epsilon == math.inf else self.epsilon)
        disk_cache.write(path, msgspec.json.encode(plain))

    @classmethod
    def read(cls, path: Path) -> "SimulatedRun":
        run = msgspec.json.decode(path.read_bytes(), type=cls)
        return msgspec.structs.replace(run, epsilon=math.inf) if run.epsilon == -1 else run


class Result:
    """All runs, and ways to look at them."""

    def __init__(self, runs: Sequence[SimulatedRun]) -> None:
        self.runs = list(runs)

    def groups(self) -> list[list[SimulatedRun]]:
        """Runs that differ in nothing but their number, in order of first appearance."""
        out: dict[str, list[SimulatedRun]] = {}
        for run in self.runs:
            parts = [run.label, run.bandit, run.options, run.epsilon, run.delta, run.env, run.setting, run.horizon]
            out.setdefault(json.dumps(parts, sort_keys=True), []).append(run)
        return list(out.values())

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row a group: mean, standard error, 95th percentile and maximum of regret over runs."""
        return [_row(group) for group in self.groups()]

    @property
    def frame(self) -> "polars.DataFrame":
        """One row a run (polars)."""
        pl = extras.load("polars", "result rows")
        columns = [f for f in SimulatedRun.__struct_fields__ if f not in ("options", "setting")]
        data: dict[str, Any] = {name: [getattr(run, name) for run in self.runs] for name in columns}
        data["options"] = [json.dumps(run.options, sort_keys=True) for run in self.runs]
        data["setting"] = [json.dumps(run.setting, sort_keys=True) for run in self.runs]
        numbers = ("epsilon", "delta", "regret", "reward_mean", "uniform_regret", "uniform_reward", "single_regret")
        schema = dict.fromkeys(numbers, pl.Float64)
        frame: polars.DataFrame = pl.DataFrame(data, schema_overrides=schema)
        return frame

    def write(self, folder: str | Path) -> Path:
        """result.parquet in that folder."""
        path = Path(folder) / "result.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        self.frame.write_parquet(path)
        return path

    def json(self) -> dict[str, Any]:
        return {"rows": self.rows}

    def table(self) -> str:
        """The summary as text."""
        from tacit.experiments.table import render

        return render(self.rows)

    def plot(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        log: bool = False,
        bounds: Mapping[str, Sequence["Line"]] | None = None,
    ) -> None:
        """Regret curves with bands, as PNG, SVG or PDF by the file's name; beside them bounds, by environment."""
        from tacit.experiments.figure import regret_curves

        regret_curves(self.groups(), Path(path), title=title, log=log, bounds=bounds)


def _row(group: list[SimulatedRun]) -> dict[str, Any]:
    first = group[0]
    return {
        "bandit": first.bandit,
        "label": first.label,
        "env": first.env,
        "epsilon": None if first.epsilon == math.inf else first.epsilon,
        "delta": first.delta,
        "horizon": first.horizon,
        "seed": first.seed,
        "runs": len(group),
        "rounds_mean": float(np.mean([run.rounds for run in group])),
        **_summary([run.regret for run in group], [run.reward_mean for run in group]),
        "uniform": _summary([run.uniform_regret for run in group], [run.uniform_reward for run in group]),
        "us_per_round": float(np.median([run.us_per_round for run in group])),
        "options": first.options,
        "setting": first.setting,
    }


def _summary(regrets: Sequence[float | None], rewards: Sequence[float | None]) -> dict[str, float | None]:
    """Mean, standard error, 95th percentile and maximum of regret, and the mean reward; None where there is none."""
    out: dict[str, float | None] = dict.fromkeys(f"regret_{part}" for part in ("mean", "se", "p95", "max"))
    regret = np.array([value for value in regrets if value is not None])
    if len(regret):
        out["regret_mean"] = float(regret.mean())
        out["regret_se"] = float(regret.std(ddof=1) / math.sqrt(len(regret))) if len(regret) > 1 else None
        out["regret_p95"] = float(np.quantile(regret, 0.95))
        out["regret_max"] = float(regret.max())
    counted = [value for value in rewards if value is not None]
    return out | {"reward_mean": float(np.mean(counted)) if counted else None}
