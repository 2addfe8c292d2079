"""Every built-in link is what the proofs of sensitivities take links to be; a new one is covered by its name."""

import math

import numpy as np
import pytest

from reticent.kernels.formulas import link_mean
from reticent.model import links

Z = np.concatenate([np.linspace(-9, 9, 1801), np.geomspace(1e-9, 1e-3, 13), -np.geomspace(1e-9, 1e-3, 13)])
STEP, ROUNDING = 1e-5, 1 + 2.0**-51
BUILT_IN = pytest.mark.parametrize("link", links.BUILT_IN.values(), ids=links.NAMES)


@BUILT_IN
def test_slope_and_integral_belong_to_the_mean(link):
    """By differences, at most STEP of an error where a slope has a corner."""
    assert np.allclose((link.mean(Z + STEP) - link.mean(Z - STEP)) / (2 * STEP), link.slope(Z), atol=2 * STEP)
    rise = [links.integral(link.code, z + STEP) - links.integral(link.code, z - STEP) for z in Z]
    assert np.allclose(np.array(rise) / (2 * STEP), link.mean(Z), atol=2 * STEP)


@BUILT_IN
def test_means_grow_and_slopes_are_steepest_at_0(link):
    z = np.sort(Z)
    slopes = link.slope(z[z >= 0])
    assert (np.diff(link.mean(z)) >= 0).all() and np.array_equal(link.slope(z), link.slope(-z))
    assert slopes[0] <= link.steepest <= slopes[0] * ROUNDING and (slopes[1:] <= slopes[:-1] * ROUNDING).all()


@pytest.mark.parametrize("name", [name for name, link in links.BUILT_IN.items() if link.bounded])
def test_a_bounded_link_is_a_share_and_odd(name):
    link = links.named(name)
    assert link.odd and link.mean(0.0) == 0.5 and link.mean(Z).min() >= 0 and link.mean(Z).max() <= 1
    assert np.allclose(link.mean(-Z), 1 - link.mean(Z), rtol=0, atol=1e-15)


@BUILT_IN
def test_kernels_compute_the_same(link):
    """To the last digit but those in which two compilers' exponentials differ."""
    for z in Z[::50]:
        assert link_mean(link.code, z) == pytest.approx(float(link.mean(z)), rel=1e-14)


@BUILT_IN
def test_an_uncertain_predictor_flattens_the_mean_by_its_softness(link):
    """E mu(z + s N) is mu(k z) to 5 % of the range, at s = 1: what contributions are linearised at."""
    if link.bounded:
        nodes, weights = np.polynomial.hermite_e.hermegauss(60)
        k = 1 / math.sqrt(1 + links.softness(link.code))
        for z in np.linspace(-4, 4, 17):
            assert abs(float(weights @ link.mean(z + nodes) / weights.sum()) - float(link.mean(k * z))) < 0.05
