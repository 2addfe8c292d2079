"""Optimal designs: how often to play each arm so that no arm stays uncertain."""

import numpy as np

from reticent.data import Array, Booleans
from reticent.kernels.compile import kernel
from reticent.kernels.linalg import grow, invert, square_norm

STEPS = 400  # of Frank and Wolfe, at most
RIDGE = 1e-6  # times the trace, added to what is inverted


@kernel
def uniform(alive: Booleans, weights: Array) -> int:
    """weights <- equal ones on those alive. Returns their number."""
    total = 0
    for a in range(alive.size):
        total += alive[a]
    for a in range(alive.size):
        weights[a] = 1.0 / total if alive[a] else 0.0
    return total


@kernel
def information(arms: Array, scales: Array, weights: Array, out: Array) -> float:
    """out <- M(w) = sum of w_a scale_a x_a x_a', plus RIDGE times its trace. Returns the trace."""
    count, d = arms.shape
    out[:] = 0.0
    trace = 0.0
    for a in range(count):
        w = weights[a] * scales[a]
        for i in range(d):
            trace += w * arms[a, i] * arms[a, i]
            for j in range(d):
                out[i, j] += w * arms[a, i] * arms[a, j]
    for i in range(d):
        out[i, i] += RIDGE * trace + 1e-300
    return trace


@kernel
def chances(arms: Array, alive: Booleans, weights: Array) -> None:
    """weights <- a design on those alive with max_x |x|^2_{M(w)^-1} <= 2 d: uniform weights if they satisfy it; else
    Frank-Wolfe steps (Wynn & Fedorov) from there: weight moves to the worst arm x by the line search
    (f / d - 1) / (f - 1), f = |x|^2_{M^-1}. d is the best that can be reached (Kiefer & Wolfowitz 1960)."""
    count, d = arms.shape
    matrix, inverse = np.empty((d, d)), np.empty((d, d))
    total = uniform(alive, weights)
    trace = information(arms, np.ones(count), weights, matrix)
    if total == 1 or not trace > 0.0:
        return
    invert(matrix, inverse)
    for _ in range(STEPS):
        worst, index = 0.0, -1
        for a in range(count):
            if alive[a]:
                value = square_norm(arms[a], inverse)
                if value > worst:
                    worst, index = value, a
        if worst <= 2.0 * d:
            return
        step = (worst / d - 1.0) / (worst - 1.0)
        for a in range(count):
            weights[a] *= 1.0 - step
        weights[index] += step
        inverse /= 1.0 - step  # of (1 - step) M + step x x'
        grow(arms[index], step, inverse)
