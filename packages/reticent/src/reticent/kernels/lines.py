"""Where one of several lines is the highest."""

import numpy as np

from reticent.data import Array
from reticent.kernels.compile import kernel


@kernel
def ahead_between(ahead: Array, faster: Array, low: Array, high: Array) -> None:
    """For each row of (n, K): ahead + faster z > 0 in all columns for z between low and high, and for no z where low
    is not below high. Changes low and high."""
    for i in range(ahead.shape[0]):
        below, above = -np.inf, np.inf
        for k in range(faster.size):
            if faster[k] > 0.0:
                below = max(below, -ahead[i, k] / faster[k])
            elif faster[k] < 0.0:
                above = min(above, -ahead[i, k] / faster[k])
            elif not ahead[i, k] > 0.0:
                below, above = np.inf, -np.inf
                break
        low[i], high[i] = below, above
