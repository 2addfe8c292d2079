"""The best linear test of one contribution against all that a mechanism of continual release has released.

Nothing of a mechanism is derived again here: how noise and contributions enter its releases is read off the real code,
fed with unit vectors."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from reticent.data import Array
from reticent.kernels.noise import NoiseLaw
from reticent.mechanisms.continual import Continual
from reticent.mechanisms.grid import Grid
from reticent.privacy.noise import Source


class Canary(NamedTuple):
    """leaf: where one contribution is seen best. weights: of the releases in the score, which has variance 1 and moves
    by `mu` when the contribution moves by 1. moves: how that contribution enters each release."""

    leaf: int
    weights: Array  # (leaves,)
    moves: Array  # (leaves,)
    mu: float


def worst_canary(mechanism: Continual, *, leaf: int | None = None) -> Canary:
    """Score = Sigma^-1 m, m the move of the releases and Sigma the covariance of their noise: the whitened difference;
    at the leaf where m' Sigma^-1 m is largest, unless a leaf is given."""
    noise, data = responses(mechanism)
    covariance = noise @ noise.T
    covariance += 1e-12 * np.trace(covariance) * np.eye(len(covariance))  # a release without noise is no division by 0
    if not noise.any():
        covariance = np.eye(len(covariance))
    solved: Array = np.asarray(np.linalg.solve(covariance, data), np.float64)
    squares = np.einsum("ts,ts->s", data, solved)
    best = int(np.argmax(squares)) if leaf is None else leaf
    mu = math.sqrt(float(squares[best]))
    return Canary(best, solved[:, best] / mu, data[:, best], mu)


def responses(mechanism: Continual) -> tuple[Array, Array]:
    """(leaves, draws): how each noise drawn enters each release; (leaves, leaves): how each contribution does."""
    leaves = mechanism.leaves
    count = _Count()
    released(dataclasses.replace(mechanism, size=1), count, np.zeros((leaves, 1)))
    noise = released(
        dataclasses.replace(mechanism, size=count.drawn), _Impulses(mechanism.sigma), np.zeros((leaves, count.drawn))
    )
    data = released(dataclasses.replace(mechanism, size=leaves), _Silence(), np.eye(leaves))
    return noise, data


class Difference(NamedTuple):
    """The best linear test of what two worlds add to the steps: the whitened difference of their releases, of
    variance 1, about the middle of both."""

    weights: Array  # (leaves, size)
    middle: Array

    def score(self, leaf: int, released: Array) -> float:
        """What one release adds to it."""
        return float(np.sum(self.weights[leaf] * (released - self.middle[leaf])))


def difference(mechanism: Continual, zero: Array, one: Array) -> Difference:
    """zero, one: (leaves, size), what each world adds to each step."""
    noise, data = responses(mechanism)
    apart = data @ (one - zero)
    weights = np.linalg.solve(noise @ noise.T, apart)
    return Difference(weights / np.sqrt(np.sum(weights * apart)), data @ (zero + one) / 2)


def released(mechanism: Continual, source: Source, contributions: Array) -> Array:
    """All releases, (leaves, size), of one contribution a leaf."""
    state = mechanism.init(source)
    out = np.empty((mechanism.leaves, mechanism.size))
    for t, contribution in enumerate(contributions):
        state.open[:] += contribution
        out[t] = mechanism.release(state, source)
    return out


def with_size(grid: Grid, size: int) -> Grid:
    """Runs are coordinates, all of which may be large; the cell and the noise stay those of one coordinate."""
    mechanism, longest = dataclasses.replace(grid.real, size=size), grid.longest * math.sqrt(size)
    return dataclasses.replace(grid, size=size, real=mechanism, longest=longest)


class _Silence:
    private = False
    description = "no noise"

    def rows(self, count: int, size: int, law: NoiseLaw) -> Array:
        return np.zeros((count, size))


class _Count(_Silence):
    drawn = 0

    def rows(self, count: int, size: int, law: NoiseLaw) -> Array:
        self.drawn += count
        return super().rows(count, size, law)


class _Impulses(_Silence):
    """The k-th vector drawn is sigma times the k-th unit vector."""

    def __init__(self, sigma: float) -> None:
        self.sigma = sigma
        self.drawn = 0

    def rows(self, count: int, size: int, law: NoiseLaw) -> Array:
        out = np.zeros((count, size))
        out[np.arange(count), self.drawn + np.arange(count)] = self.sigma
        self.drawn += count
        return out
