"""Worlds whose uniform play has a given mean reward."""

from reticent.data import Array
from reticent.environments.curve_kernel import Curve, to_means
from reticent.model.links import Code

STEPS = 60  # of bisection


def at_rate(curve: Curve, link: Code, scores: Array, rate: float) -> Curve:
    """The curve with the offset by which these scores have means of `rate` on average."""
    low, high = -20.0, 20.0
    for _ in range(STEPS):
        curve, means = curve._replace(offset=(low + high) / 2), scores.copy()
        to_means(curve, link, means)
        low, high = (low, curve.offset) if means.mean() > rate else (curve.offset, high)
    return curve
