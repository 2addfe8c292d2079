"""How much noise each mechanism of continual release adds per unit of sensitivity, beside the lower bound."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from reticent.experiments.table import to_text
from reticent.kernels.rounds import next_boundary
from reticent.mechanisms.continual import Continual
from reticent_lab.mechanisms.buffered import Buffered
from reticent_lab.mechanisms.toeplitz import Toeplitz
from reticent_lab.mechanisms.tree import Tree

HORIZONS = (10**3, 10**4, 10**5, 10**6, 10**7, 10**8)
FIRST, GROWTH = 15, 1.1


def measure(progress: Callable[[float], None]) -> list[dict[str, Any]]:
    rows = []
    for i, horizon in enumerate(HORIZONS):
        bound = lower_bound(horizon)
        boundaries = _boundaries(horizon)
        mechanisms: dict[str, Continual] = {
            "tree": Tree(leaves=horizon, size=1, sigma=1.0),
            "consistent tree": Tree(leaves=horizon, size=1, sigma=1.0, consistent=True),
            "toeplitz": Toeplitz(leaves=horizon, size=1, sigma=1.0),
            "buffered": Buffered(leaves=horizon, size=1, sigma=1.0),
            "batched": Toeplitz(leaves=len(boundaries), size=1, sigma=1.0),
        }
        for name, mechanism in mechanisms.items():
            worst, mean = _std(mechanism, boundaries if name == "batched" else None)
            rows.append(
                {
                    "mechanism": name,
                    "horizon": horizon,
                    "releases": mechanism.leaves,
                    "worst_std": worst,
                    "mean_std": mean,
                    "lower_bound": None if name == "batched" else bound,
                    "floats_per_coordinate": mechanism.memory,
                }
            )
            progress((i + 1) / len(HORIZONS))
    return rows


def render(rows: Sequence[dict[str, Any]]) -> str:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("rounds")
    table.add_column("mechanism")
    for name in ("worst\nstd", "mean\nstd", "lower\nbound", "worst /\nbound", "releases", "floats\nkept"):
        table.add_column(name, justify="right", no_wrap=True)
    previous = None
    for row in rows:
        bound = row["lower_bound"]
        table.add_row(
            f"{row['horizon']:.0e}".replace("e+0", "e") if row["horizon"] != previous else "",
            row["mechanism"],
            f"{row['worst_std']:.3f}",
            f"{row['mean_std']:.3f}",
            f"{bound:.3f}" if bound else "–",
            f"{row['worst_std'] / bound:.3f}" if bound else "–",
            f"{row['releases']:,}",
            f"{row['floats_per_coordinate']:,}",
            end_section=row["mechanism"] == "batched",
        )
        previous = row["horizon"]
    head = (
        "Standard deviation of a released prefix sum per unit of sensitivity at mu = 1 (one release: 1).\n"
        "The lower bound holds for every mechanism that releases all prefixes; batched releases at steps\n"
        f"that grow (first {FIRST}, factor {GROWTH}), so that sums are up to {GROWTH - 1:.0%} old: it may go below.\n"
    )
    return head + to_text(table)


def _boundaries(horizon: int) -> list[int]:
    out = [int(next_boundary(0, FIRST, GROWTH))]
    while out[-1] < horizon:
        out.append(int(next_boundary(out[-1], FIRST, GROWTH)))
    return out


def _std(mechanism: Continual, boundaries: list[int] | None) -> tuple[float, float]:
    """Worst and mean over rounds (every round up to 10^4 of them, else 10^4 random ones and the worst one)."""
    leaves = mechanism.leaves
    if boundaries is not None:
        gains = mechanism.gain(np.arange(1.0, leaves + 1))
        mean = float(np.average(gains[:-1], weights=np.diff(boundaries)))
        return mechanism.column_norm * float(gains.max()), mechanism.column_norm * mean
    some = (
        np.arange(1.0, leaves + 1)
        if leaves <= 10**4
        else np.sort(np.random.default_rng(0).integers(1, leaves + 1, 10**4)).astype(np.float64)
    )
    ends = np.array([float(leaves), 2.0 ** (leaves.bit_length() - 1) - 1])  # all levels of a tree in use
    gains = mechanism.gain(np.concatenate([some, ends]))
    return mechanism.column_norm * float(gains.max()), mechanism.column_norm * float(gains[:-2].mean())


def lower_bound(leaves: int) -> float:
    """No factorisation of `leaves` prefix sums has worst (or root mean square) std per unit sensitivity below this:
    (nuclear norm of the prefix matrix) / leaves = mean over j of 1 / (2 sin((2j - 1) pi / (4 leaves + 2))).

    Reference: Matousek, Nikolov & Talwar 2020 (gamma_2 >= nuclear norm / n); singular values: Elliott 1953."""
    exact = min(leaves, 1 << 20)
    step = math.pi / (4 * leaves + 2)
    j = np.arange(1, exact + 1)
    total = float(np.sum(0.5 / np.sin((2 * j - 1) * step)))
    if leaves > exact:  # midpoint rule for the smooth rest: integral of dj / (2 sin((2j - 1) step))
        total += (math.log(math.tan((2 * leaves) * step / 2)) - math.log(math.tan(2 * exact * step / 2))) / (4 * step)
    return total / leaves
