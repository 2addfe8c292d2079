"""Bandits of all trust models in all environments at epsilon .5, 1, 4 and, in the joint model, without noise: the page
we judge ourselves by. More of the local model: local-suite."""

import math
from pathlib import Path

from tacit import environments
from tacit.arena.worlds import small
from tacit.bandits import MLEUCB, Bandit, JointGLM, JointLinUCB, LinUCB, LocalIRLS, Server, ShuffleNewton, Uniform
from tacit.environments import Environment
from tacit.experiments.outcome import Finding, Outcome
from tacit.experiments.result import Result
from tacit.experiments.runner import Progress, simulate
from tacit.experiments.spec import Spec
from tacit.experiments.table import render
from tacit.papers import (
    GLMUCB,
    GLOC,
    ECOLog,
    JointGLMRare,
    JointReweighted,
    LocalGLM,
    LocalLinUCB,
    LocalReweighted,
    LogisticTS,
    RSGLinUCB,
    ShuffleGLM,
    ShuffleLinUCB,
)
from tacit.papers.reproductions.findings import above_plain, anchored, part, regret, together
from tacit.papers.reproductions.suite.picture import draw
from tacit.privacy.budget import Budget

DELTA = 0.02
EPSILONS = (0.5, 1.0, 4.0, math.inf)
ROUNDS = 5000
APART: tuple[type[Bandit] | type[Server], ...] = (
    ShuffleNewton,
    LocalIRLS,
    JointReweighted,
)  # joint-glm's of other kinds
MORE = (ShuffleGLM, ShuffleLinUCB, LocalGLM, LocalLinUCB, LocalReweighted)


def probit_worlds() -> list[Environment]:
    return [*small(), environments.sphere(radius=3.0, link="probit")]


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
    others = APART if world.dim > 12 else APART + MORE
    listed = [Spec(kind) for kind in plain] + [Spec(kind, budget=Budget(e, DELTA)) for kind in kinds for e in EPSILONS]
    listed += [Spec(kind, budget=Budget(e, DELTA)) for kind in others for e in EPSILONS if e < math.inf]
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
    result = together(results)
    draw(result, out / "figure.png")
    findings = [_order(result, epsilon) for epsilon in (1.0, 4.0)]
    for epsilon, mean, p95 in ((1.0, 105, 180), (4.0, 60, 110)):
        rows = [r for r in result.rows if r["label"] == f"joint-glm ε={epsilon:g}"][:6]
        worst = max(r["regret_mean"] for r in rows), max(r["regret_p95"] for r in rows)
        findings.append(
            Finding(
                f"target for JointGLM at ε = {epsilon:g} on the first six: mean at most {mean}, 95th percentile {p95}",
                f"at most {worst[0]:.1f} and {worst[1]:.1f}",
                worst[0] <= mean and worst[1] <= p95,
            )
        )
    findings.append(above_plain(result))
    title = f"All bandits in all environments, T = {ROUNDS}, δ = {DELTA}"
    return Outcome(title, result, findings, render(result.rows))


def _order(result: Result, epsilon: float) -> Finding:
    """What trust buys: in how many worlds a curator beats a shuffler, and a shuffler beats devices alone."""
    worlds = list(dict.fromkeys(row["env"] for row in result.rows))
    found = {(row["env"], row["label"]): regret(row) for row in result.rows}
    names = [f"{name} ε={epsilon:g}" for name in ("joint-glm", "shuffle-newton", "local-irls")]
    wrong = [env for env in worlds if sorted(names, key=lambda name: found[env, name].mean) != names]
    text = f"in {len(worlds) - len(wrong)} of {len(worlds)} environments; not in {', '.join(wrong) or 'none'}"
    order = Finding(f"ε = {epsilon:g}: joint-glm below shuffle-newton below local-irls everywhere", text, not wrong)
    return anchored(order, [found[env, names[0]] for env in worlds])
