"""Shuffled sums in simulation: every user's rounding and coins, drawn as the device draws them, and what the sum of a
batch tells."""

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Coded, Exact, Integers, Released
from reticent.kernels.compile import inlined, kernel
from reticent.kernels.linalg import copy, smat, svec
from reticent.model.vectors import packed_size, pair_size
from reticent_devices.mechanisms.shuffle.calibration import Plans, ShufflePlan


class OpenBatch(NamedTuple):
    """What the shuffler holds."""

    reports: Integers  # (1,)
    sums: Coded  # (m,)


@kernel
def plan_of(plans: Plans, batch: int) -> ShufflePlan:
    return ShufflePlan(
        int(plans.users[batch]),
        int(plans.size[batch]),
        float(plans.scale[batch]),
        int(plans.reach[batch]),
        int(plans.trials[batch]),
        float(plans.sensitivity[batch]),
        float(plans.laplace[batch]),
    )


@inlined
def ones(uniform: float) -> int:
    """The number of ones among the 53 bits of a uniform number of 53 bits."""
    word = np.uint64(uniform * 9007199254740992.0)
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int(np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56)))


@inlined
def randomize(rng: Generator, vector: Exact, plan: ShufflePlan, sums: Coded) -> None:
    """sums += the integers of one user's report: floor(grid v + U) + reach + Bin(trials, 1/2), coordinate by
    coordinate; first all U, then all coins, 53 from each uniform number."""
    whole, rest = plan.trials // 53, plan.trials % 53
    last = 2.0**-53 * 2.0**rest  # only the `rest` lowest bits count
    for i in range(vector.size):
        sums[i] += math.floor(vector[i] * plan.scale + rng.random()) + plan.reach
    for i in range(vector.size):
        for _ in range(whole):
            sums[i] += ones(rng.random())
        u = rng.random() / last
        sums[i] += ones((u - math.floor(u)) * last)
    if plan.laplace > 0.0:
        for i in range(vector.size):
            up = math.floor(-plan.laplace * math.log(1.0 - rng.random()))
            sums[i] += up - math.floor(-plan.laplace * math.log(1.0 - rng.random()))


@kernel
def unshuffle(reports: int, sums: Coded, plan: ShufflePlan) -> tuple[Released, float]:
    """(sum - reports (reach + trials / 2)) / grid for a shuffled batch, and the variance of its noise in each
    coordinate: reports ((trials + 1) / 4 + 2 laplace^2) / grid^2 at most."""
    out = np.empty(sums.size)
    for i in range(sums.size):
        out[i] = (float(sums[i]) - reports * (plan.reach + 0.5 * plan.trials)) / plan.scale
    variance = reports * ((plan.trials + 1.0) / 4.0 + 2.0 * plan.laplace**2) / plan.scale**2
    return Released(out), variance


@kernel
def within_blocks(sums: Released, dim: int, blocks: int) -> Released:
    """Of sums (svec(A), b) in `dim` coordinates, a pair (svec(A_a), b_a) for each of `blocks` parts of them: what lies
    between two parts is left out."""
    p = dim // blocks
    size, packed = pair_size(p), packed_size(p)
    matrix, out = np.empty((dim, dim)), np.empty(blocks * size)
    smat(sums[: packed_size(dim)], matrix)
    for a in range(blocks):
        start, own = a * size, slice(a * p, (a + 1) * p)
        svec(matrix[own, own], out[start : start + packed])
        copy(sums[packed_size(dim) :][own], out[start + packed : start + size])
    return Released(out)
