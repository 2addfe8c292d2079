"""Exact audits of integer noise: the law of the best test is enumerated, nothing is estimated."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.random import Generator

from tacit.audit.attack import Attack
from tacit.audit.bound import discrete_curve
from tacit.checks import Array
from tacit.privacy.composition import zcdp_epsilon

TAIL = 12.0  # standard deviations that are enumerated: what is beyond has probability below 1e-30
CELLS, SHIFT, DELTA = 20.0, 12, 0.02


def discrete_attacks() -> Sequence[Attack]:
    """Claims: rho-zCDP, rho = |shift|^2 / (2 cells^2) (Canonne, Kamath & Steinke 2020, arXiv:2004.00010)."""
    rho = (SHIFT / CELLS) ** 2 / 2
    epsilon = zcdp_epsilon(rho, DELTA)
    across = SHIFT / math.sqrt(2)  # two coordinates that move by 8 each: at most SHIFT together
    return [
        integer_attack("discrete-gaussian", cells=CELLS, shifts=[SHIFT], epsilon=epsilon, delta=DELTA),
        integer_attack("discrete-gaussian-pair", cells=CELLS, shifts=[int(across)] * 2, epsilon=epsilon, delta=DELTA),
    ]


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
