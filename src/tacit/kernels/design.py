"""Optimal designs: how often to play each arm so that no arm stays uncertain."""

import numpy as np

from tacit.kernels.compile import kernel
from tacit.kernels.linalg import grow, invert, square_norm

STEPS = 400


@kernel
def chances(arms, alive, weights):
    """weights <- a design on those alive with max_x |x|^2_{M(w)^-1} <= 2 d, M(w) = sum w_a x_a x_a' (+ a millionth of
    its trace). Uniform weights if they satisfy it; else Frank-Wolfe steps (Wynn & Fedorov) from there: weight moves
    to the worst arm x by the line search (f / d - 1) / (f - 1), f = |x|^2_{M^-1}. d is the best that can be reached
    (Kiefer & Wolfowitz 1960)."""
    count, d = arms.shape
    matrix, inverse = np.zeros((d, d)), np.empty((d, d))
    total = 0
    for a in range(count):
        total += alive[a]
    trace = 0.0
    for a in range(count):
        weights[a] = 1.0 / total if alive[a] else 0.0
        for i in range(d):
            trace += weights[a] * arms[a, i] * arms[a, i]
            for j in range(d):
                matrix[i, j] += weights[a] * arms[a, i] * arms[a, j]
    if total == 1 or not trace > 0.0:
        return
    for i in range(d):
        matrix[i, i] += 1e-6 * trace
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
