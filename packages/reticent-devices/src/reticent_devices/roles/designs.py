"""An optimal design over a user's own arms: how often to play each so that no arm stays uncertain."""

import numpy as np
import numpy.typing as npt

from reticent.data import Array

STEPS = 400


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


def draw(uniform: float, weights: Array) -> int:
    """The arm whose share of [0, 1) holds `uniform`; never one of weight 0."""
    index, passed = 0, 0.0
    for a in np.flatnonzero(weights > 0):
        index = int(a)
        passed += float(weights[a])
        if uniform < passed:
            break
    return index
