"""Generalised linear bandits from sums of scores alone: the estimate is a multiple of the released sum, and a choice is
the best arm by it and by a little fresh noise.

A row is x, or (z, a), or (s, z, a) as in model.arms; theta has all coordinates, one after the other. Of a Posterior
only theta and spread are in use, and spread is one number, the same for every coordinate."""

import math

import numpy as np
from numpy.random import Generator

from tacit.data import Array, Integers, Released
from tacit.kernels.compile import inlined, kernel
from tacit.kernels.glm import Known, Posterior
from tacit.model.scores import at


@kernel
def follow(
    released: Released,
    eta: float,
    spread: float,
    most: float,
    here: Integers,
    known: Known,
    posterior: Posterior,
) -> None:
    """theta <- the projection on |theta| <= most of eta times the released sum, in the coordinates `here`, and 0 in the
    others. Where theta_0 is known with a precision Q, of theta_0 + (Q + I / eta)^-1 times the sum: what is known well
    moves less. Q may have one more axis, the first, of blocks that it does not join."""
    theta = posterior.theta
    posterior.spread[0] = spread
    if known.theta.size > 0:
        moved = np.zeros(theta.size)
        for i in here:
            moved[i] = released[i]
        theta[:] = moved_from(known, eta, moved)
    else:
        theta[:] = 0.0
        for i in here:
            theta[i] = eta * released[i]
    length = math.sqrt(np.sum(theta**2))
    if length > most:
        for i in range(theta.size):
            theta[i] *= most / length


@kernel
def moved_from(known: Known, eta: float, sums: Array) -> Array:
    """theta_0 + (Q + I / eta)^-1 sums."""
    p = known.precision.shape[-1]
    precision, start = known.precision.reshape(-1, p, p), known.theta.reshape(-1, p)
    out = np.empty(sums.size)
    for a in range(start.shape[0]):
        own = slice(a * p, (a + 1) * p)
        out[own] = start[a] + np.linalg.solve(precision[a] + np.eye(p) / eta, sums[own])
    return out


@inlined
def place_of(row: Array, width: int, shared: int) -> int:
    """Where the numbers of a row beyond the shared ones begin in theta: a row of `width` features and one number more
    has that of its block there."""
    return shared + int(row[width]) * (width - shared) if row.size > width else shared


@inlined
def best_by(rng: Generator, rows: Array, posterior: Posterior, width: int, shared: int, target: Array) -> int:
    """argmax over rows of `width` features of <x, theta + spread N>, N a fresh normal number for each coordinate,
    however many arms there are; target is overwritten."""
    for i in range(target.size):
        target[i] = posterior.theta[i]
        if posterior.spread[0] > 0.0:
            target[i] += posterior.spread[0] * rng.standard_normal()
    return first_best(rows, target, width, shared)


@inlined
def first_best(rows: Array, target: Array, width: int, shared: int) -> int:
    """argmax over rows of <x, target>; the first one of equals."""
    best, index = -np.inf, 0
    for a in range(rows.shape[0]):
        value = at(rows[a, :width], target, shared, place_of(rows[a], width, shared))
        if value > best:
            best, index = value, a
    return index


@kernel
def best_rows(arms: Array, posterior: Posterior, draws: Array, width: int, shared: int, out: Integers) -> None:
    """out[i] = the choice of `best_by` for user i with the normal numbers draws[i], one for each coordinate or none."""
    target = posterior.theta.copy()
    for i in range(arms.shape[0]):
        for j in range(draws.shape[1]):
            target[j] = posterior.theta[j] + posterior.spread[0] * draws[i, j]
        out[i] = first_best(arms[i], target, width, shared)
