"""`python -m tools.plan.fit`: fit the formula to the stored simulations, and see how far off it is on settings that
it was not fitted to. With --simulate first do those that are not stored: an hour for all of them on one core.

The numbers of a model minimise the squared error, weighted by what is known of it (soft beyond a standard deviation),
plus a penalty for being far from what theory says (`start`). Forms and penalties were chosen by cross-validation on the
settings that are fitted to."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit import planning
from tacit.data import Array
from tacit.planning import formula
from tacit.planning.formula import FORMS, Sizes
from tacit.planning.setting import MODELS

SIMULATED = Path(__file__).parent / "simulated.jsonl"
FITTED = Path(planning.__file__).parent / "fitted.json"
FIELDS = ("model", "dim", "arms", "epsilon", "delta", "rounds_per_person", "radius")
TOLERANCE = 0.05
FLOOR = 0.015  # of the weight's standard deviation: the formula itself is no better
REACHES = (10, 30, 100)  # dimensions up to which it is told how long simulations were

Row = dict[str, Any]


def read(path: Path = SIMULATED) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(rows: Sequence[Row]) -> tuple[Sizes, Array, Array, Array]:
    """Sizes, rounds, shares and their standard errors, a line for each point of each row's curve."""
    from tools.plan.simulations import grid_of

    sizes, rest = [], []
    for row in rows:
        for point in zip(grid_of(len(row["share"])), row["share"], row["error"], strict=True):
            sizes.append((row["dim"], row["arms"], row["radius"], *row["noise"]))
            rest.append(point)
    rounds, share, error = np.array(rest, float).T
    return Sizes(*np.array(sizes, float).T), rounds, share, error


def start(model: str) -> tuple[Array, Array]:
    """What theory says of large n (the moment of t rounds is t / d long, its noise e sqrt(d)), and how much each number
    is held to it."""
    said = {
        "log_a": {"1": np.log(4 * 10**2 / 3**2), "d": 2 * 2.0, "r": -2.0},
        "log_b": {"1": np.log(16 * 10**3 / 3**2), "d": 2 * 3.0, "r": -2.0},
        "a": {"1": 1.0},
        "c": {"1": 1.0 if model == "local" else 2.0},
        "log_q": {},
    }
    held = {"1": 0.1, "d": 0.6, "k": 0.6, "r": 0.6}
    values, weights = [], []
    for name, terms in FORMS[model]._asdict().items():
        values += [said[name].get(term, 0.0) for term in terms]
        weights += [held.get(term, 1.0) if name in ("log_a", "log_b") else 2.0 for term in terms]
    return np.array(values), np.array(weights)


def fit(model: str, rows: Sequence[Row]) -> Array:
    from scipy.optimize import least_squares

    sizes, rounds, share, error = table(rows)
    weight = 1 / np.hypot(FLOOR, error)
    at, pull = start(model)

    def residuals(fitted: Array) -> Array:
        off = formula.shares(model, fitted, sizes, rounds) - share
        return np.concatenate([weight * off, pull * (fitted - at)])

    return np.asarray(least_squares(residuals, at, loss="soft_l1").x).round(4)


def errors(model: str, fitted: Array, rows: Sequence[Row]) -> list[Array]:
    """Formula minus simulation, at each point of each row's curve."""
    sizes, rounds, share, _ = table(rows)
    off = formula.shares(model, fitted, sizes, rounds) - share
    return np.split(off, np.cumsum([len(row["share"]) for row in rows])[:-1])


def judge(models: dict[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    """How far off the formula is on the held-out rows: a share of points, of all and of each model, and a share of the
    settings whose whole curve is within the tolerance."""
    found = {
        model: errors(model, np.array(models[model]), [row for row in rows if row["model"] == model])
        for model in MODELS
    }
    curves = [curve for each in found.values() for curve in each]
    points = np.abs(np.concatenate(curves))
    return {
        "tolerance": TOLERANCE,
        "settings": len(curves),
        "points": len(points),
        "within": round(float(np.mean(points <= TOLERANCE)), 4),
        "worst": round(float(points.max()), 4),
        "root_mean_square": round(float(np.sqrt(np.mean(points**2))), 4),
        "curves_within": round(float(np.mean([np.abs(curve).max() <= TOLERANCE for curve in curves])), 4),
        "models": {m: round(float(np.mean(np.abs(np.concatenate(each)) <= TOLERANCE)), 4) for m, each in found.items()},
    }


def reach(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """(dimension, rounds): up to that dimension, a tenth of the simulations were at least so long."""
    from tools.plan.simulations import grid_of

    out, below = [], 0
    for most in REACHES:
        ends = [grid_of(len(row["share"]))[-1] for row in rows if below < row["dim"] <= most]
        out.append((most, int(np.quantile(ends, 0.9))))
        below = most
    return out


def simulate(path: Path = SIMULATED) -> None:
    """What is not stored yet, one after the other: an interrupted command goes on where it stood."""
    from tools.plan import draws

    done = {(row["part"], row["number"]) for row in read(path)}
    with path.open("a") as file:
        for key in draws.wanted():
            if key not in done:
                file.write(json.dumps(draws.simulate(*key)) + "\n")
                file.flush()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.plan.fit")
    parser.add_argument("--simulate", action="store_true", help="first do the simulations that are not stored")
    if parser.parse_args(arguments).simulate:
        simulate()
    rows = read()
    own = [row for row in rows if row["part"] in ("fit", "noisy")]
    held_out, long = ([row for row in rows if row["part"] == part] for part in ("held-out", "long"))
    models = {model: fit(model, [row for row in own if row["model"] == model]).tolist() for model in MODELS}
    document = {
        "by": "python -m tools.plan.fit, from simulated.jsonl",
        "fitted_to": len(own),
        "error": judge(models, held_out),
        "long": judge(models, long),
        "reach": reach(own),
        "models": models,
    }
    FITTED.write_text(json.dumps(document, indent=1) + "\n")
    sys.stdout.write(json.dumps({name: document[name] for name in ("fitted_to", "error", "long")}, indent=1) + "\n")


if __name__ == "__main__":
    main()
