"""Ten sums of the past on integers: see mechanisms.recursive_grid for the formulas, and for why nothing overflows."""

from reticent.data import Array, Exact, Integers
from reticent.kernels.compile import kernel

DECAY_BITS = 30  # decays are multiples of 2^-30
SPLIT = 24  # bits of the low part of a released number


@kernel
def advance(sums: Exact, decay: Integers, x: Exact, shift: int) -> None:
    """sums[i] <- floor(decay[i] sums[i] / 2^30) + 2^shift x. Changes sums."""
    mask = (1 << DECAY_BITS) - 1
    for i in range(decay.size):
        r = decay[i]
        for j in range(x.size):
            s = sums[i, j]
            sums[i, j] = r * (s >> DECAY_BITS) + ((r * (s & mask)) >> DECAY_BITS) + (x[j] << shift)


@kernel
def close_known(sums: Exact, decay: Integers, x: Exact, shift: int, step: Integers) -> None:
    """The next step, which others have released, is closed: both or neither of `sums` and `step` change."""
    advance(sums, decay, x, shift)
    step[0] += 1


@kernel
def combine(sums: Exact, weights: Integers, first: int, x: Exact, shift: int, noise: Integers, out: Array) -> None:
    """out = the whole numbers sum_i weights[i] sums[i] + first 2^shift x + noise, as floats."""
    mask = (1 << SPLIT) - 1
    for j in range(x.size):
        own = x[j] << shift
        low, high = first * (own & mask) + noise[j], first * (own >> SPLIT)
        for i in range(weights.size):
            low += weights[i] * (sums[i, j] & mask)
            high += weights[i] * (sums[i, j] >> SPLIT)
        out[j] = (high + (low >> SPLIT)) * float(1 << SPLIT) + (low & mask)
