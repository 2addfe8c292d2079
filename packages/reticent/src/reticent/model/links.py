"""Links: how the expected reward depends on z = <x, theta>.

`mean`, `slope` and `integral` are plain functions of one number, which devices call and kernels compile
(kernels.formulas). A link is a code to them: a number, or a table of values. Devices in JavaScript have `mean` and
`slope` from here, too: tools/links.py translates them into js/src/links.js (`make generated`)."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from reticent import checks
from reticent.data import Array

IDENTITY, LOGISTIC, PROBIT, TABLE, NONE = 0, 1, 2, 3, -1
UNKNOWN = "Expected the number of a link or its table, got another number."


class LinkTable(NamedTuple):
    """A link by its mean and slope at low, low + step, ...; beyond the table both stay as at its ends."""

    low: float
    step: float
    mean: Array  # (n,)
    slope: Array  # (n,)


Code = int | LinkTable


def kind(code: Code) -> int:
    """The number of a link, TABLE for a table; that number without a table is no link."""
    if isinstance(code, tuple):
        return TABLE
    return code if code != TABLE else NONE


def mean(code: Code, z: float) -> float:
    """mu(z): z, 1 / (1 + exp(-z)), Phi(z), or as the table says."""
    number = kind(code)
    if number == TABLE:
        return table_mean(code, z)  # type: ignore[arg-type]
    if number == LOGISTIC:
        e = decay(abs(z))
        return (1.0 if z >= 0.0 else e) / (1.0 + e)
    if number == PROBIT:
        return tail(-z)
    if number != IDENTITY:
        raise ValueError(UNKNOWN)
    return z


def slope(code: Code, z: float) -> float:
    """mu'(z)."""
    number = kind(code)
    if number == TABLE:
        return table_slope(code, z)  # type: ignore[arg-type]
    if number == LOGISTIC:
        e = decay(abs(z))
        return e / (1.0 + e) ** 2
    if number == PROBIT:
        return decay(0.5 * z * z) / math.sqrt(2.0 * math.pi)
    if number != IDENTITY:
        raise ValueError(UNKNOWN)
    return 1.0


def integral(code: Code, z: float) -> float:
    """Of mu, up to z and a constant: fits without privacy minimise it less r z. Built-in links alone."""
    number = kind(code)
    if number == LOGISTIC:
        return max(z, 0.0) + math.log1p(decay(abs(z)))
    if number == PROBIT:
        return z * mean(code, z) + slope(code, z)
    if number != IDENTITY:
        raise ValueError(UNKNOWN)
    return 0.5 * z * z


def decay(q: float) -> float:
    """e^-q, for q >= 0. Formulas have this and `tail` where engines of JavaScript round as they like (numbers.js)."""
    return math.exp(-q)


def tail(t: float) -> float:
    """P(N >= t) of a standard normal number."""
    return 0.5 * math.erfc(t / math.sqrt(2.0))


def softness(code: Code) -> float:
    """How much an uncertain z flattens the mean: E mu(z + s N) is about mu(z / sqrt(1 + softness s^2)), exactly so for
    probit. It is 2 pi mu'(0)^2: 1 for probit, pi / 8 for logistic."""
    return 1.0 if kind(code) == PROBIT else 2.0 * math.pi * slope(code, 0.0) ** 2  # which rounds for probit


def table_mean(table: LinkTable, z: float) -> float:
    """Cubic between two entries, with their means and slopes."""
    at = min(max((z - table.low) / table.step, 0.0), table.mean.size - 1.0)
    i = min(int(at), table.mean.size - 2)
    t = at - i
    a, b, p, q = table.mean[i], table.mean[i + 1], table.step * table.slope[i], table.step * table.slope[i + 1]
    return float(a + t * (p + t * (3.0 * (b - a) - 2.0 * p - q + t * (2.0 * (a - b) + p + q))))


def table_slope(table: LinkTable, z: float) -> float:
    """Linear between two entries, so never above the largest of them."""
    at = min(max((z - table.low) / table.step, 0.0), table.mean.size - 1.0)
    i = min(int(at), table.mean.size - 2)
    return float(table.slope[i] + (at - i) * (table.slope[i + 1] - table.slope[i]))


@dataclass(frozen=True)
class Link:
    """mean(z) is the expected reward at z = <x, theta>, slope(z) its derivative. The mean grows with z, so
    the best arm is the one with the largest z. `bounded`: means lie in [0, 1]; `steepest`: the largest
    slope; `reach`: the link is known for |z| up to this."""

    name: str
    code: Code = field(repr=False)
    bounded: bool
    steepest: float
    reach: float = np.inf

    @property
    def odd(self) -> bool:
        """Whether mu(-z) = 1 - mu(z) for sure, and so mu(0) = 1/2."""
        return self.bounded and kind(self.code) != TABLE

    def mean(self, z: Array | float) -> Array:
        return np.asarray(np.vectorize(lambda v: mean(self.code, v), otypes=[np.float64])(z))

    def slope(self, z: Array | float) -> Array:
        return np.asarray(np.vectorize(lambda v: slope(self.code, v), otypes=[np.float64])(z))


# Built-in links: proofs of sensitivities take it that means grow, and, but for the identity, that they lie in [0, 1],
# that mu(-z) = 1 - mu(z) and that slopes fall on both sides of 0.
# packages/reticent/tests/core_tests/model/test_links.py holds each to it.
identity = Link("identity", IDENTITY, False, 1.0)
logistic = Link("logistic", LOGISTIC, True, 0.25)
probit = Link("probit", PROBIT, True, float(1 / np.sqrt(2 * np.pi)))
BUILT_IN = {link.name: link for link in (identity, logistic, probit)}
NAMES = tuple(BUILT_IN)

POINTS = 4097  # entries of a table


def given(
    mean: Callable[[Array], Array], slope: Callable[[Array], Array], *, steepest: float, reach: float = 16.0
) -> Link:
    """A link of your own, from its mean and slope as functions of an array, for |z| <= reach (at least the radius).

    Rewards are taken as shares of their range, so means lie in [0, 1]. `steepest`, a declared bound on the slope, sets
    the noise: the same for every data set. A link that is steepest where mu(z) - z mu'(z) is not 1/2 pays more than it
    needs, 2 to 8 % of the noise at the default scale (model.glm.GLMContribution). What the functions return is
    checked here and kept in a table, which is what runs, so a bound that holds for the table holds always."""
    checks.size(steepest=steepest, reach=reach)
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
    return BUILT_IN[name]


def built_in(name: str | Link) -> Link:
    """The link of that name, and not one that was given: most algorithms have constants for these alone."""
    link = named(name)
    checks.one_of(NAMES, link=link.name)
    return link
