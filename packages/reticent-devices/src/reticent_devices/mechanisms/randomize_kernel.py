"""Reports of single users, each randomised by itself: their laws in floating point, for simulation only.

SILENT    the vector itself
GAUSSIAN  v + scale N(0, I)
CAP       v / radius lifted to a unit vector x of one more dimension; z ~ N(0, I) given <z, x> >= gamma with
          probability `chance`, else given <z, x> < gamma; scale z, its last number dropped.
"""

import math

import numpy as np
from numpy.random import Generator

from reticent.data import Exact, Released
from reticent.kernels.compile import inlined, kernel
from reticent_devices.mechanisms.randomizers import CAP, GAUSSIAN, Law


@inlined
def beyond(rng: Generator, gamma: float) -> float:
    """A standard normal number given that it is at least gamma: Robert 1995, or plain rejection below 0."""
    if gamma <= 0.0:
        t = rng.standard_normal()
        while t < gamma:
            t = rng.standard_normal()
    else:
        rate = 0.5 * (gamma + math.sqrt(gamma * gamma + 4.0))
        while True:
            t = gamma + rng.standard_exponential() / rate
            if rng.random() <= math.exp(-0.5 * (t - rate) * (t - rate)):
                break
    return t


@inlined
def randomize(rng: Generator, law: Law, vector: Exact, out: Released) -> None:
    """out = what the server decodes from one report of `vector`; CAP: z = g + (target - <g, x>) x with g normal."""
    scale = law.scale
    size = vector.size
    if law.kind == CAP:
        last, along = 1.0, 0.0
        for i in range(size):
            x = vector[i] / law.radius
            last -= x * x
        if rng.random() < law.chance:  # noqa: SIM108 (inlined calls are statements)
            target = beyond(rng, law.gamma)
        else:
            target = -beyond(rng, -law.gamma)
        for i in range(size):
            draw = rng.standard_normal()
            along += draw * (vector[i] / law.radius)
            out[i] = scale * draw
        along += math.sqrt(max(last, 0.0)) * rng.standard_normal()
        shift = scale * (target - along)
        for i in range(size):
            out[i] += shift * (vector[i] / law.radius)
    else:
        for i in range(size):
            out[i] = vector[i]
            if law.kind == GAUSSIAN:
                out[i] += scale * rng.standard_normal()


@inlined
def flip(rng: Generator, share: float, coin: float) -> float:
    """Randomised response: a bit that is 1 with probability `share`, sent as it is with probability `coin`."""
    bit = 1.0 if rng.random() < share else 0.0
    if rng.random() >= coin:
        bit = 1.0 - bit
    return bit


@kernel
def empty_report(size: int) -> Released:
    """Room for one decoded report."""
    return Released(np.empty(size))
