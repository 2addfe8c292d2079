"""From ten to ten thousand dimensions at a fixed number of rows or rounds."""

import math
import time
from typing import Any

import numpy as np
from numpy.random import SeedSequence, default_rng

from reticent import Uniform
from reticent.core.live import Live
from reticent.experiments.runner import Progress
from reticent.privacy.budget import Budget
from reticent.privacy.noise import Simulated
from reticent_devices import Embedded
from reticent_papers import JointSquareCB, LocalSquareCB
from reticent_papers.regression import ImproperSGD, PrivateRidge
from reticent_papers.reproductions.reweighted import worlds

DIMENSIONS = (10, 100, 1_000, 10_000)
ROWS = 10_000
ARMS = 5
DELTA = 1e-5
SEED = 13115


def regression(quick: bool, runs: int, progress: Progress | None) -> list[dict[str, Any]]:
    """L1 errors of ImproperSGD (joint and local), of the best ridge while its d x d matrix is bearable, and of 0."""
    rows = []
    for i, dim in enumerate(DIMENSIONS):
        errors: dict[str, list[float]] = {}
        started = time.perf_counter()
        for run in range(runs):
            world, privacy = SeedSequence([SEED, dim, run]).spawn(2)
            rng = default_rng(world)
            x, fresh, theta = worlds.texts(ROWS, dim, rng), worlds.texts(5_000, dim, rng), worlds.meanings(dim, rng)
            y = np.where(rng.random(ROWS) < 0.5 * (1 + x @ theta), 1.0, -1.0)
            means = fresh @ theta
            errors.setdefault("zero", []).append(float(np.mean(np.abs(means))))
            seeds = iter(privacy.spawn(10))
            for model, epsilon in (("joint", 1.0), ("local", 4.0)):
                sgd = ImproperSGD(budget=Budget(epsilon, DELTA), model=model, source=Simulated(next(seeds)))
                error = np.mean(np.abs(sgd.fit(x, y).predict(fresh) - means))
                errors.setdefault(f"improper sgd, {model} ε={epsilon:g}", []).append(float(error))
            if dim <= (100 if quick else 1_000) and run < (runs if dim < 1_000 else 3):
                dense, judged = x.toarray(), fresh.toarray()
                for ridge in (0.5, 1.0):
                    plain = PrivateRidge(budget=Budget(1.0, DELTA), ridge=ridge, source=Simulated(next(seeds)))
                    error = np.mean(np.abs(plain.fit(dense, y).predict(judged) - means))
                    errors.setdefault(f"ridge {ridge:g}, joint ε=1", []).append(float(error))
        seconds = time.perf_counter() - started
        for name, values in errors.items():
            spread = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None
            row = {"dim": dim, "estimator": name, "error": float(np.mean(values)), "error_se": spread}
            rows.append(row | {"runs": len(values), "seconds": seconds})
        if progress is not None:
            progress((i + 1) / len(DIMENSIONS))
    return rows


def regret(horizon: int, runs: int, progress: Progress | None) -> list[dict[str, Any]]:
    """Regret of SquareCB as a share of uniform play's; arms are ARMS texts, rewards +-1."""
    rows = []
    for i, dim in enumerate(DIMENSIONS):
        shares: dict[str, list[float]] = {}
        for run in range(runs):
            for name, total in _play(dim, horizon, run).items():
                shares.setdefault(name, []).append(total)
        uniform = float(np.mean(shares.pop("uniform")))
        for name, values in shares.items():
            spread = float(np.std(values, ddof=1) / math.sqrt(runs)) / uniform if runs > 1 else None
            row = {"dim": dim, "bandit": name, "share": float(np.mean(values)) / uniform, "share_se": spread}
            rows.append(row | {"uniform": uniform, "horizon": horizon, "runs": runs})
        if progress is not None:
            progress((i + 1) / len(DIMENSIONS))
    return rows


def _play(dim: int, horizon: int, run: int) -> dict[str, float]:
    world, *seeds = SeedSequence([SEED, 1, dim, run]).spawn(6)
    rng = default_rng(world)
    theta = worlds.meanings(dim, rng)
    common: dict[str, Any] = {"dim": dim, "horizon": horizon, "pending": 1}
    local = LocalSquareCB(
        dim, Budget(4.0, DELTA), horizon=horizon, source=Simulated(seeds[2]), policy=default_rng(seeds[3])
    )
    bandits: dict[str, Live] = {
        "joint-square-cb ε=1": JointSquareCB(
            budget=Budget(1.0, DELTA), source=Simulated(seeds[0]), policy=default_rng(seeds[1]), **common
        ),
        "local-square-cb ε=4": Embedded(local, pending=1),
        "uniform": Uniform(policy=default_rng(seeds[4]), **common),
    }
    totals = dict.fromkeys(bandits, 0.0)
    for _ in range(math.ceil(horizon / 1000)):
        texts = worlds.texts(1000 * ARMS, dim, rng)
        for t in range(min(1000, horizon - next(iter(bandits.values())).choices)):
            arms = texts[t * ARMS : (t + 1) * ARMS].toarray()
            means = arms @ theta
            uniform = rng.random()
            for name, bandit in bandits.items():
                choice = bandit.choose(arms)
                bandit.observe(choice, 1.0 if uniform < 0.5 * (1 + means[choice.index]) else -1.0)
                totals[name] += float(means.max() - means[choice.index])
    return totals
