"""Searching by halves: it brackets the change, to the digits asked for, and always ends."""

import math

import pytest

from reticent.privacy import search


@pytest.mark.parametrize("place", [1e-6, 0.3, 1.0, 7.5, 1e5])
def test_the_change_is_within_the_interval(place):
    low, high = search.doubled(lambda x: x >= place, 0.0, 1.0)
    assert low < place <= high
    low, high = search.halved(lambda x: x >= place, low, high, digits=1e-9)
    assert low < place <= high and high - low <= 1e-9 * high


def test_what_never_holds_and_what_always_holds_end():
    assert search.doubled(lambda x: False, 0.0, 1.0, most=64.0) == (64.0, math.inf)
    low, high = search.halved(lambda x: True, 0.0, 1.0, digits=1e-9)
    assert low == 0.0 and high <= 1e-300 and search.halved(lambda x: True, 0.0, 1.0, digits=1e-9, least=1e-6)[1] > 1e-7
