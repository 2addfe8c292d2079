"""Exact audits of integer noise: the law of the best test is enumerated, nothing is estimated."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.random import Generator

from reticent.data import Array
from reticent.privacy import ledger
from reticent.privacy.ledger import GaussianRelease
from reticent.privacy.relations import REPLACE
from reticent_lab.audit.attack import Attack
from reticent_lab.audit.bound import discrete_curve

TAIL = 12.0  # standard deviations that are enumerated: what is beyond has probability below 1e-30
CELLS, DELTA = 20.0, 0.02


def attacks() -> Sequence[Attack]:
    """A coarse grid, on which what the ledger adds for it matters: one number that moves, and two."""
    return [
        integer_attack(name, cells=CELLS, shifts=shifts, epsilon=claim(CELLS, shifts, DELTA), delta=DELTA)
        for name, shifts in (("discrete-gaussian", [12]), ("discrete-gaussian-pair", [8, 9]))
    ]


def claim(cells: float, shifts: Sequence[int], delta: float) -> float:
    """epsilon at delta by the ledger, for discrete Gaussians of parameter `cells`."""
    drawn = cells, 1, 1.0, len(shifts)
    release = GaussianRelease("grid", "integers", math.hypot(*shifts), 1.0, *drawn, relation=REPLACE)
    return ledger.epsilon_of((release,), delta)


def integer_attack(
    name: str,
    *,
    cells: float,
    shifts: Sequence[int],
    epsilon: float,
    delta: float,
    claimed: bool = True,
    draw: Callable[[int, Generator], Array] | None = None,
) -> Attack:
    """Integers with discrete Gaussian noise of parameter `cells`, moved by `shifts` in the other world.

    The likelihood ratio is a function of the integer T = sum of shift_i value_i, whose law is enumerated in both
    worlds. `draw`: (count, rng) -> so many draws by the sampler in use, for the picture and for tests against the law;
    by default from the law itself."""
    points, law = discrete_gaussian(cells)
    unit = math.gcd(*shifts)  # T is a multiple of it
    moved, total = np.array([1.0]), sum(n * n for n in shifts) // unit
    for n in shifts:
        stride = abs(n) // unit
        spread = np.zeros((len(law) - 1) * stride + 1)
        spread[::stride] = law
        moved = np.convolve(moved, spread)
    moved /= moved.sum()
    zero, one = np.pad(moved, (0, total)), np.pad(moved, (total, 0))

    def from_law(count: int, rng: Generator) -> Array:
        return rng.choice(points, size=count, p=law)

    def scores(world: int, runs: int, rng: Generator) -> Array:
        values = (draw or from_law)(runs * len(shifts), rng).reshape(runs, len(shifts))
        out: Array = (values + world * np.array(shifts)) @ np.array(shifts, float)
        return out

    return Attack(
        name=name,
        view="one release",
        epsilon=epsilon,
        delta=delta,
        claimed=claimed,
        how=f"Integers with discrete Gaussian noise of {cells:g} cells, moved by {' and '.join(map(str, shifts))}; the "
        "law of the likelihood ratio is enumerated, in both directions.",
        scores=scores,
        exact=discrete_curve(zero, one),
    )


def discrete_gaussian(cells: float) -> tuple[Array, Array]:
    """Points k and their probabilities, proportional to exp(-k^2 / (2 cells^2))."""
    reach = math.ceil(TAIL * cells)
    points = np.arange(-reach, reach + 1.0)
    law = np.exp(-(points**2) / (2 * cells**2))
    return points, law / law.sum()
