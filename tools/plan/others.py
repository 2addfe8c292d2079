"""`python -m tools.plan.others`: how far worlds of other kinds are from the formula, which is that of `ball`.

For each world and trust model: the share that was simulated less that of the formula, after 1,000, 3,200 and 10,000
rounds, in per cent. As many arms as dimensions, but half as many in `disjoint`."""

import sys
from collections.abc import Callable
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from tacit import environments
from tacit.environments import Environment
from tacit.experiments.table import to_text
from tacit.planning import surface
from tacit.planning.setting import MODELS, Setting
from tools.plan import simulations

SEED = 1504
RADIUS = 3.0
AT = (1000, 3162, 10_000)
SIZES = ((4, 4, 1.0), (12, 12, 4.0))  # dimension, arms, epsilon


def disjoint(*, dim: int, arms: int, **rest: Any) -> Environment:
    """Two numbers for each of dim / 2 arms."""
    return environments.disjoint(dim=dim, arms=dim // 2, **rest)


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
    made = WORLDS[name](dim=dim, arms=arms, radius=RADIUS, link="logistic")
    setting = Setting(model=model, dim=made.dim, arms=made.arms, epsilon=epsilon)
    found = simulations.measure(
        setting,
        seed=[SEED, dim, MODELS.index(model), sorted(WORLDS).index(name)],
        seconds=0.4,
        precise=0.02,
        most=AT[-1],
        world=lambda **_: made,
        least=AT[-1],
    )
    shares = dict(zip(found.at, found.share, strict=True))
    return [shares[n] - share for n, share in zip(AT, surface.shares(setting, AT), strict=True)]


def text() -> str:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("world", "d", "ε", *MODELS):
        table.add_column(name, justify="left" if name == "world" else "right")
    for name in WORLDS:
        for dim, arms, epsilon in SIZES:
            found = [difference(name, model, dim, arms, epsilon) for model in MODELS]
            cells = [" ".join(f"{100 * each:+4.0f}" for each in numbers) for numbers in found]
            table.add_row(name, f"{dim}", f"{epsilon:g}", *cells)
    return to_text(table)


if __name__ == "__main__":
    sys.stdout.write(text() + "\n")
