"""An optimal design over a user's own arms: how often to play each so that no arm stays uncertain."""

import math

import numpy as np
import numpy.typing as npt

from tacit.data import Array

STEPS = 400
SWEEPS, RIDGE = 10, 1e-6  # of d_optimal, as in kernels.design


def chances(arms: Array, alive: npt.NDArray[np.bool_]) -> Array:
    """Weights on those alive with max_x |x|^2_{M(w)^-1} <= 2 d, M(w) = sum w_a x_a x_a' (+ a millionth of its trace):
    uniform if that satisfies it, else Frank-Wolfe steps from there (Wynn & Fedorov). kernels.design has the same. Arms
    are first scaled by a power of two, which changes nothing but that squares of tiny ones do not vanish."""
    arms = np.where(alive[:, None], arms, 0.0)
    d = arms.shape[1]
    weights = alive / alive.sum()
    arms = np.ldexp(arms, -int(np.frexp(np.abs(arms).max())[1]))
    matrix = np.einsum("k,ki,kj->ij", weights, arms, arms)
    trace = float(np.trace(matrix))
    if alive.sum() == 1 or not trace > 0:
        return np.asarray(weights)
    inverse = np.linalg.inv(matrix + 1e-6 * trace * np.eye(d))
    for _ in range(STEPS):
        squares = np.where(alive, np.einsum("ki,ij,kj->k", arms, inverse, arms), 0.0)
        index = int(np.argmax(squares))
        worst = float(squares[index])
        if worst <= 2 * d:
            break
        step = (worst / d - 1) / (worst - 1)
        if step >= 1:  # one dimension: all on the longest arm
            return np.asarray(np.eye(len(arms))[index])
        weights = weights * (1 - step)
        weights[index] += step
        inverse = inverse / (1 - step)
        image = inverse @ arms[index]
        inverse = inverse - step * np.outer(image, image) / (1 + step * float(arms[index] @ image))
    return np.asarray(weights)


def d_optimal(arms: Array, scales: Array, alive: npt.NDArray[np.bool_]) -> Array:
    """A nearly D-optimal design on sqrt(scale) x over those alive, by the multiplicative algorithm: w_a <- w_a scale_a
    |x_a|^2_{M(w)^-1} / d. kernels.design has the same. Arms and scales are first multiplied by powers of two, so that
    those of tiny ones do not vanish."""
    d, weights = arms.shape[1], np.asarray(alive / alive.sum())
    arms = np.ldexp(arms, -int(np.frexp(np.abs(arms).max())[1]))
    scales = np.ldexp(scales, -int(np.frexp(scales.max())[1]))
    for _ in range(SWEEPS):
        matrix = np.einsum("k,ki,kj->ij", weights * scales, arms, arms)
        inverse = np.linalg.inv(matrix + (RIDGE * float(np.trace(matrix)) + 1e-300) * np.eye(d))
        grown = weights * scales * np.einsum("ki,ij,kj->k", arms, inverse, arms)
        mass = float(grown.sum())
        if not 0 < mass < np.inf:
            return np.asarray(alive / alive.sum())
        weights = grown / mass
    return weights


def gap_weights(arms: Array, played: Array, greed: float) -> Array:
    """1 / (K + greed sqrt(K) gap) for each arm, by its gap to the best, and the rest for the best. kernels.squarecb has
    the same."""
    values = arms @ played
    best = int(np.argmax(values))
    weights = np.asarray(1.0 / (len(arms) + greed * math.sqrt(len(arms)) * (values[best] - values)))
    weights[best] = 0.0
    weights[best] = 1.0 - float(weights.sum())
    return weights


def draw(uniform: float, weights: Array) -> int:
    """The arm whose share of [0, 1) holds `uniform`; never one of weight 0."""
    index, passed = 0, 0.0
    for a in np.flatnonzero(weights > 0):
        index = int(a)
        passed += float(weights[a])
        if uniform < passed:
            break
    return index
