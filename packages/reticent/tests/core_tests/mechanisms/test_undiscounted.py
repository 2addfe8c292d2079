"""Sums over people so far follow from discounted releases; their noise has the std and correlation that are said."""

import numpy as np
import pytest
from numpy.random import default_rng

from reticent.mechanisms.discounted import Discounted, gains, totals
from reticent.mechanisms.recursive import Recursive
from reticent.mechanisms.recursive_grid import on_integers
from reticent.privacy.noise import Secure, Simulated

LEAVES = 40
KINDS = {
    "square root": lambda sigma: Discounted(leaves=LEAVES, size=2, discount=0.97, sigma=sigma),
    "buffers": lambda sigma: Recursive(leaves=LEAVES, size=2, discount=0.97, sigma=sigma),
}


class Silent(Secure):
    def integers(self, count, size, cells):
        return np.zeros((count, size), np.int64)

    def expect(self, need, cells):
        pass


def released(mechanism, source, leaves):
    state, out = mechanism.init(source), []
    for x in leaves:
        mechanism.absorb(state, lambda v, x=x: np.add(v, x, out=v))
        out.append(mechanism.release(state, source).copy())
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_without_noise_they_are_the_sums(kind):
    leaves = default_rng(0).normal(size=(LEAVES, 2))
    exact, floats = np.cumsum(leaves, axis=0), KINDS[kind](0.0)
    assert totals(released(floats, Simulated(0), leaves), floats.fading) == pytest.approx(exact, abs=1e-9)
    grid = on_integers(floats, sensitivity=8.0, mu=1.0)
    assert totals(released(grid, Silent(), leaves), grid.fading) == pytest.approx(exact, abs=(LEAVES + 1) * grid.cell)


@pytest.mark.parametrize("kind", KINDS)
def test_noise_has_the_std_and_the_correlation_that_are_said(kind):
    """4000 numbers of pure noise: a std is off by 3 % in one of 10 000 tests; wrong by half it would be far off."""
    floats = KINDS[kind](1.0)
    wide = type(floats)(leaves=LEAVES, size=4000, discount=0.97, sigma=1.0)
    noise = totals(released(wide, Simulated(5), np.zeros((LEAVES, 4000))), wide.fading)
    for made in (floats, on_integers(floats, sensitivity=1.0, mu=1.0)):
        g = gains(made)
        assert noise.std(axis=1) == pytest.approx(np.sqrt(np.cumsum(g**2)), rel=0.045)
        for one, other in ((3, 4), (3, 30), (20, 39)):
            shared = g[: one + 1] @ g[other - one : other + 1]
            assert np.mean(noise[one] * noise[other]) == pytest.approx(shared, abs=0.05 * noise[other].var())
        assert noise.std(axis=1)[-1] < 0.8 * np.sqrt(LEAVES), "plain noise on each step would be more"


def test_the_square_root_has_the_series_of_the_square_root():
    """g = (1 - L)^-1 (1 - f L)^(1/2), by its first coefficients."""
    f = 0.97
    root = np.cumprod([1.0, *((k - 0.5 - 1) / k * f for k in range(1, LEAVES))])
    assert gains(KINDS["square root"](1.0)) == pytest.approx(np.cumsum(root), rel=1e-9)
