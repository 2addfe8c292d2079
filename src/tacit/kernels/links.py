"""Means and slopes of the links: those with a number, and those given by a table."""

import math
from typing import Any, NamedTuple

from numba import types
from numba.extending import overload

from tacit.kernels.compile import kernel

IDENTITY, LOGISTIC, PROBIT, TABLE = 0, 1, 2, 3


class LinkTable(NamedTuple):
    """A link by its mean and slope at low, low + step, ...; beyond the table both stay as at its ends."""

    low: float
    step: float
    mean: Any  # (n,)
    slope: Any  # (n,)


def kind(link):
    """The number of a link, TABLE for a table."""
    return TABLE if isinstance(link, tuple) else link


def table_mean(link, z):
    """Cubic between two entries, with their means and slopes."""
    at = min(max((z - link.low) / link.step, 0.0), link.mean.size - 1.0)
    i = min(int(at), link.mean.size - 2)
    t = at - i
    a, b, p, q = link.mean[i], link.mean[i + 1], link.step * link.slope[i], link.step * link.slope[i + 1]
    return a + t * (p + t * (3.0 * (b - a) - 2.0 * p - q + t * (2.0 * (a - b) + p + q)))


def table_slope(link, z):
    """Linear between two entries, so never above the largest of them."""
    at = min(max((z - link.low) / link.step, 0.0), link.mean.size - 1.0)
    i = min(int(at), link.mean.size - 2)
    return link.slope[i] + (at - i) * (link.slope[i + 1] - link.slope[i])


@kernel
def link_mean(link, z):
    """mu(z): z, 1 / (1 + exp(-z)), Phi(z), or as the table says."""
    number = kind(link)
    if number == TABLE:
        return table_mean(link, z)
    if number == LOGISTIC:
        if z >= 0.0:
            return 1.0 / (1.0 + math.exp(-z))
        e = math.exp(z)
        return e / (1.0 + e)
    if number == PROBIT:
        return 0.5 * math.erfc(-z / math.sqrt(2.0))
    return z


@kernel
def link_slope(link, z):
    """mu'(z)."""
    number = kind(link)
    if number == TABLE:
        return table_slope(link, z)
    if number == LOGISTIC:
        e = math.exp(-abs(z))
        return e / (1.0 + e) ** 2
    if number == PROBIT:
        return math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return 1.0


# Numbers and tables are different types to numba: each kernel is compiled for tables only when one is used.


@overload(kind)
def _kind(link):
    return (lambda link: TABLE) if isinstance(link, types.BaseTuple) else (lambda link: link)


@overload(table_mean)
def _table_mean(link, z):
    return table_mean if isinstance(link, types.BaseTuple) else (lambda link, z: 0.0)


@overload(table_slope)
def _table_slope(link, z):
    return table_slope if isinstance(link, types.BaseTuple) else (lambda link, z: 0.0)
