"""Generalised linear bandits from sums of scores alone: the estimate is a multiple of the released sum, averaged over
the last releases, and a choice is the best arm by it and by a little fresh noise.

A row is x, or (z, a), or (s, z, a) as in model.arms; theta has all coordinates, one after the other. A Posterior holds
    theta      (d,): the average, by which choices are made
    centre     (d,): the latest estimate, at which scores are taken
    axes       (1, d): the average, before it is cut to the coordinates in use and to the radius
    precision  (1,): the number of releases that it is of
    spread     (1,): the standard deviation of a choice's draw, in each coordinate."""

import math

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Integers, Released
from reticent.kernels.compile import inlined, kernel
from reticent.kernels.glm import Known, Posterior
from reticent.model.scores import at


def unlearnt(theta: Array) -> Posterior:
    """Before anything was released, with an estimate from elsewhere, or zeros."""
    return Posterior(theta, theta.copy(), np.zeros((1, theta.size)), np.full(1, -1.0), np.zeros(1), np.zeros((0, 0)))


@kernel
def follow(
    released: Released,
    step: int,
    eta: float,
    share: float,
    spread: float,
    most: float,
    here: Integers,
    known: Known,
    posterior: Posterior,
) -> None:
    """The estimate after `step` releases: theta_0 and eta times the released sum; where theta_0 is known with a
    precision Q, (Q + I / eta)^-1 times the sum: what is known well moves less. The average goes `share` of the way to
    it, or is that of all estimates as long as these are few; a release counts once, however often this is asked for.
    Both are 0 outside of the coordinates `here`, and projected on |theta| <= most."""
    posterior.spread[0] = spread
    moved = by_precision(known, eta, released) if known.theta.size > 0 else eta * np.asarray(released)
    average = posterior.axes[0]
    if posterior.precision[0] != step:
        posterior.precision[0] = step
        share = max(share, 1.0 / max(step, 1))
        for i in range(average.size):
            average[i] += share * (moved[i] - average[i])
    inside(moved, most, here, known, posterior.centre)
    inside(average, most, here, known, posterior.theta)


@inlined
def inside(moved: Array, most: float, here: Integers, known: Known, out: Array) -> None:
    """out = theta_0 + moved in the coordinates `here`, 0 in others, cut to norm `most`."""
    start = known.theta.ravel()
    out[:] = 0.0
    for i in here:
        out[i] = moved[i] + (start[i] if start.size > 0 else 0.0)
    length = math.sqrt(np.sum(out**2))
    if length > most:
        for i in here:
            out[i] *= most / length


@kernel
def by_precision(known: Known, eta: float, sums: Array) -> Array:
    """(Q + I / eta)^-1 sums; Q may have one more axis, the first, of blocks that it does not join."""
    p = known.precision.shape[-1]
    precision = known.precision.reshape(-1, p, p)
    out = np.empty(sums.size)
    for a in range(precision.shape[0]):
        own = slice(a * p, (a + 1) * p)
        out[own] = np.linalg.solve(precision[a] + np.eye(p) / eta, sums[own])
    return out


@inlined
def place_of(row: Array, width: int) -> int:
    """Where the numbers of a row begin in theta: a row of `width` features and one number more has that of its block
    there."""
    return int(row[width]) * width if row.size > width else 0


@inlined
def best_by(rng: Generator, rows: Array, posterior: Posterior, width: int, target: Array) -> int:
    """argmax over rows of `width` features of <x, theta + spread N>, N a fresh normal number for each coordinate,
    however many arms there are; target is overwritten."""
    for i in range(target.size):
        target[i] = posterior.theta[i]
        if posterior.spread[0] > 0.0:
            target[i] += posterior.spread[0] * rng.standard_normal()
    return first_best(rows, target, width)


@inlined
def first_best(rows: Array, target: Array, width: int) -> int:
    """argmax over rows of <x, target>; the first one of equals."""
    best, index = -np.inf, 0
    for a in range(rows.shape[0]):
        value = at(rows[a, :width], target, place_of(rows[a], width))
        if value > best:
            best, index = value, a
    return index


@kernel
def best_rows(arms: Array, posterior: Posterior, draws: Array, width: int, out: Integers) -> None:
    """out[i] = the choice of `best_by` for user i with the normal numbers draws[i], one for each coordinate or none."""
    target = posterior.theta.copy()
    for i in range(arms.shape[0]):
        for j in range(draws.shape[1]):
            target[j] = posterior.theta[j] + posterior.spread[0] * draws[i, j]
        out[i] = first_best(arms[i], target, width)
