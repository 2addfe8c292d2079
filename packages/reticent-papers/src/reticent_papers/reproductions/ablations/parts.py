"""What is run: each part is a list of worlds and horizons, and the bandits in them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reticent import Uniform, environments
from reticent.environments import Environment, ball
from reticent.experiments.result import Result
from reticent.experiments.runner import Progress
from reticent.experiments.spec import Spec
from reticent.joint import JointGLM
from reticent.kernels.glm import Tuning
from reticent.privacy.budget import Budget
from reticent_devices import LocalIRLS, ShuffleNewton
from reticent_lab.arena.worlds import small
from reticent_lab.experiments.sweeps import simulate
from reticent_papers import GLMUCB, GLOC, BGLinCB, ECOLog, JointGLMRare, RSGLinUCB, ShariffLinUCB, ShuffleGLM
from reticent_papers.references.mle_ucb import MLEUCB
from reticent_papers.reproductions.findings import part, together

DELTA = 0.02
ROUNDS, QUICK = 5000, 1500  # of the parts that do not vary the horizon
RADII = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
DIMS = (3, 5, 10, 20)
HORIZONS = (1000, 4000, 16_000)
SEED = 2602


@dataclass(frozen=True)
class Part:
    """One of the things that are varied."""

    worlds: tuple[Environment, ...]
    specs: Callable[[Environment], list[Spec]]
    horizons: tuple[int, ...] = ()  # () for ROUNDS

    def play(self, quick: bool, runs: int | None, out: Path, progress: Progress | None) -> Result:
        horizons = self.horizons or ((QUICK if quick else ROUNDS),)
        cells = [(world, horizon) for world in self.worlds for horizon in horizons]
        results = []
        for i, (world, horizon) in enumerate(cells):
            report = part(progress, i / len(cells), (i + 1) / len(cells))
            count = runs or (2 if quick else 50)
            specs = self.specs(world)
            results.append(simulate(specs, world, horizon=horizon, runs=count, seed=SEED, out=out, progress=report))
        return together(results)


def budget(epsilon: float) -> Budget:
    return Budget(epsilon, DELTA)


def main(world: Environment) -> list[Spec]:
    """The paper's two settings and ours, with the non-private algorithms that they are measured against."""
    return [
        Spec(Uniform),
        Spec(MLEUCB),
        Spec(GLMUCB, failure=DELTA, label="glm-ucb"),
        Spec(RSGLinUCB, failure=DELTA, label="rs-glin-ucb"),
        Spec(JointGLMRare, budget=budget(4.0), label="joint-glm-rare ε=4"),
        Spec(JointGLM, budget=budget(1.0), label="joint-glm ε=1"),
        Spec(JointGLM, budget=budget(4.0), label="joint-glm ε=4"),
        Spec(ShuffleNewton, budget=budget(4.0), label="shuffle-newton ε=4"),
        Spec(LocalIRLS, budget=budget(4.0), label="local-irls ε=4"),
    ]


def shuffled(world: Environment) -> list[Spec]:
    plain = [Spec(Uniform), Spec(BGLinCB, width_scale=0.03, label="b-glin-cb, not private")]
    for epsilon in EPSILONS:
        plain += [
            Spec(ShuffleGLM, budget=budget(epsilon), label=f"shuffle-glm ε={epsilon:g}"),
            Spec(ShuffleNewton, budget=budget(epsilon), label=f"shuffle-newton ε={epsilon:g}"),
            Spec(JointGLM, budget=budget(epsilon), label=f"joint-glm ε={epsilon:g}"),
        ]
    return plain


def ablated(world: Environment) -> list[Spec]:
    """Algorithm 2 (strict timing) and JointGLM at epsilon 4, each with one thing changed."""
    rare: dict[str, dict[str, Any]] = {
        "": {},
        "timing published": {"timing": "published"},
        "6 steps of descent": {"iterations": 6},
        "24 steps of descent": {"iterations": 24},
        "3/4 of the budget on V, H": {"share": 0.75},
        "1/4 of the budget on V, H": {"share": 0.25},
        "no width": {"width": 0.0},
        "width 1": {"width": 1.0},
    }
    ours: dict[str, dict[str, Any]] = {
        "": {},
        "no exploration": {"tuning": Tuning(explore=0.0)},
        "no shrinkage": {"tuning": Tuning(ridge=0.01)},
        "steps that grow by 30 %": {"growth": 1.3},
    }
    out = [Spec(JointGLMRare, budget=budget(4.0), label=_named("joint-glm-rare", k), **v) for k, v in rare.items()]
    out += [Spec(JointGLM, budget=budget(4.0), label=_named("joint-glm", k), **v) for k, v in ours.items()]
    return [*out, Spec(ShariffLinUCB, release="batched", budget=budget(4.0), label="shariff-lin-ucb: no link")]


def timed(world: Environment) -> list[Spec]:
    listed = main(world)[1:]
    return [*listed, Spec(GLOC, failure=DELTA, label="gloc"), Spec(ECOLog, failure=DELTA, label="ecolog")]


def _named(name: str, change: str) -> str:
    return f"{name}: {change}" if change else name


def scaled(world: Environment) -> list[Spec]:
    """For the horizon: without privacy, and with."""
    names = ("mle-ucb", "rs-glin-ucb", "joint-glm-rare ε=4", "joint-glm ε=1", "joint-glm ε=4", "shuffle-newton ε=4")
    return [spec for spec in timed(world) if spec.label in (*names, "gloc", "ecolog")]


def anywhere(world: Environment) -> list[Spec]:
    return [spec for spec in main(world) if spec.label in ("uniform", "joint-glm-rare ε=4", "joint-glm ε=4")]


PARTS = {
    "kappa": Part(tuple(ball(dim=3, arms=20, radius=radius, link="logistic") for radius in RADII), main),
    "shuffle": Part((ball(dim=5, arms=20, radius=3.0, link="logistic"),), shuffled),
    "ablation": Part((ball(dim=3, arms=20, radius=3.0, link="probit"),), ablated),
    "dimension": Part(tuple(ball(dim=d, arms=20, radius=3.0, link="logistic") for d in DIMS), timed, (1000,)),
    "horizon": Part((ball(dim=5, arms=20, radius=3.0, link="logistic"),), scaled, HORIZONS),
    "contexts": Part((*small(), environments.sphere(radius=3.0, link="probit"), environments.skewed()), anywhere),
}
