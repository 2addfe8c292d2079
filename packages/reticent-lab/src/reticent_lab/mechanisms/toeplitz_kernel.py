"""The norms of the square-root factorisation, for any number of steps."""

from reticent.data import Array, Integers
from reticent.kernels.compile import kernel


@kernel
def root_squares(steps: Integers, out: Array) -> None:
    """out[i] = sum_{k < steps[i]} f_k^2 with f_k = binom(2k, k) / 4^k, for increasing steps."""
    f, total, k = 1.0, 0.0, 0
    for i in range(steps.size):
        while k < steps[i]:
            total += f * f
            k += 1
            f *= (2.0 * k - 1.0) / (2.0 * k)
        out[i] = total
