"""What breaks floating-point noise: values that one input can produce and its neighbour cannot.

The events are found on one half of the draws and counted on the other. A value's `grain` is the exponent of its lowest
bit; near zero, 0 + noise has grains that 1 + noise cannot have, since its bits ended where 1 + noise was rounded."""

import math

import numpy as np
import pytest

from reticent import Secure
from reticent.mechanisms.discounted import Discounted
from reticent.mechanisms.grid import on_grid
from reticent.testing.canary import with_size

SIGMA = 2.0
ONE = on_grid(Discounted(leaves=1, size=1, sigma=0.0, discount=1.0), sensitivity=1.0, mu=1.0, sigma=SIGMA)


def grain(values):
    """The exponent of the lowest set bit of each float."""
    fraction, exponent = np.frexp(values)
    whole = np.ldexp(fraction, 53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return np.where(values == 0, 0, exponent - 53 + lowest)


def events(values):
    """A label for each value: where it lies and where its bits end."""
    return np.where(np.abs(values) < 0.5, grain(values), 999)


def advantage(here, there):
    """The most held-out draws in an event that the first half never saw in the other world, over both directions."""
    half, best = len(here) // 2, 0
    for a, b in ((here, there), (there, here)):
        one, other = events(a[:half]), events(b[:half])
        telling = [e for e in np.unique(one) if (one == e).sum() >= 20 and not (other == e).any()]
        if any(np.isin(events(b[half:]), telling)):
            telling = [e for e in telling if not (events(b[half:]) == e).any()]
        best = max(best, int(np.isin(events(a[half:]), telling).sum()))
    return best


def naive(x, count, seed):
    return x + SIGMA * np.random.default_rng(seed).standard_normal(count)


def secure(x, count):
    """One release of `count` coordinates that each hold x, through the mechanism that bandits use."""
    grid, source = with_size(ONE, count), Secure()
    state = grid.init(source)
    grid.absorb(state, lambda out: out.__iadd__(x))
    return grid.release(state, source).copy()


def low_bits_chi2(here, there):
    """Standardised difference of the lowest five bits of the whole numbers behind two releases."""
    counts = [np.bincount(np.rint(v / ONE.step).astype(np.int64) & 31, minlength=32) for v in (here, there)]
    total = counts[0] + counts[1]
    return (float((((counts[0] - counts[1]) ** 2) / total).sum()) - 31) / math.sqrt(62)


@pytest.mark.parametrize(("count", "least"), [(20_000, 100), pytest.param(2_000_000, 10_000, marks=pytest.mark.full)])
def test_low_bits_of_secure_noise_tell_nothing_and_those_of_floats_do(count, least):
    """Of so many draws a world. Secure noise: an event seen 20 times in one world and never in the other is an accident
    of probability below 1e-5, and the bits differ by more than 6 standard deviations less often than that."""
    found = advantage(naive(0.0, count, 0), naive(1.0, count, 1))
    here, there = secure(0.0, count), secure(1.0, count)
    assert (np.rint(here / ONE.step) == here / ONE.step).all() and found > least and advantage(here, there) == 0
    assert abs(low_bits_chi2(here, there)) < 6
