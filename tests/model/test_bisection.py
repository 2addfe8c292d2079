"""Bisection finds where a condition begins, from both sides."""

import math

import pytest

from tacit.model.bisection import bisect, crossing


@pytest.mark.parametrize("place", [1e-9, 0.3, 1.0, 7.0, 1e12])
def test_both_ends_are_on_their_side_and_near(place):
    below, above = crossing(lambda x: x >= place)
    assert below < place <= above <= below * (1 + 2e-12)


def test_what_is_never_reached_is_not_looked_for_for_ever():
    asked = []
    assert crossing(lambda x: asked.append(x) or False, most=1000.0) == (1000.0, math.inf)
    assert max(asked) < 1000.0


def test_as_many_halvings_as_allowed():
    asked = []
    low, high = bisect(lambda x: asked.append(x) or x >= 0.3, 0.0, 1.0, tolerance=0.0, halvings=10)
    assert len(asked) == 10 and high - low == 2**-10 and low < 0.3 <= high
    assert bisect(lambda x: True, 0.0, 1.0, halvings=3) == (0.0, 0.125)
