"""The encoder of a continual release, applied to shares."""

import numpy as np

from reticent.data import Exact, Integers, Words
from reticent.kernels.compile import kernel
from reticent_two.vdaf.field_kernel import P, add, multiply

_P = np.uint64(P)


@kernel
def encoded(weights: Words, steps: Exact, noise: Integers) -> Words:
    """sum_s weights_s steps_s + noise, modulo P. |noise| is below 2^62."""
    out = np.empty(steps.shape[1], np.uint64)
    for j in range(steps.shape[1]):
        z = noise[j]
        total = np.uint64(z) if z >= 0 else _P - np.uint64(-z)
        for s in range(steps.shape[0]):
            total = add(total, multiply(weights[s], steps[s, j]))
        out[j] = total
    return out
