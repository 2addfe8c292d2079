"""Reports of single users, each randomised by itself: their laws, for simulation only (floats).

A law is a row of numbers (kind, scale, chance, gamma, radius):
    SILENT    the vector itself
    GAUSSIAN  v + scale N(0, I)
    CAP       v / radius lifted to a unit vector x of one more dimension; z ~ N(0, I) given <z, x> >= gamma with
              probability `chance`, else given <z, x> < gamma; scale z, its last number dropped.
"""

import math

from tacit.kernels.compile import inlined

SILENT, GAUSSIAN, CAP = 0, 1, 2


@inlined
def beyond(rng, gamma):
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
def randomize(rng, law, vector, out):
    """out = what the server decodes from one report of `vector`; CAP: z = g + (target - <g, x>) x with g normal."""
    kind, scale = int(law[0]), law[1]
    size = vector.size
    if kind == CAP:
        last, along = 1.0, 0.0
        for i in range(size):
            x = vector[i] / law[4]
            last -= x * x
        if rng.random() < law[2]:  # noqa: SIM108 (inlined calls are statements)
            target = beyond(rng, law[3])
        else:
            target = -beyond(rng, -law[3])
        for i in range(size):
            draw = rng.standard_normal()
            along += draw * (vector[i] / law[4])
            out[i] = scale * draw
        along += math.sqrt(max(last, 0.0)) * rng.standard_normal()
        shift = scale * (target - along)
        for i in range(size):
            out[i] += shift * (vector[i] / law[4])
    else:
        for i in range(size):
            out[i] = vector[i]
            if kind == GAUSSIAN:
                out[i] += scale * rng.standard_normal()
