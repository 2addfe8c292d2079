"""One pass where arms have a part that all share and a part of their own: what is released leaves out the zeros between
two actions (model.hybrid), and the estimate is that of the dense bandit from the rest.

The estimate shrinks each eigenvector of the whole curvature by what is known along it. That is no linear function of
the curvature, so it cannot be had block by block by elimination: it is computed from one matrix of all coordinates that
are in use, once a release. A choice needs products with the asking user's own numbers alone."""

import functools
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator

from tacit.algorithms import irls
from tacit.algorithms.chances import Values
from tacit.algorithms.onepass import curvature
from tacit.data import Array, Integers, Released
from tacit.kernels.blocks import COUNTED, kept, thompson_hybrid_rows
from tacit.kernels.blocks import pool as pool_blocks
from tacit.kernels.glm import Known, Posterior, Tuning, combine, settle
from tacit.kernels.linalg import smat
from tacit.mechanisms import leaves
from tacit.model.hybrid import Layout
from tacit.model.vectors import packed_size
from tacit.protocols import Adder

if TYPE_CHECKING:
    from tacit.algorithms.onepass.algorithm import OnePass

STATISTIC, GROWTH, DISCOUNT, PER_SIGMA = (
    curvature.STATISTIC,
    curvature.GROWTH,
    curvature.DISCOUNT,
    curvature.PER_SIGMA,
)
# Chosen by regret on tuning seeds of 8 worlds (docs/measurements/joint-glm.md); it does not touch privacy.
HYBRID = Tuning(ridge=2.0, explore=0.35, share=1.0, caution=0.5)


@functools.lru_cache(maxsize=16)
def coordinates(layout: Layout) -> Integers:
    """(blocks, q): those of a user in each block."""
    return np.array([layout.coordinates(block) for block in range(layout.blocks)])


@functools.lru_cache(maxsize=16)
def places(layout: Layout) -> Integers:
    """(blocks, pair_size(q)): where what a user in each block adds is kept."""
    return np.array([layout.places(here) for here in coordinates(layout)])


def blank(of: "OnePass", live: Integers) -> Posterior:
    return prior(of.layout, of.plan.radius, live, of.prior, of.tuning.explore)


def prior(layout: Layout, radius: float, live: Integers, known: Known, explore: float) -> Posterior:
    """As irls.prior, of the coordinates that are in use; others have the same variance."""
    here = layout.coordinates(live)
    one = irls.prior(len(here), radius, _of(known, here), explore)
    spread, precision = np.zeros(layout.dim), np.full(layout.dim, len(here) / radius**2)
    out = Posterior(
        spread.copy(), spread.copy(), np.eye(layout.dim), precision, spread, np.eye(layout.dim) * radius**2 / len(here)
    )
    _put(one, here, out)
    return out


def fit(of: "OnePass", released: Released, step: int, live: Integers, posterior: Posterior) -> None:
    fit_live(released, layout=of.layout, live=live, posterior=posterior, **curvature.settings(of, step))


def fit_live(
    released: Released,
    *,
    scale: float,
    unit: float,
    std: float,
    radius: float,
    tuning: Tuning,
    posterior: Posterior,
    known: Known,
    live: Integers,
    layout: Layout,
) -> None:
    """As irls.update, of the coordinates that are in use; the rest stays as it is."""
    here = layout.coordinates(live)
    dim, whole = len(here), leaves.placed(released, layout.places(here))
    matrix, one = np.empty((dim, dim)), irls.prior(dim, radius)
    smat(whole[: packed_size(dim)] / scale, matrix)
    touched = pool(matrix, layout.shared, layout.own, std / scale)
    found, axes = np.linalg.eigh(matrix)
    values, moment = np.maximum(found, 0.0), whole[packed_size(dim) :] * unit
    noise = std * math.sqrt(unit**2 + COUNTED * touched * (radius / scale) ** 2)
    settle(values, values, np.ascontiguousarray(axes), moment, noise, radius, tuning, one)
    if known.theta.size:
        combine(_of(known, here), radius, one)
    posterior.spread[:] = 0.0  # of what is not in use
    _put(one, here, posterior)


def pool(curvature: Array, shared: int, own: int, std: float) -> float:
    """Draw the parts of a curvature towards what they would be if features were alike in all directions and blocks, as
    far as the distance from there may be noise of that std: s s' towards a multiple of the identity, s z' of a block
    towards 0, and z z' as kernels.blocks.pool does. Without noise nothing changes.

    Changes curvature, and returns the share of |theta*|^2 that its noise multiplies, on average over coordinates: the
    mean square of the shares that its numbers keep of their noise, 0 between blocks."""
    starts = range(shared, len(curvature), own)
    left, blocks = np.zeros_like(curvature), np.array([curvature[i : i + own, i : i + own] for i in starts])
    together, even = curvature[:shared, :shared], np.eye(shared) * (np.trace(curvature[:shared, :shared]) / shared)
    left[:shared, :shared] = kept(float(np.sum((together - even) ** 2)), (packed_size(shared) - 1) * std**2)
    together[:] = even + left[:shared, :shared] * (together - even)
    keep = np.ones(len(blocks))
    pool_blocks(blocks, std, keep, np.zeros((own, own)))
    for i, block, share in zip(starts, blocks, keep, strict=True):
        mine = slice(i, i + own)
        curvature[mine, mine], left[mine, mine] = block, share
        across = kept(2 * float(np.sum(curvature[:shared, mine] ** 2)), shared * own * std**2)
        for part in ((slice(shared), mine), (mine, slice(shared))):
            left[part] = across
            curvature[part] *= across
    return float(np.mean(left**2))


def pick(of: "OnePass", posterior: Posterior, arms: Array, rng: Generator) -> Integers:
    """As irls.choose_many, for rows (s, z, a)."""
    out = np.empty(len(arms), np.int64)
    draws = rng.standard_normal((len(arms), np.count_nonzero(posterior.spread)))
    thompson_hybrid_rows(arms, posterior, draws, of.plan.shared, out)
    return out


def values(of: "OnePass", posterior: Posterior, arms: Array) -> Values:
    return irls.values(of.layout.whole(arms), posterior)


def beliefs(of: "OnePass", posterior: Posterior, arms: Array, level: float) -> tuple[Array, Array]:
    return curvature.beliefs(of, posterior, of.layout.whole(arms), level)


def local(of: "OnePass", posterior: Posterior, block: int | slice) -> tuple[Array, Array]:
    """As curvature.local."""
    here = coordinates(of.layout)[block]
    return posterior.theta[here], np.ascontiguousarray(posterior.inverse[here[..., None], here[..., None, :]])


def adder(of: "OnePass", posterior: Posterior) -> Adder:
    return curvature.linearised(of, *local(of, posterior, slice(None)), places(of.layout))


def _of(known: Known, here: Integers) -> Known:
    """What is known of these coordinates."""
    return Known(known.theta[here], known.precision[np.ix_(here, here)]) if known.theta.size else known


def _put(one: Posterior, here: Integers, out: Posterior) -> None:
    """A posterior of some coordinates in its place. Its axes have zeros in others."""
    for name in ("theta", "centre", "precision", "spread"):
        getattr(out, name)[here] = getattr(one, name)
    for name in ("axes", "inverse"):
        getattr(out, name)[np.ix_(here, here)] = getattr(one, name)
