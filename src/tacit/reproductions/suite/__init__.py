"""All bandits in all environments at epsilon .5, 1, 4 and without noise: the page we judge ourselves by."""

import math
from pathlib import Path

from tacit import environments
from tacit.bandits import (
    GLMUCB,
    GLOC,
    MLEUCB,
    Bandit,
    ECOLog,
    JointGLM,
    JointGLMRare,
    JointLinUCB,
    LinUCB,
    LogisticTS,
    RSGLinUCB,
    Uniform,
)
from tacit.environments import Environment
from tacit.experiments.figure import regret_curves
from tacit.experiments.result import Result
from tacit.experiments.runner import Progress, simulate
from tacit.experiments.spec import Spec
from tacit.experiments.table import render
from tacit.privacy.budget import Budget
from tacit.reproductions.outcome import Finding, Outcome, part

DELTA = 0.02
EPSILONS = (0.5, 1.0, 4.0, math.inf)
ROUNDS = 5000
SHOWN = (
    "lin-ucb",
    "mle-ucb",
    "joint-lin-ucb ε=1",
    "joint-glm-rare ε=4",
    "joint-glm ε=0.5",
    "joint-glm ε=1",
    "joint-glm ε=4",
)


def probit_worlds() -> list[Environment]:
    probit = {"radius": 3.0, "link": "probit"}
    return [
        environments.ball(dim=3, arms=20, **probit),  # type: ignore[arg-type]
        environments.fixed(dim=3, arms=20, **probit),  # type: ignore[arg-type]
        environments.basis(dim=5, arms=5, **probit),  # type: ignore[arg-type]
        environments.shift(**probit),  # type: ignore[arg-type]
        environments.gap(**probit),  # type: ignore[arg-type]
        environments.rare(**probit),  # type: ignore[arg-type]
        environments.sphere(**probit),  # type: ignore[arg-type]
    ]


def worlds() -> list[Environment]:
    return [
        *probit_worlds(),
        environments.skewed(),
        environments.tail(radius=3.0, link="logistic"),
        environments.digits(),
        environments.breast_cancer(),
        environments.drift(radius=3.0, link="probit"),
    ]


def specs(world: Environment) -> list[Spec]:
    """Every bandit that fits the world; published widths for the references but the tuned MLEUCB."""
    plain: list[type[Bandit]] = [Uniform, LinUCB, MLEUCB, LogisticTS, GLMUCB]
    if world.dim <= 12:  # milliseconds a round in 60 dimensions
        plain += [RSGLinUCB, GLOC]
        if world.link == "logistic":
            plain.append(ECOLog)
    kinds: list[type[Bandit]] = [JointLinUCB, JointGLM]
    if world.dim <= 5:  # the optimiser's noise leaves nothing to learn from in more dimensions
        kinds.append(JointGLMRare)
    listed = [Spec(kind) for kind in plain] + [Spec(kind, budget=Budget(e, DELTA)) for kind in kinds for e in EPSILONS]
    if isinstance(world, environments.drift):
        listed += [Spec(JointGLM, budget=Budget(e, DELTA), forget=ROUNDS / 10) for e in EPSILONS]
    return listed


def reproduce(*, quick: bool, runs: int | None, out: Path, progress: Progress | None = None) -> Outcome:
    listed = worlds()
    results = []
    for i, world in enumerate(listed):
        report = part(progress, i / len(listed), (i + 1) / len(listed))
        count = runs or (2 if quick else 100)
        results.append(simulate(specs(world), world, horizon=ROUNDS, runs=count, seed=31, out=out, progress=report))
    result = Result([run for each in results for run in each.runs])
    regret_curves([group for group in result.groups() if group[0].label in SHOWN], out / "figure.png")
    findings = []
    for epsilon, mean, p95 in ((1.0, 105, 180), (4.0, 60, 110)):
        rows = [r for r in result.rows if r["bandit"] == "joint-glm" and r["epsilon"] == epsilon][:6]
        worst = max(r["regret_mean"] for r in rows), max(r["regret_p95"] for r in rows)
        findings.append(
            Finding(
                f"target for JointGLM at ε = {epsilon:g} on the first six: mean at most {mean}, 95th percentile {p95}",
                f"at most {worst[0]:.1f} and {worst[1]:.1f}",
                worst[0] <= mean and worst[1] <= p95,
            )
        )
    title = f"All bandits in all environments, T = {ROUNDS}, δ = {DELTA}"
    return Outcome(title, result, findings, render(result.rows))
