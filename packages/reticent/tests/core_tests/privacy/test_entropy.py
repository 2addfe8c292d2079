"""The cryptographic integers: their laws, by chi-square at a false-alarm rate of 1e-6 each, and wrong laws rejected."""

import math
import ssl
import sys
from decimal import Decimal, getcontext

import numpy as np
import pytest
from scipy.stats import binom, chi2

from core_tests.privacy.test_secure import in_a_child
from reticent.privacy import randomness

DRAWS, ALARM = 200_000, 1e-6


def misfit(draws, values, probabilities):
    """The p-value of Pearson's chi-square, cells of fewer than 20 expected joined into one."""
    counts = np.array([np.sum(draws == v) for v in values], float)
    expected = len(draws) * np.asarray(probabilities)
    small = expected < 20
    seen, hoped = np.append(counts[~small], len(draws) - counts[~small].sum()), expected[~small]
    hoped = np.append(hoped, len(draws) - hoped.sum())
    seen, hoped = seen[hoped > 1], hoped[hoped > 1]
    return chi2.sf(np.sum((seen - hoped) ** 2 / hoped), len(hoped) - 1)


def gaussian_law(sigma):
    values = np.arange(-math.ceil(12 * sigma), math.ceil(12 * sigma) + 1)
    weights = np.exp(-(values**2) / (2 * sigma**2))
    return values, weights / weights.sum()


@pytest.mark.parametrize("sigma", [1.0, 2.7, 30.0])
def test_discrete_gaussian_has_its_law_and_no_other(sigma):
    draws = randomness.discrete_gaussian(sigma, DRAWS)
    assert misfit(draws, *gaussian_law(sigma)) > ALARM
    for wrong in (2 / 3, 3 / 2):
        assert misfit(draws, *gaussian_law(wrong * sigma)) < ALARM


def test_the_stated_distance_of_the_discrete_gaussian():
    """The acceptance probabilities against exact ones, from 60-digit arithmetic."""
    getcontext().prec = 60
    for sigma, k in [(1000.3, k) for k in (0, 1, 17, 999, 4500, 8999, 9002)] + [(1.01, 10), (1.01, 9), (1.12, 11)]:
        assert k**2 / (2 * sigma**2) <= 50
        computed = Decimal(float(np.floor(np.exp(-(np.float64(k) ** 2) / (2 * sigma**2)) * 2.0**63)))
        exact = (-(Decimal(k) ** 2) / (2 * Decimal(sigma) ** 2)).exp() * Decimal(2) ** 63
        assert abs(computed - exact) <= exact * Decimal(randomness.RATIO / 2) + 1


@pytest.mark.parametrize("trials", [1, 22, 64, 130])
def test_halves_are_binomial(trials):
    draws, values = randomness.halves(trials, DRAWS), np.arange(trials + 1)
    assert misfit(draws, values, binom.pmf(values, trials, 0.5)) > ALARM
    assert misfit(draws, values, binom.pmf(values, trials, 0.51)) < ALARM


def test_below_is_uniform_and_bounded():
    draws = randomness.below(7, DRAWS)
    assert misfit(draws, np.arange(7), np.full(7, 1 / 7)) > ALARM
    assert misfit(draws, np.arange(8), np.full(8, 1 / 8)) < ALARM
    with pytest.raises(ValueError, match="Expected a bound"):
        randomness.below(0, 1)


@pytest.mark.parametrize("count", [4, randomness.SHORT])  # words: of the kernel's, and of OpenSSL's
def test_a_forked_child_draws_something_else(count):
    randomness.words(count)
    theirs = in_a_child(lambda: randomness.words(count).tolist()[:4])
    assert theirs not in ("", str(randomness.words(count).tolist()[:4]))


@pytest.mark.parametrize("count", [0, 1, randomness.SHORT, randomness.SHORT + 1, 200_000])
def test_octets_are_as_many_as_asked_for(count):
    assert len(randomness.octets(count)) == count


def test_openssl_is_reseeded_from_the_kernel_before_each_piece(monkeypatch):
    calls = []
    add, give = ssl.RAND_add, ssl.RAND_bytes
    monkeypatch.setattr(randomness, "LONGEST", 3000)
    monkeypatch.setattr(ssl, "RAND_add", lambda seed, bits: (calls.append(seed), add(seed, bits)))
    monkeypatch.setattr(ssl, "RAND_bytes", lambda count: (calls.append(count), give(count))[1])
    assert len(randomness.octets(7000)) == 7000
    assert [len(c) if isinstance(c, bytes) else c for c in calls] == [32, 3000, 32, 3000, 32, 1000]
    assert len({c for c in calls if isinstance(c, bytes)}) == 3
    monkeypatch.setattr(ssl, "OPENSSL_VERSION", "LibreSSL 3.8")  # whose RAND_add does nothing
    assert len(randomness.octets(7000)) == 7000 and len(calls) == 6


def test_long_reads_are_uniform_bytes_with_or_without_openssl(monkeypatch):
    draws = np.frombuffer(randomness.octets(DRAWS), np.uint8)
    monkeypatch.setitem(sys.modules, "ssl", None)  # an import of it fails from here on
    plain = np.frombuffer(randomness.octets(DRAWS), np.uint8)
    for drawn in (draws, plain):
        assert misfit(drawn, np.arange(256), np.full(256, 1 / 256)) > ALARM
        assert misfit(drawn, np.arange(257), np.full(257, 1 / 257)) < ALARM
    assert (draws != plain).any()


def test_sigma_below_one_cell_is_refused():
    with pytest.raises(ValueError, match="grid cells"):
        randomness.discrete_gaussian(0.5, 1)
