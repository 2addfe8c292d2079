"""Discrete Gaussians from words: the law, by exact probabilities and beside OpenDP's, and bit by bit.

Tests of a law reject it by chance once in a million; each must also reject a scale that is wrong by some per cent."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from core_tests.reference import gaussian as reference
from reticent.errors import NotSecure
from reticent.kernels.exact import gaussians
from reticent.privacy import exact, randomness

CHANCE, COUNT = 1e-6, 200_000


def settings(cells):
    m, power = float(cells).as_integer_ratio()
    span = math.ceil(Fraction(m, power))
    return m, power.bit_length() - 1, max(1, (m - 1).bit_length()), span, max(1, (span - 1).bit_length())


def distance(drawn, cells):
    """The p-value of Pearson's test against exp(-k^2 / (2 cells^2)), in some 60 groups of neighbouring numbers."""
    reach = math.ceil(12 * cells)
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * cells**2))
    sums = np.concatenate([[0.0], np.cumsum(weights / weights.sum())])
    edges = np.unique(np.searchsorted(sums, np.linspace(0, 1, 61)[1:-1]))
    expected = np.diff(np.concatenate([[0.0], sums[edges], [1.0]])) * len(drawn)
    found = np.bincount(np.searchsorted(edges - reach, drawn, side="right"), minlength=len(edges) + 1)
    keep = expected > 5
    return stats.chi2.sf(np.sum((found - expected)[keep] ** 2 / expected[keep]), keep.sum() - 1)


@pytest.mark.parametrize("cells", [1.0, 1.3, 2.5, 3.0000001, 17.0, 1234.56])
def test_the_law_is_the_discrete_gaussian(cells):
    drawn = exact.draw(COUNT, cells)
    assert distance(drawn, cells) > CHANCE and distance(drawn, cells * 0.97) < CHANCE
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 5 / math.sqrt(COUNT)  # 6e-7
    assert distance(exact.draw(COUNT, max(1.0, cells * 0.97)), cells * 1.03) < CHANCE


@pytest.mark.parametrize("cells", [2.0**34 * 1.37, 2.0**53 + 2, 2.0**57])
def test_large_parameters(cells):
    """Against the normal law, which is as far away as one in 2^34, and low bits that are uniform, however large."""
    drawn = exact.draw(COUNT, cells)
    assert stats.kstest(drawn / cells, "norm").pvalue > CHANCE
    assert stats.kstest(drawn / (0.93 * cells), "norm").pvalue < CHANCE
    for shift in (0, 7):
        assert stats.chisquare(np.bincount(drawn >> shift & 31, minlength=32)).pvalue > CHANCE
    assert abs(stats.norm.ppf((drawn < 0).mean())) < 5 / math.sqrt(COUNT) * 1.3


@pytest.mark.parametrize("cells", [2.5, 1000.0])
def test_it_draws_what_opendp_draws(cells):
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    sampler = make_gaussian(vector_domain(atom_domain(T="i64")), l2_distance(T="f64"), scale=cells)
    theirs, ours = np.array(sampler([0] * 20_000)), exact.draw(COUNT, cells)
    edges = np.unique(np.quantile(theirs, np.linspace(0, 1, 41)[1:-1], method="nearest"))  # numbers that were drawn

    def p_value(these, those):
        counts = [np.bincount(np.searchsorted(edges, part), minlength=len(edges) + 1) for part in (these, those)]
        return stats.chi2_contingency(counts).pvalue

    assert p_value(theirs, ours) > CHANCE
    assert p_value(theirs, exact.draw(COUNT, cells * 0.85)) < CHANCE  # of so few numbers of theirs


@pytest.mark.parametrize("cells", [1.0, 1.3, 3.0, 2.5, 1000.0, 12345.678, 2.0**34 * 1.37, 2.0**53 + 2, 2.0**57])
def test_the_same_words_give_the_numbers_of_the_reference(cells):
    words = np.random.default_rng(0).integers(0, 2**64, 1500, dtype=np.uint64)
    out = np.empty(10_000, np.int64)
    count, end = gaussians(words, 0, *settings(cells), out)
    bits, scale, numbers = reference.Bits(words), Fraction(cells), []
    for number in range(count):
        numbers.append(reference.draw(bits, scale))
        assert numbers[-1] == out[number]
    assert bits.taken == end and count > 200
    with pytest.raises(RuntimeError):  # the words end within the next draw
        reference.draw(bits, scale)


@pytest.mark.parametrize("cells", [3.3, 2.0**40])
def test_it_does_not_matter_where_words_are_cut(cells, monkeypatch):
    """Read in pieces of any length, a stream of words gives the same numbers: no draw is dropped because it is long."""
    words = np.random.default_rng(1).integers(0, 2**64, 4000, dtype=np.uint64)
    whole = np.empty(500, np.int64)
    assert gaussians(words, 0, *settings(cells), whole)[0] == 500
    for most in (1, 2, 7, 100):
        stream = iter(words)

        def fill(out, stream=stream):
            out[:] = list(itertools.islice(stream, len(out)))

        monkeypatch.setattr(randomness, "fill", fill)
        monkeypatch.setattr(exact, "MOST_WORDS", most)
        assert np.array_equal(exact.draw(500, cells), whole)


def test_words_are_wiped(monkeypatch):
    seen, given = [], randomness.fill

    def fill(out):
        given(out)
        seen.append(out)

    monkeypatch.setattr(randomness, "fill", fill)
    monkeypatch.setattr(exact, "MOST_WORDS", 50)
    exact.draw(1000, 100.0)
    assert len(seen) > 10 and not np.concatenate(seen).any()


def test_fresh_words_fill_all_of_an_array():
    out = np.zeros(100_000, np.uint64)
    randomness.fill(out)
    assert (out != 0).all()  # fails once in 10^14
    randomness.fill(out[:0])


def test_what_is_not_the_random_device_is_refused(tmp_path, monkeypatch):
    """A regular file in its place, as in a chroot, would give every call the same words; /dev/zero is a device."""
    file = tmp_path / "urandom"
    file.write_bytes(np.random.default_rng(0).bytes(100_000))
    for other in (str(file), "/dev/zero"):
        monkeypatch.setattr(randomness, "DEVICE", other)
        out = np.zeros(4, np.uint64)
        with pytest.raises(NotSecure, match="random device"):
            randomness.fill(out)
        assert not out.any()
        with pytest.raises(NotSecure, match="random device"):
            exact.draw(4, 100.0)


def test_scales_that_cannot_be_drawn_are_refused():
    for cells in (0.99, 0.0, -1.0, math.nan, math.inf, 2.0**63):
        with pytest.raises(NotSecure, match="scale"):
            exact.draw(1, cells)
    assert exact.draw(0, 1.0).shape == (0,)


def test_numbers_without_room_say_so():
    """At 2^62 those of more than one standard deviation have none, and are told before they are complete."""
    drawn = exact.draw(4000, 2.0**62)
    assert (drawn == exact.NO_ROOM).mean() > 0.3 and (abs(drawn) <= exact.NO_ROOM).all()
