"""JointGLM with covariance=: how features vary is known from elsewhere, from rows without rewards that are public.

The curvature is a sum of weighted x x' over the arms that were chosen: about their number times the covariance of the
features. Of what is released, the curvature is nearly all noise where there are many dimensions. With a shape S that is
known (its trace is 1) it is drawn towards S times its own trace, as far as its distance from there may be noise:

    A <- T + keep (A - T),   T = trace(A)+ S,   keep = max(0, 1 - n std^2 / |A - T|^2),   n = p (p + 1) / 2 - 1,

which leaves `keep` of its noise. With keep = 1 nothing has happened: a shape that is wrong is given up as soon as the
data say so.

Without curvature (onepass.scores) the sums of scores are turned by P = (p S + RIDGE)^-1 before a multiple of them is
the estimate: directions in which features vary little are no longer learnt last. A step then may be longer. With s the
eigenvalues of p S, which are 1 on average, noise in predictions is sqrt(mean s / (s + RIDGE)^2) times what it was, and
the slope of the scores at most max s / (p (s + RIDGE)) times.

Both are post-processing: what is released, and the noise in it, is the same."""

from typing import Any, NamedTuple

import numpy as np

from tacit.algorithms.onepass.loops_kernel import EXACT
from tacit.data import Array, Released
from tacit.mechanisms import leaves
from tacit.model.vectors import packed_size, pair_size

RIDGE = 2.0  # chosen among .1 to 4 by regret on a tuning seed of `fashion`; 1 to 4 are alike
CAVEAT = (
    "The shape of the features' covariance was given as public (covariance=): the people behind it, if any, are not "
    "protected."
)


class Shape(NamedTuple):
    """matrix: the (p, p) covariance over its trace; turn: P; noise, slope: what P changes them by. PUBLIC."""

    matrix: Array
    turn: Array
    noise: float
    slope: float


def shape(given: Any, own: int, *, refused: bool) -> Shape | None:
    """None where none was given. ValueError, also where one is refused."""
    if given is None:
        return None
    if refused:
        raise ValueError(
            'Expected no covariance with contexts="public", whose curvature is exact, or coordinates that arms share '
            "(shared, features of hybrid arms), got one."
        )
    return of(given, own)


def of(given: Any, own: int) -> Shape:
    """From a (p, p) matrix or from rows of p = own features. ValueError."""
    try:
        found = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("Expected covariance to be a matrix, or rows of features, of numbers.") from None
    if found.ndim != 2 or found.shape[1] != own or len(found) < own:
        size = " x ".join(map(str, found.shape)) or "a number"
        raise ValueError(f"Expected covariance to be {own} x {own}, or more rows of {own} features, got {size}.")
    if not np.isfinite(found).all():
        raise ValueError("Expected covariance to have finite numbers, got others.")
    if len(found) > own:
        lengths = np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
        found = (found / lengths).T @ found  # as contributions weigh them: x x' / |x|
    symmetric = np.allclose(found, found.T, rtol=1e-9, atol=1e-12 * np.abs(found).max())
    trace = float(np.trace(found))
    if not symmetric or trace <= 0 or np.linalg.eigvalsh(found)[0] < -1e-9 * trace:
        raise ValueError("Expected covariance to be symmetric and positive, got another matrix.")
    matrix = np.asarray((found + found.T) / (2 * trace))
    values, axes = np.linalg.eigh(own * matrix)
    values = np.maximum(values, 0.0)
    by = 1 / (values + RIDGE)
    noise, slope = float(np.sqrt(np.mean(values * by**2))), float(np.max(values * by)) / own
    return Shape(matrix, np.ascontiguousarray((axes * by) @ axes.T), noise, slope)


def turned(released: Released, by: Shape) -> Released:
    """P times the sums of each block."""
    out = leaves.part(released, slice(None))
    out[:] = (released.reshape(-1, len(by.turn)) @ by.turn).ravel()
    return out


def drawn(released: Released, by: Shape, scale: float, std: float) -> tuple[Released, float]:
    """What was released, with noise of that std, with each block's curvature drawn towards that shape, and the scale of
    the curvature in it: so much larger that the noise beside it is what is left."""
    p = len(by.matrix)
    packed, expected = packed_size(p), (packed_size(p) - 1) * (std / scale) ** 2
    i, j = np.triu_indices(p)
    target, diagonal = by.matrix[i, j] * np.where(i == j, 1.0, np.sqrt(2.0)), i == j
    out, most = leaves.part(released, slice(None)), scale / EXACT
    blocks = out.reshape(-1, pair_size(p))
    for block in blocks:
        found = block[:packed] / scale
        towards = max(float(found[diagonal].sum()), 0.0) * target
        square = float(np.sum((found - towards) ** 2))
        keep = 1.0 - expected / square if square > expected else 0.0
        block[:packed] = towards + keep * (found - towards)
        most = max(most, keep)
    blocks[:, :packed] *= scale / most
    return out, scale / most
