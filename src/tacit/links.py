"""Links: how the expected reward depends on <x, theta>."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tacit import checks
from tacit.checks import Array
from tacit.kernels.links import IDENTITY, LOGISTIC, PROBIT, LinkTable, link_mean, link_slope


@dataclass(frozen=True)
class Link:
    """mean(z) is the expected reward at z = <x, theta>, slope(z) its derivative, both increasing in usefulness only
    through z: the best arm is the one with the largest z. `bounded`: means lie in [0, 1]; `steepest`: the largest
    slope; `reach`: the link is known for |z| up to this."""

    name: str
    code: int | LinkTable = field(repr=False)
    bounded: bool
    steepest: float
    reach: float = np.inf

    def mean(self, z: Array | float) -> Array:
        return np.asarray(np.vectorize(lambda v: link_mean(self.code, v), otypes=[np.float64])(z))

    def slope(self, z: Array | float) -> Array:
        return np.asarray(np.vectorize(lambda v: link_slope(self.code, v), otypes=[np.float64])(z))

    def kappa(self, radius: float) -> float:
        """1 / (smallest slope over |z| <= radius): the worst case for unit arms and |theta| <= radius."""
        checks.non_negative(radius=radius)
        return 1.0 / float(self.slope(radius))


identity = Link("identity", IDENTITY, False, 1.0)
logistic = Link("logistic", LOGISTIC, True, 0.25)
probit = Link("probit", PROBIT, True, float(1 / np.sqrt(2 * np.pi)))
NAMES = ("identity", "logistic", "probit")

POINTS = 4097  # entries of a table


def given(
    mean: Callable[[Array], Array], slope: Callable[[Array], Array], *, steepest: float, reach: float = 16.0
) -> Link:
    """A link of your own, from its mean and slope as functions of an array, for |z| <= reach (at least the radius).

    Rewards are taken as shares of their range, so means lie in [0, 1]. `steepest`, a declared bound on the slope, sets
    the noise: the same for every data set. What the functions return is checked here and kept in a table, which is
    what runs, so a bound that holds for the table holds always."""
    checks.positive(steepest=steepest, reach=reach)
    z = np.linspace(-reach, reach, POINTS)
    means, slopes = (np.array(f(z), dtype=np.float64) for f in (mean, slope))
    if means.shape != z.shape or slopes.shape != z.shape:
        raise ValueError(f"Expected {POINTS} means and slopes, got {means.shape} and {slopes.shape}.")
    if not (np.isfinite(means).all() and np.isfinite(slopes).all()):
        raise ValueError(f"Expected finite means and slopes for |z| <= {reach:g}, got others.")
    if means.min() < 0 or means.max() > 1:
        raise ValueError(f"Expected means in [0, 1], got {means.min():.4g} to {means.max():.4g}.")
    if slopes.min() < 0 or slopes.max() > steepest:
        raise ValueError(f"Expected slopes in [0, {steepest:g}], got {slopes.min():.4g} to {slopes.max():.4g}.")
    step = z[1] - z[0]
    drift = np.abs(np.diff(means) - step * (slopes[1:] + slopes[:-1]) / 2)
    if drift.max() > 1e-3 * max(step, np.diff(means).max()):
        raise ValueError("Expected the slope to be the derivative of the mean, got one that is not.")
    digest = hashlib.sha256(means.tobytes() + slopes.tobytes()).hexdigest()[:12]
    return Link(f"given-{digest}", LinkTable(-reach, float(step), means, slopes), True, steepest, reach)


def named(name: str | Link) -> Link:
    """The link of that name."""
    if isinstance(name, Link):
        return name
    checks.one_of(NAMES, link=name)
    return {"identity": identity, "logistic": logistic, "probit": probit}[name]


def built_in(name: str | Link) -> Link:
    """The link of that name, and not one that was given: most algorithms have constants for these alone."""
    link = named(name)
    checks.one_of(NAMES, link=link.name)
    return link
