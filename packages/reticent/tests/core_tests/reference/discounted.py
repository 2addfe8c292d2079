"""Discounted sums on a grid with all matrices written out: slow, and as the docstring of Discounted says it."""

import math

import numpy as np

BITS = 16


def matrices(leaves, discount):
    """B and C, (leaves, leaves): y = C x + z is released, B y is used; and how many coefficients of C are not 0."""
    c, b = [], []
    for k in range(leaves):
        f = math.comb(2 * k, k) / 4**k
        c.append(round(discount**k * f * 2**BITS) / 2**BITS)
        b.append((discount**k - sum(c[k - i] * b[i] for i in range(k))) / c[0])
    window = sum(value > 0 for value in c)
    b[window:] = [0.0] * (leaves - window)
    place = np.subtract.outer(np.arange(leaves), np.arange(leaves))
    return (np.where(place >= 0, np.array(series)[np.maximum(place, 0)], 0.0) for series in (b, c)), window
