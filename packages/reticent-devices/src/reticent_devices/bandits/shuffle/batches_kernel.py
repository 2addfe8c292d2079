"""What the servers of the shuffle model share: their state, and the choices that are made by it."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reticent.data import Array, Coded, Integers, Released
from reticent.kernels.compile import kernel
from reticent.kernels.glm import Posterior
from reticent.kernels.linalg import square_norm
from reticent_devices.mechanisms.shuffle.calibration import ShufflePlan
from reticent_devices.mechanisms.shuffle.sums_kernel import unshuffle

USERS, BATCH = 0, 1


class ShuffleState(NamedTuple):
    """Public: functions of shuffled sums."""

    counts: Integers  # (2,): users of closed batches, closed batches
    sums: Released  # (m,): of all closed batches; ShuffleNewton: (svec(information), information theta)
    variance: Array  # (1,): of the noise in each coordinate of the sums
    spent: Array  # (1,): the largest epsilon of a closed batch, recomputed from those who reported
    posterior: Posterior


@kernel
def open_batch(reports: int, sums: Coded, plan: ShufflePlan, state: ShuffleState) -> tuple[Released, float]:
    """What a shuffled batch tells, and the variance of its noise; the batch is counted."""
    state.counts[USERS] += reports
    state.counts[BATCH] += 1
    return unshuffle(reports, sums, plan)


@kernel
def optimistic_arm(arms: Array, posterior: Posterior, width: float) -> int:
    """argmax over arms of <x, theta> + width |x|_{P^-1}."""
    best, index = -np.inf, 0
    for a in range(arms.shape[0]):
        value = 0.0
        for i in range(arms.shape[1]):
            value += arms[a, i] * posterior.theta[i]
        if width > 0.0:
            value += width * math.sqrt(max(square_norm(arms[a], posterior.inverse), 0.0))
        if value > best:
            best, index = value, a
    return index


@kernel
def surviving(arms: Array, posterior: Posterior, width: float, alive: npt.NDArray[np.bool_]) -> None:
    """alive[a] = whether no arm is shown to be better: <x, theta> + width |x| >= every <y, theta> - width |y|,
    |.| in P^-1."""
    count, d = arms.shape
    upper, floor = np.empty(count), -np.inf
    for a in range(count):
        z = 0.0
        for i in range(d):
            z += arms[a, i] * posterior.theta[i]
        half = width * math.sqrt(max(square_norm(arms[a], posterior.inverse), 0.0))
        upper[a] = z + half
        floor = max(floor, z - half)
    for a in range(count):
        alive[a] = upper[a] >= floor
