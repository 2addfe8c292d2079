"""One sum with Gaussian noise."""

import math
from typing import Any

import numpy as np

from reticent.data import Exact, Released
from reticent.errors import NotSecure
from reticent.kernels.noise import gaussian_law
from reticent.mechanisms.grid import sigma_for

SUM_SLACK = 2.0**-10  # relative: floating-point sums of 2^21 vectors differ from exact ones by less


def sigma_on(cell: float, sensitivity: float, mu: float) -> float:
    """The noise that makes a sum of that sensitivity mu-GDP, on a grid of that cell (0: floats)."""
    return sigma_for(sensitivity, mu, cell) if cell else sensitivity / mu


def rounded_sensitivity(sensitivity: float, size: int, cell: float) -> float:
    """How far apart two sums can be once they are rounded to cells. The sqrt 2 is for a person who moves from one sum
    to another of the same noise: each moves by at most D / sqrt 2, and rounding adds cell sqrt(size) to each."""
    return sensitivity * (1 + SUM_SLACK) + cell * math.sqrt(2 * size) if cell else sensitivity


def with_noise(total: Exact, sigma: float, cell: float, source: Any) -> Released:
    """total + noise: floats of a simulated source, or whole cells."""
    if not cell:
        return Released(total + source.rows(1, total.size, gaussian_law(sigma))[0])
    whole = np.rint(total / cell)
    if not np.abs(whole).max() < 2.0**52:  # refuses NaN as well
        raise NotSecure("Expected sums of fewer than 2^52 cells, got larger ones.")
    return Released((whole.astype(np.int64) + source.integers(1, total.size, sigma / cell)[0]) * cell)


def mean_of_reports(total: Released, size: int, people: int) -> Released:
    """The first `size` numbers of a sum of reports, each private by itself, over how many were asked."""
    return Released(total[:size] / people)
