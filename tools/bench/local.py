"""Randomisers of the local model at equal budget: standard deviation of a decoded number, microseconds on a device.

A report of LocalIRLS has d (d + 1) / 2 + d numbers; vectors of norm at most 1, replaced by any other."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from reticent.core.reward import Reward
from reticent.experiments.table import to_text
from reticent.privacy.budget import Budget
from reticent_devices.bandits.local.irls import LocalIRLS
from reticent_devices.mechanisms import local
from reticent_devices.mechanisms.randomizers import Randomizer
from reticent_devices.roles.local import LocalClient

DIMS = (5, 10, 20, 32, 64)
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
DELTA = 1e-6


def measure(progress: Callable[[float], None]) -> list[dict[str, Any]]:
    rows = []
    for i, dim in enumerate(DIMS):
        size = dim * (dim + 1) // 2 + dim
        arms = np.random.default_rng(dim).standard_normal((10, dim)) / (2 * dim**0.5)
        for epsilon in EPSILONS:
            made: dict[str, Randomizer] = {
                "cap (PrivUnit), delta 0": local.cap(epsilon, 1.0, size),
                "hemisphere, delta 0": local.cap(epsilon, 1.0, size, 0.5),
                f"Gaussian, delta {DELTA:g}": local.lattice(Budget(epsilon, DELTA), 2.0, size),
            }
            for name, one in made.items():
                kind = "gaussian" if "Gaussian" in name else "cap"
                us = None
                if "hemisphere" not in name:
                    us = _device(dim, epsilon, kind, arms)
                rows.append(
                    {
                        "randomizer": name,
                        "dim": dim,
                        "numbers": size,
                        "epsilon": epsilon,
                        "std": one.law.scale,
                        "us": us,
                    }
                )
        progress((i + 1) / len(DIMS))
    return rows


def _device(dim: int, epsilon: float, kind: str, arms: Any) -> float:
    """Median microseconds of `randomize`: the contribution and its noise, on this machine."""
    server = LocalIRLS(dim, Budget(epsilon, DELTA), Reward(radius=3.0), randomizer=kind)
    client = LocalClient(server.billboard())
    times = []
    for _ in range(40):
        choice = client.choose(arms)
        started = time.perf_counter()
        client.randomize(choice, 1.0)
        times.append(time.perf_counter() - started)
    return 1e6 * float(np.median(times))


def render(rows: Sequence[dict[str, Any]]) -> str:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("d (numbers)")
    for name in ("ε", "std: cap", "hemisphere", "Gaussian", "µs: cap", "Gaussian"):
        table.add_column(name, justify="right")
    for dim in DIMS:
        for epsilon in EPSILONS:
            some = [row for row in rows if row["dim"] == dim and row["epsilon"] == epsilon]
            table.add_row(
                f"{dim} ({some[0]['numbers']})" if epsilon == EPSILONS[0] else "",
                f"{epsilon:g}",
                *(f"{row['std']:.3f}" for row in some),
                f"{some[0]['us']:.0f}",
                f"{some[2]['us']:.0f}",
                end_section=epsilon == EPSILONS[-1],
            )
    head = (
        "Standard deviation of each decoded number of a report, vectors of norm at most 1, at equal ε:\n"
        f"cap (PrivUnit) and hemisphere are pure (δ = 0), Gaussian noise has δ = {DELTA:g}. Then microseconds\n"
        "of `randomize` on a device (NumPy and the operating system's generator).\n"
    )
    return head + to_text(table)
