"""How devices of published algorithms weigh their arms: numpy alone."""

import math

import numpy as np
import numpy.typing as npt

from tacit.data import Array

SWEEPS, RIDGE = 10, 1e-6  # of d_optimal, as in kernels.batched
FLAT, SWAPS = 1e-9, 10_000  # of span_weights, as in kernels.spanner


def d_optimal(arms: Array, scales: Array, alive: npt.NDArray[np.bool_]) -> Array:
    """A nearly D-optimal design on sqrt(scale) x over those alive, by the multiplicative algorithm: w_a <- w_a scale_a
    |x_a|^2_{M(w)^-1} / d. kernels.batched has the same. Arms and scales are first multiplied by powers of two, so that
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


def span_weights(arms: Array, alive: npt.NDArray[np.bool_], factor: float) -> Array:
    """Equal weights on a spanner of those alive: arms whose combinations with coefficients in [-factor, factor] give
    all of them. kernels.spanner has the same, and says how. Arms are first scaled by a power of two."""
    arms = np.ldexp(arms, -int(np.frexp(np.abs(arms).max())[1]))
    chosen, axes, rest, scale = list[int](), list[Array](), arms.copy(), 0.0
    while len(chosen) < min(arms.shape):
        squares = np.where(alive, np.einsum("ki,ki->k", rest, rest), 0.0)
        best = int(np.argmax(squares))
        scale = scale or float(squares[best])
        if not squares[best] > FLAT * FLAT * scale:
            break
        axes.append(rest[best] / math.sqrt(float(squares[best])))
        rest = rest - np.outer(rest @ axes[-1], axes[-1])
        chosen.append(best)
    if not chosen:
        return np.asarray(alive / alive.sum())
    inside: Array = arms @ np.array(axes).T
    inside = np.asarray(np.linalg.solve(inside[chosen].T, inside.T).T)  # coefficients in the basis
    for _ in range(SWAPS):
        sizes = np.where(alive[:, None], np.abs(inside), 0.0)
        arm, place = divmod(int(np.argmax(sizes)), len(chosen))
        if not sizes[arm, place] > factor:
            break
        chosen[place] = arm
        row = inside[arm].copy()
        share = inside[:, place] / row[place]
        inside = inside - np.outer(share, row)
        inside[:, place] = share
    weights = np.zeros(len(arms))
    weights[chosen] = 1.0 / len(chosen)
    return weights


def survivors(arms: Array, thetas: Array, inverses: Array, widths: Array) -> npt.NDArray[np.bool_]:
    """Those that no estimate shows to be worse than another: <x, theta_k> + width_k |x|_k is at least every
    <x, theta_k> - width_k |x|_k among those left by the estimates before it. kernels.batched has the same."""
    alive = np.ones(len(arms), np.bool_)
    for theta, inverse, width in zip(thetas, inverses, widths, strict=True):
        middle, squares = arms @ theta, np.einsum("ki,ij,kj->k", arms, inverse, arms)
        half = width * np.sqrt(np.maximum(squares, 0.0))
        alive &= middle + half >= (middle - half)[alive].max()
    return alive
