"""Results: one row a run, summed up in a table and JSON."""

import html
import json
import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np


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

    def json(self) -> dict[str, Any]:
        return {"rows": self.rows}

    def __repr__(self) -> str:
        return f"<Result: {len(self.runs)} runs, {len(self.groups())} rows>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.table())}</pre>"

    def table(self) -> str:
        """The summary as text."""
        from reticent.experiments.table import render

        return render(self.rows)


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
