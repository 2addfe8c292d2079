"""Means and slopes of the links, by number."""

import math

from tacit.kernels.compile import kernel

IDENTITY, LOGISTIC, PROBIT = 0, 1, 2


@kernel
def link_mean(link, z):
    """mu(z): z, 1 / (1 + exp(-z)), or Phi(z)."""
    if link == LOGISTIC:
        if z >= 0.0:
            return 1.0 / (1.0 + math.exp(-z))
        e = math.exp(z)
        return e / (1.0 + e)
    if link == PROBIT:
        return 0.5 * math.erfc(-z / math.sqrt(2.0))
    return z


@kernel
def link_slope(link, z):
    """mu'(z)."""
    if link == LOGISTIC:
        e = math.exp(-abs(z))
        return e / (1.0 + e) ** 2
    if link == PROBIT:
        return math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return 1.0
