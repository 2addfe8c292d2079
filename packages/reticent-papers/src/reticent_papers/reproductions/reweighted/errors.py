"""L1 error against the number of rows: every estimator, cloud, epsilon and model."""

import json
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import SeedSequence, default_rng

from reticent.experiments.runner import Progress
from reticent.privacy.budget import Budget
from reticent.privacy.noise import Simulated
from reticent_lab.experiments import disk_cache
from reticent_papers.regression import (
    ImproperSGD,
    OutputPerturbation,
    PrivateNewton,
    PrivateRidge,
    ReweightedGLM,
    ReweightedLinear,
)
from reticent_papers.regression.base import Regressor
from reticent_papers.regression.estimate import condition
from reticent_papers.reproductions.reweighted import worlds

DELTA = 1e-5
RIDGES = (0.5, 1.0, 2.0, 4.0)
SEED = 2502
COUNTS = 1_000, 10_000, 100_000, 1_000_000  # rows; the last is not in a quick run


def cells(quick: bool) -> Iterator[dict[str, Any]]:
    """What to run: cloud, link, radius, model, epsilon, rows."""
    counts = COUNTS[:3] if quick else COUNTS
    for cloud, link, radius in (
        ("well", "identity", 1.0),
        ("ill", "identity", 1.0),
        ("rare", "identity", 1.0),
        ("well", "logistic", 3.0),
        ("ill", "logistic", 3.0),
        ("ill", "logistic", 1.0),
    ):
        for model, epsilon in (("joint", 1.0), ("joint", 0.1), ("local", 4.0)):
            if radius == 1.0 and link == "logistic" and (model == "local" or quick):
                continue
            for count in counts:
                cell = {"cloud": cloud, "link": link, "radius": radius, "model": model, "epsilon": epsilon}
                yield cell | {"rows": count}


def regressors(cell: dict[str, Any], source: Callable[[], Simulated]) -> dict[str, Regressor]:
    radius, linear = cell["radius"], cell["link"] == "identity"
    common: dict[str, Any] = {"budget": Budget(cell["epsilon"], DELTA), "radius": radius, "model": cell["model"]}
    if linear:
        common["targets"] = (-radius, radius)
    ours: Any = ReweightedLinear if linear else ReweightedGLM
    plain: Any = PrivateRidge if linear else PrivateNewton
    name = "ridge" if linear else "newton"
    out: dict[str, Regressor] = {"reweighted": ours(**common, source=source())}
    if cell["rows"] >= 10_000:
        out["reweighted, paper"] = ours(**common, schedule="paper", source=source())
    seed = source().generator.integers(2**63)  # one release, several ridges
    for ridge in RIDGES:
        out[f"{name} {ridge:g}"] = plain(**common, ridge=ridge, source=Simulated(int(seed)))
        if linear:
            same = Simulated(int(seed))
            out[f"radial ridge {ridge:g}"] = plain(**common, ridge=ridge, projection="radial", source=same)
    free = common | {"budget": Budget(math.inf, DELTA), "model": "joint", "source": Simulated(0)}
    out["no noise"] = plain(**free, **({} if linear else {"steps": 6}))
    if linear:
        out["improper sgd"] = ImproperSGD(**common, source=source())
    elif cell["model"] == "joint":
        out["output perturbation"] = OutputPerturbation(**common, source=source())
    return out


def measure(cell: dict[str, Any], run: int) -> dict[str, list[float]]:
    """Error, coverage of 90 % intervals and their mean half-width for each regressor; what the normalisation
    reached."""
    world, privacy = SeedSequence([SEED, cell["rows"], run]).spawn(2)
    data = worlds.draw(cell["cloud"], cell["link"], cell["radius"], cell["rows"], default_rng(world))
    seeds = iter(privacy.spawn(20))
    out = {"constant": [float(np.mean(np.abs(data.means - data.means.mean()))), 0.0, 0.0]}  # what no row teaches
    for name, regressor in regressors(cell, lambda: Simulated(next(seeds))).items():
        try:
            regressor.fit(data.x, data.y)
        except ValueError:  # the paper's split leaves a part without rows
            if not name.endswith("paper"):
                raise
            continue
        ends = regressor.predict_interval(data.fresh, level=0.9)
        inside = (ends[:, 0] <= data.means) & (data.means <= ends[:, 1])
        error = float(np.mean(np.abs(regressor.predict(data.fresh) - data.means)))
        out[name] = [error, float(inside.mean()), float(np.mean(ends[:, 1] - ends[:, 0]) / 2)]
        if isinstance(regressor, ReweightedLinear | ReweightedGLM) and cell["cloud"] != "rare":
            out[f"normalisation of {name}"] = list(condition(regressor.normalisation_, data.fresh))
    return out


def measure_all(quick: bool, runs: int | None, out: Path, progress: Progress | None) -> list[dict[str, Any]]:
    """A row for each cell and estimator; finished runs are kept in `out`."""
    listed = list(cells(quick))
    work = [cell["rows"] for cell in listed]
    places = [[place(out, cell, run) for run in range(runs or (3 if quick else _runs(cell)))] for cell in listed]
    disk_cache.tell(path for cell in places for path in cell)
    rows = []
    for i, cell in enumerate(listed):
        values = []
        for run, path in enumerate(places[i]):
            if not path.exists():
                disk_cache.write(path, json.dumps(measure(cell, run)).encode())
            values.append(json.loads(path.read_text()))
        for name in values[0]:
            array = np.array([value[name] for value in values if name in value])
            rows.append(cell | {"estimator": name, "runs": len(array)} | _summary(name, array))
        if progress is not None:
            progress(sum(work[: i + 1]) / sum(work))
    return rows


def place(out: Path, cell: dict[str, Any], run: int) -> Path:
    """Where what `measure` finds is kept."""
    return disk_cache.place(out / "errors", {"cell": cell, "run": run}, sys.modules[__name__], worlds)


def _runs(cell: dict[str, Any]) -> int:
    if cell["rows"] < 1_000_000:
        return 20
    return 4 if cell["cloud"] != "ill" else 12 if cell["link"] == "identity" else 8


def _summary(name: str, array: Any) -> dict[str, Any]:
    if name.startswith("normalisation"):
        good = (array[:, 0] >= 0.5) & (array[:, 1] <= 2.0) & (array[:, 2] <= 0.1)
        return {"good": float(good.mean()), "low": float(array[:, 0].min()), "high": float(array[:, 1].max())} | {
            "ridge": float(array[:, 2].max())
        }
    error = float(array[:, 0].std(ddof=1) / math.sqrt(len(array))) if len(array) > 1 else None
    means = array.mean(axis=0)
    return {"error": float(means[0]), "error_se": error, "coverage": float(means[1]), "half_width": float(means[2])}


def find(found: list[dict[str, Any]], estimator: str, **cell: Any) -> dict[str, Any] | None:
    """The row of that estimator; "best" is the ridge or Newton that has the least mean error, chosen with hindsight."""
    here = [row for row in found if all(row[k] == v for k, v in cell.items())]
    if estimator in ("best", "best radial"):
        start = ("ridge", "newton") if estimator == "best" else ("radial",)
        plain = [row for row in here if row["estimator"].startswith(start)]
        return min(plain, key=lambda row: float(row["error"])) if plain else None
    return next((row for row in here if row["estimator"] == estimator), None)


def slope(found: list[dict[str, Any]], estimator: str, *, fewest: int, **cell: Any) -> float:
    """Of log error against log rows, from that many rows on."""
    counts = sorted({row["rows"] for row in found if row["rows"] >= fewest})
    rows = [find(found, estimator, rows=count, **cell) for count in counts]
    points = [(row["rows"], row["error"]) for row in rows if row]
    return float(np.polyfit(np.log([p[0] for p in points]), np.log([p[1] for p in points]), 1)[0])
