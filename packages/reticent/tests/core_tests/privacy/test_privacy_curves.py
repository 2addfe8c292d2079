"""The exact Gaussian curve and composition: two derivations of each."""

import math

import numpy as np
import pytest
from dp_accounting import rdp
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from reticent import Budget
from reticent.errors import BudgetExceeded
from reticent.privacy import gaussian, ledger
from reticent.privacy.ledger import GaussianRelease


def hockey_stick(epsilon, mu):
    """sup over events of P - e^epsilon Q, by integrating the positive part of the densities' difference."""
    cut = epsilon / mu + mu / 2
    return quad(lambda x: norm.pdf(x, mu) - math.exp(epsilon) * norm.pdf(x), cut, cut + 40, epsabs=1e-14)[0]


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_curve_is_the_hockey_stick_divergence(epsilon, mu):
    assert gaussian.delta(epsilon, mu) == pytest.approx(hockey_stick(epsilon, mu), rel=1e-6, abs=1e-13)


def test_curve_at_the_papers_budgets():
    """1 / mu at delta = .02, computed independently to three decimals."""
    for epsilon, value in {0.5: 2.672, 1: 1.649, 2: 1.007, 4: 0.618, 6: 0.467, 8: 0.384}.items():
        assert 1 / gaussian.mu(Budget(epsilon, 0.02)) == pytest.approx(value, abs=6e-4)


@given(st.floats(0.01, 20), st.floats(-12, -0.5))
def test_both_ways(epsilon, log_delta):
    delta = 10**log_delta
    mu = gaussian.mu(Budget(epsilon, delta))
    assert gaussian.delta(epsilon, mu) <= delta and gaussian.delta(epsilon, mu * 1.0001) > delta
    assert gaussian.epsilon(mu, delta) == pytest.approx(epsilon, rel=1e-6)
    assert gaussian.epsilon(mu, delta) <= epsilon * (1 + 1e-9)


def test_no_noise_is_no_privacy():
    assert gaussian.mu(Budget(math.inf, 0.1)) == math.inf and gaussian.epsilon(math.inf, 0.1) == math.inf
    assert gaussian.epsilon(0.0, 0.1) == 0.0


def test_zcdp_is_above_the_exact_curve_and_near_it():
    """Renyi orders, optimised by dp-accounting, give an upper bound of the exact curve."""
    orders = np.concatenate([1 + np.logspace(-3, 0, 60), np.linspace(2.1, 64, 400), np.logspace(1.9, 5, 120)])
    for rho in (0.01, 0.1, 1.0):
        exact = gaussian.epsilon(math.sqrt(2 * rho), 1e-5)
        assert exact <= rdp.compute_epsilon(orders, rho * orders, 1e-5)[0] <= 1.2 * exact


def test_ledger_recomputes_and_refuses():
    honest = GaussianRelease("g", "sum", 2.0, 1.5, 3.0 / gaussian.mu(Budget(1, 1e-6)), relation="replace")
    assert ledger.check([honest], Budget(1, 1e-6)) == pytest.approx(1.0, rel=1e-9)
    cheat = GaussianRelease("g", "sum", 2.0, 1.5, 0.99 * honest.sigma, relation="replace")
    with pytest.raises(BudgetExceeded, match="Expected epsilon at most 1"):
        ledger.check([cheat], Budget(1, 1e-6))
    assert ledger.epsilon_of([honest, honest], 1e-6) == pytest.approx(gaussian.epsilon(math.sqrt(2) * honest.mu, 1e-6))


def test_bad_budgets():
    for bad in (0, -1, math.nan, "1", True, None):
        with pytest.raises(ValueError, match="Expected epsilon"):
            Budget(bad, 0.1)
    for bad in (1, 1.5, -0.1, math.nan, None):
        with pytest.raises(ValueError, match=r"Expected delta in \[0, 1\), got"):
            Budget(1, bad)


def test_numpy_numbers_are_numbers():
    assert Budget(np.float64(1), np.float32(0.1)).epsilon == 1


def test_the_curve_of_tiny_mu():
    """At t = epsilon / mu fixed, delta / mu tends to phi(t) - t Phi(-t); the relative difference is about mu t / 2. And
    both formulas agree where they meet."""
    for mu in (1e-5, 1e-9, 1e-12):
        for t in (0.1, 1.0, 5.0, 7.0):
            limit = norm.pdf(t) - t * norm.sf(t)
            assert gaussian.delta(mu * t, mu) / mu == pytest.approx(limit, rel=mu * t + 1e-12)
    edge = gaussian.SMALL
    for t in (0.0, 0.1, 1.0, 5.0):
        below, above = gaussian.delta(t * edge, edge * (1 - 1e-12)), gaussian.delta(t * edge, edge)
        assert below == pytest.approx(above, rel=1e-9)
    for budget in (Budget(1e-8, 1e-12), Budget(1e-12, 1e-15), Budget(1e-3, 1e-12), Budget(1e-6, 1e-30)):
        assert gaussian.epsilon(gaussian.mu(budget), budget.delta) == pytest.approx(budget.epsilon, rel=1e-9)
