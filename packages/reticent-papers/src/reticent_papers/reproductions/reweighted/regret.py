"""Regret against time and epsilon beside JointGLM and LocalIRLS; the coverage of the intervals that eliminate arms."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import SeedSequence, default_rng

from reticent import Uniform, environments
from reticent.environments import Environment
from reticent.experiments.result import Result
from reticent.experiments.runner import Progress
from reticent.experiments.spec import Spec
from reticent.joint import JointGLM
from reticent.privacy.budget import Budget
from reticent_devices import LocalIRLS
from reticent_lab.experiments.sweeps import simulate
from reticent_papers import JointReweighted, JointSquareCB, LocalReweighted, LocalSquareCB
from reticent_papers.reproductions.findings import part

DELTA = 1e-6
SEED = 3115
QUICK = 20_000  # rounds of a quick run


def play(quick: bool, runs: int | None, out: Path, progress: Progress | None) -> Result:
    horizon, count = (QUICK, 2) if quick else (200_000, 3)
    budgets = {epsilon: Budget(epsilon, DELTA) for epsilon in (0.1, 1.0, 4.0)}
    glm = [Spec(Uniform)]
    for epsilon in (0.1, 1.0):
        glm += [
            Spec(JointReweighted, budget=budgets[epsilon]),
            Spec(JointReweighted, budget=budgets[epsilon], width=1.0),
            Spec(JointGLM, budget=budgets[epsilon]),
        ]
    glm += [Spec(LocalReweighted, budget=budgets[4.0]), Spec(LocalReweighted, budget=budgets[4.0], width=1.0)]
    glm += [Spec(LocalIRLS, budget=budgets[epsilon]) for epsilon in (1.0, 4.0)]
    square = [Spec(JointSquareCB, budget=budgets[1.0]), Spec(LocalSquareCB, budget=budgets[4.0])]
    plans: list[tuple[list[Spec], list[Environment]]] = [
        (glm + square, [environments.ball(link="identity", radius=1.0)]),
        (
            glm,
            [
                environments.ball(link="logistic", radius=1.0),
                environments.rare(link="logistic", radius=1.0),
                environments.skewed(),
            ],
        ),
    ]
    done = []
    for i, (specs, world) in enumerate(plans):
        bar = part(progress, i / 2, (i + 1) / 2)
        done.append(
            simulate(specs, world, horizon=horizon, runs=runs or count, seed=SEED, out=out, progress=bar, workers=1)
        )
    return Result([run for each in done for run in each.runs])


def coverage(quick: bool, progress: Progress | None) -> list[dict[str, Any]]:
    """For each width: the share of (epoch, arm) whose interval holds <x, theta*>, over fresh arms of the world."""
    horizon, runs = (QUICK, 3) if quick else (40_000, 8)
    worlds: list[Environment] = [environments.ball(link=link, radius=1.0) for link in ("identity", "logistic")]
    worlds += [environments.rare(link="logistic", radius=1.0), environments.skewed()]
    rows = []
    for i, world in enumerate(worlds):
        for width in (3.0, 1.0):
            shares = []
            for run in range(runs):
                seed, bandit_seed = SeedSequence([SEED, 7, run]).spawn(2)
                spec = Spec(JointReweighted, budget=Budget(1.0, DELTA), width=width)
                bandit = spec.build(world, horizon, bandit_seed)
                assert isinstance(bandit, JointReweighted)
                started = world.start(default_rng(seed), horizon)
                block = world.block(1000)
                for _ in range(horizon // 1000):
                    started.fill(block)
                    bandit.play(block)
                arms = block.arms.reshape(-1, world.dim)
                assert started.theta is not None
                truth = arms @ started.theta
                shares += [float(np.mean(np.abs(middle - truth) <= half)) for middle, half in bandit.intervals(arms)]
            label = f"{world.name} {world.link}"
            row = {"world": label, "width": width, "coverage": float(np.mean(shares)), "worst": float(np.min(shares))}
            rows.append(row | {"runs": runs, "horizon": horizon})
        if progress is not None:
            progress((i + 1) / len(worlds))
    return rows
