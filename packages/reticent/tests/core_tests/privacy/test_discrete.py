"""The discrete Gaussian: its privacy bound against brute force. What is drawn: test_exact.py."""

import itertools
import math

import numpy as np
import pytest

from reticent.privacy import discrete, gaussian
from reticent.privacy.ledger import GaussianRelease, grid_delta


def masses(s, reach):
    """P(k) for |k| <= reach, by summing everything."""
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * s**2))
    return weights / weights.sum()


def exact_delta(epsilon, shift, s):
    """sum over y in Z^m of (P(y) - e^epsilon P(y - shift))_+, by brute force."""
    one = masses(s, math.ceil(9 * s) + max(map(abs, shift)))
    here, there = np.ones(1), np.ones(1)
    for a in shift:
        here, moved = np.multiply.outer(here, one).reshape(-1), np.zeros_like(one)
        if a >= 0:
            moved[a:] = one[: len(one) - a]
        else:
            moved[:a] = one[-a:]
        there = np.multiply.outer(there, moved).reshape(-1)
    return float(np.maximum(here - math.exp(epsilon) * there, 0).sum())


def bound_of(epsilon, mu, s, numbers, **width):
    """As the ledger's."""
    up, down = discrete.factors(s, numbers, **width)
    if epsilon < up + down:
        return 1.0
    return min(1.0, math.exp(up) * gaussian.delta(epsilon - up - down, discrete.mu(mu, s, **width)))


SHIFTS = [(1,), (3,), (8,), (1, 1), (4, -3), (2, 5)]


@pytest.mark.parametrize("shift", SHIFTS, ids=str)
@pytest.mark.parametrize("s", [1.0, 2.5, 6.0])
def test_the_bound_holds_against_brute_force(shift, s):
    """In one and two dimensions, with noise of one to six cells: far coarser than any that is used."""
    mu = math.hypot(*shift) / s
    for epsilon, width in itertools.product((0.0, 0.1, 0.5, 1.0, 2.0, 4.0), (0.4, 0.6, 0.9)):
        bound = bound_of(epsilon, mu, s, len(shift), width=width)
        assert exact_delta(epsilon, shift, s) <= bound * (1 + 1e-9) + 1e-15


def test_the_bound_is_needed_and_nearly_attained():
    """Coarse noise leaves the continuous curve; at 40 cells the bound is within 2 % of the truth."""
    above = [exact_delta(e, (a,), 1.0) / gaussian.delta(e, float(a)) for e in (0.3, 1.0, 2.0) for a in (1, 2, 3)]
    assert max(above) > 1.05
    for shift in ((30,), (24, 18)):
        for epsilon in (0.2, 0.5, 1.0):
            exact = exact_delta(epsilon, shift, 40.0)
            assert exact <= bound_of(epsilon, 0.75, 40.0, len(shift)) <= 1.02 * exact


def test_where_the_factors_are_all_of_epsilon_nothing_is_claimed():
    """Coarse noise, small epsilon: the comparison with the continuous curve is no bound there."""
    up, down = discrete.factors(1.0, 2, width=0.5)
    assert bound_of(1.01 * (up + down), 1e-6, 1.0, 2, width=0.5) < 1e-5
    release = GaussianRelease("g", "sums", 1e-6, 1.0, 3.1, grid=1.0, numbers=10**80, relation="replace")
    assert sum(release.factors) > 0 and grid_delta([release], 0.0) == pytest.approx(1.0, abs=1e-6)


def test_what_it_costs_where_it_is_used():
    for cells in (2.0**10, 2.0**20):
        assert discrete.mu(1.0, cells) - 1 == pytest.approx(4.5 / cells**2, rel=1e-3)
        assert sum(discrete.factors(cells, 10**15)) < 1e-60
    assert discrete.eta(3.0) < 1e-76
    r, x = 0.5, np.linspace(0, 1, 11)
    sums = np.exp(-((np.arange(-40, 41)[:, None] - x) ** 2) / (2 * r**2)).sum(axis=0) / (r * math.sqrt(2 * math.pi))
    assert np.abs(sums - 1).max() == pytest.approx(discrete.eta(r), rel=1e-9)  # attained at whole numbers
    with pytest.raises(ValueError, match="more than 3 cells"):
        discrete.mu(1.0, 2.0)
