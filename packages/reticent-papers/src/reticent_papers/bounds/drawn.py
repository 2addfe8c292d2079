"""The papers' bounds by name, as lines beside measured curves: `reticent bounds --bound NAME --plot FILE`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from reticent import checks
from reticent.model.links import Link
from reticent.privacy.budget import Budget
from reticent_lab import plain
from reticent_lab.experiments.figure import Line
from reticent_papers import ShariffLinUCB
from reticent_papers.bounds import chen, improved, sarmasarkar, shariff


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
        return {"kappa": plain.kappa(self.link, self.radius), "kappa_star": 1 / self.link.steepest}

    @property
    def condition(self) -> float:
        return self.link.steepest * plain.kappa(self.link, self.radius)


@dataclass(frozen=True)
class Drawn:
    """explicit: its constants are known, else it holds up to `constant`; lower: no algorithm is below; linear: it is
    for the identity link."""

    statement: str
    value: Callable[[Problem, int], float]
    explicit: bool = False
    lower: bool = False
    linear: bool = False


def _shariff_lin_ucb(p: Problem, t: int) -> float:
    largest = max(1.0, p.radius)  # rewards of the simulated worlds
    options: dict[str, Any] = {"dim": p.dim, "horizon": t, "radius": p.radius, "failure": 0.01}
    bandit = ShariffLinUCB(release="batched", budget=p.budget, rewards=(-largest, largest), **options)
    return shariff.linear_ucb(bandit.regularizer, subgaussian=largest, largest_mean=p.radius, **options)


def _joint_reweighted(p: Problem, t: int) -> float:
    sizes = {"dim": p.dim, "horizon": t, "spanned": min(p.dim, p.arms)}
    if p.link.name == "identity":
        return chen.joint_reweighted_linear(**sizes, arms=p.arms, budget=p.budget, constant=p.constant)
    return chen.joint_reweighted(**sizes, budget=p.budget, condition=p.condition, constant=p.constant)


def _local_reweighted(p: Problem, t: int) -> float:
    sizes = {"dim": p.dim, "horizon": t, "spanned": min(p.dim, p.arms)}
    return chen.local_reweighted(**sizes, budget=p.budget, condition=p.condition, constant=p.constant)


def _shuffle(which: Callable[..., float]) -> Callable[[Problem, int], float]:
    return lambda p, t: which(dim=p.dim, horizon=t, budget=p.budget, radius=p.radius, constant=p.constant, **p.kappas)


def _online(which: Callable[..., float]) -> Callable[[Problem, int], float]:
    return lambda p, t: which(
        dim=p.dim, horizon=t, epsilon=p.budget.epsilon, eigenvalue=p.eigenvalue, constant=p.constant
    )


def _square_cb(model: str) -> Callable[[Problem, int], float]:
    return lambda p, t: chen.square_cb(model=model, arms=p.arms, horizon=t, budget=p.budget, constant=p.constant)


def _linear_lower(model: str) -> Callable[[Problem, int], float]:
    return lambda p, t: chen.linear_lower(
        model=model, dim=p.dim, arms=p.arms, horizon=t, epsilon=p.budget.epsilon, constant=p.constant
    )


BOUNDS = {
    "glm-lower": Drawn(
        "Sarmasarkar 2026, Lemma 7.1 repaired",
        lambda p, t: sarmasarkar.glm_lower(p.link, dim=p.dim, horizon=t, radius=p.radius, budget=p.budget),
        explicit=True,
        lower=True,
    ),
    "linear-lower": Drawn("Chen et al. 2025, Table 1, joint", _linear_lower("joint"), lower=True, linear=True),
    "local-linear-lower": Drawn("Chen et al. 2025, Table 1, local", _linear_lower("local"), lower=True, linear=True),
    "shariff-lin-ucb": Drawn(
        "Shariff & Sheffet 2018, Theorem 5, our constants", _shariff_lin_ucb, explicit=True, linear=True
    ),
    "joint-glm-rare": Drawn("Sarmasarkar 2026, Theorem J.8", _shuffle(sarmasarkar.joint_glm_rare)),
    "joint-glm-rare-rate": Drawn(
        "Sarmasarkar 2026, Theorem 6.2",
        lambda p, t: sarmasarkar.joint_glm_rare_rate(
            dim=p.dim, horizon=t, budget=p.budget, kappa_star=1 / p.link.steepest, constant=p.constant
        ),
    ),
    "shuffle-glm": Drawn("Sarmasarkar 2026, Theorem E.3", _shuffle(sarmasarkar.shuffle_glm)),
    "shuffle-glm-rate": Drawn("Sarmasarkar 2026, Theorem 5.1", _shuffle(sarmasarkar.shuffle_glm_rate)),
    "local-online-ucb": Drawn(
        "Improved rate, Corollary 3.6",
        lambda p, t: improved.local_online_ucb(
            dim=p.dim, horizon=t, budget=p.budget, eigenvalue=p.eigenvalue, radius=p.radius, constant=p.constant
        ),
        linear=True,
    ),
    "local-online-ucb-rate": Drawn(
        "Improved rate, Corollary 3.6, rate", _online(improved.local_online_ucb_rate), linear=True
    ),
    "local-anytime-ucb": Drawn(
        "Improved rate, Theorem E.1",
        lambda p, t: improved.local_anytime_ucb(dim=p.dim, horizon=t, epsilon=p.budget.epsilon, constant=p.constant),
        linear=True,
    ),
    "local-combiner": Drawn("Improved rate, Theorem 4.1", _online(improved.local_combiner), linear=True),
    "joint-reweighted": Drawn("Chen et al. 2025, Theorems 5.1, 5.2", _joint_reweighted),
    "local-reweighted": Drawn("Chen et al. 2025, Theorem 5.3", _local_reweighted),
    "joint-square-cb": Drawn("Chen et al. 2025, Theorem 6.4", _square_cb("joint"), linear=True),
    "local-square-cb": Drawn("Chen et al. 2025, Theorem 6.4", _square_cb("local"), linear=True),
}


def line(name: str, problem: Problem, horizon: int) -> Line:
    """The bound up to that many rounds, at 50 places; its value at the end is in its label."""
    checks.name("a bound", name, BOUNDS)
    bound = BOUNDS[name]
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
