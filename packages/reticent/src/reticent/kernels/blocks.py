"""Generalised linear bandits whose arms lie in one block of coordinates each: a row (z, a) has z in block a, and zeros
elsewhere. A Posterior has one more axis here, the first: of blocks."""

import math

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Integers, Released
from reticent.kernels.compile import inlined, kernel
from reticent.kernels.glm import Known, Posterior, Tuning, along_axes, combine_within, from_axes
from reticent.kernels.linalg import copy, smat
from reticent.model.vectors import packed_size, pair_size

# Chosen by regret on tuning seeds of 8 worlds with disjoint arms (docs/measurements/joint-glm.md); neither touches
# privacy.
BLOCKS = Tuning(ridge=1.2, explore=0.35, share=1.0, caution=0.5, scaling=0.5)
COUNTED = 0.3  # of the variance that noise in the curvature makes


@kernel
def block_of(posterior: Posterior, a: int) -> Posterior:
    """Block a alone: views, so that what changes there changes here."""
    return Posterior(
        posterior.theta[a],
        posterior.centre[a],
        posterior.axes[a],
        posterior.precision[a],
        posterior.spread[a],
        posterior.inverse[a],
    )


@kernel
def fit_blocks(
    released: Released,
    scale: float,
    unit: float,
    std: float,
    radius: float,
    tuning: Tuning,
    live: Integers,
    posterior: Posterior,
) -> None:
    """`fit` of the curvature that has A_a on its diagonal and zeros elsewhere; released is a pair (scale svec(A_a),
    b_a) for each block a. The prior's variance and the projection on |theta| <= radius are of all live blocks together:
    where all are and nothing is explored, the estimate without noise is that of `fit`. Blocks that are not live stay as
    they are: nobody is offered anything there.

    What knowing the blocks adds: noise stands in the blocks alone; A_a is drawn towards what blocks have in common
    (`pool`), which leaves keep_a of its own noise; theta* has radius^2 / blocks in a block, on average; and what is
    usual along an axis is the curvature that blocks have there on average, so that features which vary little are not
    taken for unexplored ones:
        e_a^2 = std^2 (unit^2 + COUNTED keep_a^2 radius^2 / (blocks scale^2)),   usual_ak = axis_ak' U axis_ak."""
    blocks, p = live.size, posterior.theta.shape[1]
    size, packed = pair_size(p), packed_size(p)
    curvature, keep, shape = np.empty((blocks, p, p)), np.ones(blocks), np.zeros((p, p))
    for i in range(blocks):
        smat(released[live[i] * size : live[i] * size + packed] / scale, curvature[i])
    pool(curvature, std / scale, keep, shape)
    axes, prior, total = np.empty((blocks, p, p)), radius / math.sqrt(blocks * p), 0.0
    for i in range(blocks):
        found, vectors = np.linalg.eigh(curvature[i])
        copy(vectors, axes[i])
        values = np.maximum(found, 0.0)
        usual = np.maximum(np.sum(vectors * np.dot(shape, vectors), axis=0), 0.0)
        moment = np.dot(vectors.T, released[live[i] * size + packed : (live[i] + 1) * size] * unit)
        noise = std * math.sqrt(unit * unit + COUNTED * (keep[i] * radius / scale) ** 2 / blocks)
        total += along_axes(values, values, usual, moment, noise, prior, tuning, block_of(posterior, live[i]))
    inside = min(1.0, radius / math.sqrt(total)) if total > 0.0 else 1.0
    for i in range(blocks):
        from_axes(axes[i], inside, block_of(posterior, live[i]))


@kernel
def combine_blocks(known: Known, radius: float, live: Integers, posterior: Posterior) -> None:
    """`combine` where nothing that is known joins two blocks: each has a precision of its own, and the projection on
    |theta| <= radius is of all live blocks together."""
    total = 0.0
    for i in range(live.size):
        combine_within(Known(known.theta[live[i]], known.precision[live[i]]), block_of(posterior, live[i]))
        total += np.sum(posterior.theta[live[i]] ** 2)
    if total > radius * radius:
        for i in range(live.size):
            copy(posterior.theta[live[i]] * (radius / math.sqrt(total)), posterior.theta[live[i]])


@kernel
def pool(curvature: Array, std: float, keep: Array, shape: Array) -> None:
    """Draw each A_a towards its trace times the shape that all blocks have together, since people are alike in all of
    them, and that shape towards the identity (James & Stein, twice). With n = p (p + 1) / 2 - 1, noise of that std in
    A's coordinates, and U = mean of the A_a, m = trace(U) / p:
        U   <- m I + keep (U - m I),   keep   = max(0, 1 - n std^2 / (blocks |U - m I|^2))
        A_a <- T + keep_a (A_a - T),   keep_a = max(0, 1 - n std^2 / |A_a - T|^2),   T = trace(A_a) U / trace(U).
    Changes curvature, keep and shape, which becomes U; nothing if trace(U) <= 0."""
    blocks, p, _ = curvature.shape
    together = np.zeros((p, p))
    for a in range(blocks):
        together += curvature[a] / blocks
    trace = np.trace(together)
    if trace <= 0.0:  # nothing but noise
        return
    expected = (p * (p + 1) // 2 - 1) * std * std
    even = np.eye(p) * (trace / p)
    copy(even + kept(np.sum((together - even) ** 2), expected / blocks) * (together - even), shape)
    for a in range(blocks):
        target = shape * (max(np.trace(curvature[a]), 0.0) / trace)
        keep[a] = kept(np.sum((curvature[a] - target) ** 2), expected)
        copy(target + keep[a] * (curvature[a] - target), curvature[a])


@inlined
def kept(square: float, noise: float) -> float:
    """The share of a squared distance that noise alone, which gives `noise` on average, would not explain."""
    return 1.0 - noise / square if square > noise else 0.0


@inlined
def thompson_blocks(rng: Generator, rows: Array, posterior: Posterior, target: Array) -> int:
    """argmax over rows (z, a) of <z, theta_a + sum_k spread_ak N(0, 1) axis_ak>, drawn for all blocks, whatever is
    offered; target is overwritten."""
    for a in range(target.shape[0]):
        for i in range(target.shape[1]):
            target[a, i] = posterior.theta[a, i]
        for k in range(target.shape[1]):
            if posterior.spread[a, k] > 0.0:
                draw = posterior.spread[a, k] * rng.standard_normal()
                for i in range(target.shape[1]):
                    target[a, i] += draw * posterior.axes[a, i, k]
    return best_row(rows, target)


@inlined
def best_row(rows: Array, target: Array) -> int:
    """argmax over rows (z, a) of <z, target_a>; the first one of equals."""
    best, index = -np.inf, 0
    for row in range(rows.shape[0]):
        a, value = int(rows[row, target.shape[1]]), 0.0
        for i in range(target.shape[1]):
            value += rows[row, i] * target[a, i]
        if value > best:
            best, index = value, row
    return index


@kernel
def thompson_block_rows(arms: Array, theta: Array, axes: Array, spread: Array, draws: Array, out: Integers) -> None:
    """out[i] = the choice of `thompson_blocks` for user i with the normal numbers draws[i], one for each positive
    spread."""
    target = np.empty(theta.shape)
    for i in range(arms.shape[0]):
        n = 0
        for a in range(theta.shape[0]):
            for j in range(theta.shape[1]):
                target[a, j] = theta[a, j]
            for k in range(theta.shape[1]):
                if spread[a, k] > 0.0:
                    draw = spread[a, k] * draws[i, n]
                    n += 1
                    for j in range(theta.shape[1]):
                        target[a, j] += draw * axes[a, j, k]
        out[i] = best_row(arms[i], target)
