"""`python -m tacit.planning.others`: how far worlds of other kinds are from the formula, which is that of `ball`.

For each world and trust model: the share that was simulated less that of the formula, on average over four settings,
after 1,000, 3,200 and 10,000 rounds."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from tacit import environments
from tacit.environments import Environment
from tacit.experiments.table import to_text
from tacit.planning import simulations, surface
from tacit.planning.setting import MODELS, Setting

SEED = 1504
AT = (1000, 3162, 10_000)
SIZES = ((4, 4, 1.0), (4, 4, 4.0), (12, 12, 2.0), (12, 12, 8.0))  # dimension, arms, epsilon


def disjoint(*, dim: int, arms: int, **rest: Any) -> Environment:
    """Three numbers for each of dim / 3 arms, at least two."""
    count = max(2, dim // 3)
    return environments.disjoint(dim=3 * count, arms=count, **rest)


WORLDS: dict[str, Callable[..., Environment]] = {
    "ball": environments.ball,
    "sphere": environments.sphere,
    "gap": environments.gap,
    "rare": environments.rare,
    "skewed": environments.skewed,
    "tail": environments.tail,
    "fixed": environments.fixed,
    "basis": environments.basis,
    "disjoint": disjoint,
}


def difference(name: str, model: str, dim: int, arms: int, epsilon: float) -> list[float]:
    """Simulated less computed, at each of AT."""
    made = WORLDS[name](dim=dim, arms=arms, radius=3.0, link="logistic")
    setting = Setting(model=model, dim=made.dim, arms=made.arms, epsilon=epsilon)
    found = simulations.measure(
        setting,
        seed=[SEED, dim, MODELS.index(model), sorted(WORLDS).index(name)],
        seconds=0.7,
        precise=0.02,
        most=AT[-1],
        world=lambda **_: made,
        least=AT[-1],
    )
    shares = dict(zip(found.at, found.share, strict=True))
    return [shares[n] - share for n, share in zip(AT, surface.shares(setting, AT), strict=True)]


def rows() -> list[tuple[str, str, list[float], float]]:
    """World, model, the mean difference at each of AT, and the largest."""
    out = []
    for name in WORLDS:
        for model in MODELS:
            found = np.array([difference(name, model, *size) for size in SIZES])
            out.append((name, model, found.mean(axis=0).tolist(), float(np.abs(found).max())))
    return out


def text(found: Sequence[tuple[str, str, list[float], float]]) -> str:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("world")
    for name in ("trust", *(f"{n:,}" for n in AT), "largest"):
        table.add_column(name, justify="right")
    for name, model, means, largest in found:
        numbers = [f"{100 * mean:+.0f}" for mean in means]
        table.add_row(name, model, *numbers, f"{100 * largest:.0f}")
    return to_text(table)


if __name__ == "__main__":
    sys.stdout.write(text(rows()) + "\n")
