"""OfferedArms that are vectors: in part the same in all rounds, in part like the other offers of their round."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Integers
from reticent.kernels.block import Block
from reticent.kernels.compile import inlined, kernel

ROOM = 2.0  # added to the squared length of a vector before it is divided by its length: the unit ball's inside


class OfferedArms(NamedTuple):
    """K offers of r numbers."""

    items: Array  # (K, r): normal numbers, what stays of each
    mixing: Array  # (r, r): of independent numbers
    still: float  # share of the variance that stays
    alike: float  # share of the rest that the offers of a round have in common
    constant: float  # a number beside them, the first one; 0: there is none


class Slopes(NamedTuple):
    theta: Array  # (r,)
    cross: float  # of the product of the first two numbers


@inlined
def worth(slopes: Slopes, x: Array) -> float:
    out = 0.0
    for i in range(x.size):
        out += slopes.theta[i] * x[i]
    if slopes.cross != 0.0:
        out += slopes.cross * x[0] * x[1]
    return out


@kernel
def fill_offers(
    rng: Generator, block: Block, offers: OfferedArms, before: Slopes, after: Slopes, turn: float, clock: Integers
) -> None:
    """Arms, noise and, in place of means, scores: those of `before`, which turn towards `after` by the angle `turn` a
    round. clock is changed."""
    count, size = offers.items.shape
    first = 1 if offers.constant > 0.0 else 0
    own, common, made = np.empty(size), np.empty(size), np.empty(size)
    length = np.sqrt(1.0 - offers.constant * offers.constant)
    stays, shared = np.sqrt(offers.still), np.sqrt((1.0 - offers.still) * offers.alike)
    fresh = np.sqrt((1.0 - offers.still) * (1.0 - offers.alike))
    for t in range(block.noise.size):
        for i in range(size):
            common[i] = rng.standard_normal()
        for a in range(count):
            for i in range(size):
                own[i] = stays * offers.items[a, i] + shared * common[i] + fresh * rng.standard_normal()
            total = ROOM
            for i in range(size):
                made[i] = 0.0
                for j in range(size):
                    made[i] += offers.mixing[i, j] * own[j]
                total += made[i] * made[i]
            x = block.arms[t, a, first:]
            for i in range(size):
                x[i] = length * made[i] / np.sqrt(total)
            if first == 1:
                block.arms[t, a, 0] = offers.constant
            value = worth(before, x)
            if turn > 0.0:
                value = np.cos(turn * clock[0]) * value + np.sin(turn * clock[0]) * worth(after, x)
            block.means[t, a] = value
        block.noise[t] = rng.random()
        clock[0] += 1
