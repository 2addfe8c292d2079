"""Bits that are replaced by coins, in simulation: every user's, drawn as the device draws them."""

from numpy.random import Generator

from reticent.data import Coded, Exact
from reticent.kernels.compile import inlined
from reticent_devices.mechanisms.shuffle.calibration import ShufflePlan


@inlined
def flip(rng: Generator, values: Exact, plan: ShufflePlan, sums: Coded) -> None:
    """sums += the ones of one user's report: mechanisms.flips.flipped, with m = plan.trials bits a number and
    1 - p = plan.scale / m."""
    m = plan.trials
    kept = plan.scale / m
    for i in range(values.size):
        v = min(max(values[i], 0.0), 1.0)
        for k in range(m):
            if rng.random() < (1.0 - kept) / 2.0 + kept * min(max(m * v - k, 0.0), 1.0):
                sums[i] += 1
