"""How devices of published algorithms weigh their arms: numpy alone."""

import math

import numpy as np
import numpy.typing as npt

from reticent.data import Array

SWEEPS, RIDGE = 10, 1e-6  # of d_optimal, as in kernels.batched
FLAT, SWAPS = 1e-9, 10_000  # of span_weights, as in kernels.spanner
CLOSE, STEPS = 1e-4, 100_000  # of g_optimal


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


def g_optimal(arms: Array) -> Array:
    """Weights of a G-optimal design on arms that span their space, within CLOSE: no |x|^2 in the norm of the inverse of
    sum w x x' exceeds d (1 + CLOSE). On d (d + 1) / 2 arms at most. Steps towards the arm of which least is known and
    away from that of which most is known (Todd & Yildirim 2007), from a spanner on; then arms that depend on others are
    left out, which keeps the sum (Caratheodory)."""
    d = arms.shape[1]
    weights = span_weights(arms, np.ones(len(arms), np.bool_), 1.0 + CLOSE)
    for _ in range(STEPS):
        inverse = np.linalg.inv(np.einsum("k,ki,kj->ij", weights, arms, arms))
        squares = np.einsum("ki,ij,kj->k", arms, inverse, arms)
        far, near = int(squares.argmax()), int(np.where(weights > 0, squares, np.inf).argmin())
        if max(squares[far] - d, d - squares[near]) <= CLOSE * d:
            break
        ahead = squares[far] - d >= d - squares[near]
        arm = far if ahead else near
        step = (squares[arm] - d) / (d * (squares[arm] - 1)) if squares[arm] > 1 else -math.inf
        gone = not ahead and step <= -weights[arm] / (1 - weights[arm])
        step = -weights[arm] / (1 - weights[arm]) if gone else step
        weights = (1 - step) * weights
        weights[arm] = 0.0 if gone else weights[arm] + step
    rows, columns = np.triu_indices(d)
    used = np.flatnonzero(weights)
    products = arms[used][:, rows] * arms[used][:, columns]
    null = np.linalg.svd(products.T)[2][len(rows) :]  # combinations of these arms' x x' that are 0
    while len(null):
        out = null[0] if null[0].max() > -null[0].min() else -null[0]
        ratios = np.where(out > 0, weights[used] / np.where(out > 0, out, 1.0), np.inf)
        arm = int(ratios.argmin())
        weights[used] = np.maximum(weights[used] - ratios[arm] * out, 0.0)
        weights[used[arm]] = 0.0
        without = null[1:] - np.outer(null[1:, arm] / out[arm], out)
        used, null = np.delete(used, arm), np.delete(without, arm, axis=1)
        null /= np.linalg.norm(null, axis=1, keepdims=True)
    return np.asarray(weights / weights.sum())


def survivors(arms: Array, thetas: Array, inverses: Array, widths: Array) -> npt.NDArray[np.bool_]:
    """Those that no estimate shows to be worse than another: <x, theta_k> + width_k |x|_k is at least every
    <x, theta_k> - width_k |x|_k among those left by the estimates before it. kernels.batched has the same."""
    alive = np.ones(len(arms), np.bool_)
    for theta, inverse, width in zip(thetas, inverses, widths, strict=True):
        middle, squares = arms @ theta, np.einsum("ki,ij,kj->k", arms, inverse, arms)
        half = width * np.sqrt(np.maximum(squares, 0.0))
        alive &= middle + half >= (middle - half)[alive].max()
    return alive
