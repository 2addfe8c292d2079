"""Regret bounds by name, as lines beside measured curves: `tacit simulate --bound NAME --plot FILE`."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tacit import checks, registry
from tacit.model.links import Link
from tacit.privacy.budget import Budget


class Problem(NamedTuple):
    """What a world tells: kappa = 1 / (smallest slope over |z| <= radius) and kappa* = 1 / (largest slope) follow."""

    link: Link
    dim: int
    arms: int
    radius: float
    budget: Budget
    constant: float = 1.0  # for what stands under an O
    eigenvalue: float = 0.0  # lambda_min of E[x x']

    @property
    def kappas(self) -> dict[str, float]:
        return {"kappa": self.link.kappa(self.radius), "kappa_star": 1 / self.link.steepest}

    @property
    def condition(self) -> float:
        return self.link.steepest * self.link.kappa(self.radius)


@dataclass(frozen=True)
class Drawn:
    """explicit: its constants are known, else it holds up to `constant`; lower: no algorithm is below; linear: it is
    for the identity link."""

    statement: str
    value: Callable[[Problem, int], float]
    explicit: bool = False
    lower: bool = False
    linear: bool = False


class Line(NamedTuple):
    """One bound, ready to be drawn."""

    label: str
    at: list[int]
    values: list[float]
    lower: bool


def line(name: str, problem: Problem, horizon: int) -> Line:
    """The bound up to that many rounds, at 50 places; its value at the end is in its label."""
    checks.name("a bound", name, brought())
    bound = brought()[name]
    if bound.linear and problem.link.name != "identity":
        raise ValueError(f"Expected linear rewards for the bound {name}, got the link {problem.link.name}.")
    first = max(problem.dim + 1, 3)
    if horizon <= first:
        raise ValueError(f"Expected a horizon above {first} for the bound {name}, got {horizon}.")
    at = np.unique(np.geomspace(max(first, horizon / 1000), horizon, 50).astype(int)).tolist()
    values = [bound.value(problem, t) for t in at]
    times = "" if problem.constant == 1 or bound.explicit else f" × {problem.constant:g}"
    times += f" λ={problem.eigenvalue:g}" if problem.eigenvalue else ""
    label = f"{name}{times} ε={problem.budget.epsilon:g} ({values[-1]:,.3g} at the end)"
    return Line(label, at, values, bound.lower)


def brought() -> dict[str, Drawn]:
    """Every bound that a package brings."""
    return {
        name: drawn
        for home in registry.values("BOUNDS")
        for name, drawn in importlib.import_module(home).BOUNDS.items()
    }
