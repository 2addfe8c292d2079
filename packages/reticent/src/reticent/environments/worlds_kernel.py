"""Simulated worlds: each kernel fills a block with arms, their mean rewards and one noise number a round.

Round by round in the same order of draws, so that how rounds are cut into blocks changes nothing."""

import math

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Integers
from reticent.kernels.block import GAUSSIAN_REWARD, Block
from reticent.kernels.compile import inlined, kernel
from reticent.kernels.formulas import link_mean
from reticent.kernels.linalg import copy
from reticent.model.links import Code

FLIP, REDRAW, TURN = 0, 1, 2


@inlined
def finish_round(rng: Generator, block: Block, t: int, theta: Array, link: Code) -> None:
    """means[a] = mu(<x_a, theta>); noise = a normal number for Gaussian rewards, else a uniform one."""
    for a in range(block.arms.shape[1]):
        z = 0.0
        for i in range(theta.size):
            z += block.arms[t, a, i] * theta[i]
        block.means[t, a] = link_mean(link, z)
    block.noise[t] = rng.standard_normal() if block.kind[0] == GAUSSIAN_REWARD else rng.random()


@inlined
def normals(rng: Generator, rest: float, out: Array) -> None:
    """out = independent normal numbers over the root of (the sum of their squares + rest)."""
    s = rest
    for i in range(out.size):
        out[i] = rng.standard_normal()
        s += out[i] * out[i]
    s = 1.0 / np.sqrt(s)
    for i in range(out.size):
        out[i] *= s


@inlined
def direction(rng: Generator, out: Array) -> None:
    """out = a uniformly random unit vector."""
    normals(rng, 0.0, out)


@inlined
def ball_point(rng: Generator, out: Array) -> None:
    """out = a uniformly random point of the unit ball: d coordinates of a random direction in d + 2 dimensions (the
    squares of the other two add up to twice an exponential number)."""
    rest = 2.0 * rng.standard_exponential()
    normals(rng, rest, out)


@inlined
def span_points(rng: Generator, basis: Array, point: Array, arms: Array) -> None:
    """arms = points of the unit ball of span(basis), a basis in columns; point is overwritten."""
    for a in range(arms.shape[0]):
        ball_point(rng, point)
        for i in range(basis.shape[0]):
            s = 0.0
            for j in range(basis.shape[1]):
                s += basis[i, j] * point[j]
            arms[a, i] = s


@kernel
def fill_ball(rng: Generator, block: Block, theta: Array, link: Code) -> None:
    for t in range(block.noise.size):
        for a in range(block.arms.shape[1]):
            ball_point(rng, block.arms[t, a])
        finish_round(rng, block, t, theta, link)


@kernel
def fill_drift(
    rng: Generator, block: Block, clock: Integers, change: int, every: int, plane: Array, theta: Array, link: Code
) -> None:
    """fill_ball with a theta that changes (FLIP, REDRAW, TURN: see `drift`); clock and theta are changed. `plane` has
    two orthonormal rows, the first along the first theta."""
    radius = np.sqrt(np.sum(theta * theta))
    for t in range(block.noise.size):
        if change == FLIP and clock[0] > 0 and clock[0] % every == 0:
            theta *= -1.0
        elif change == REDRAW and rng.random() * every < 1.0 and clock[0] > 0:
            direction(rng, theta)
            theta *= radius
        elif change == TURN:
            angle = 0.5 * np.pi * clock[0] / every
            theta[:] = radius * (np.cos(angle) * plane[0] + np.sin(angle) * plane[1])
        clock[0] += 1
        for a in range(block.arms.shape[1]):
            ball_point(rng, block.arms[t, a])
        finish_round(rng, block, t, theta, link)


@kernel
def fill_sphere(rng: Generator, block: Block, theta: Array, link: Code) -> None:
    for t in range(block.noise.size):
        for a in range(block.arms.shape[1]):
            direction(rng, block.arms[t, a])
        finish_round(rng, block, t, theta, link)


@kernel
def fill_fixed(rng: Generator, block: Block, arms: Array, theta: Array, link: Code) -> None:
    for t in range(block.noise.size):
        copy(arms, block.arms[t])
        finish_round(rng, block, t, theta, link)


@kernel
def fill_shift(
    rng: Generator, block: Block, bases: Array, clock: Integers, switch: int, theta: Array, link: Code
) -> None:
    """Arms from the unit ball of span(bases[0]) until round `switch`, then of span(bases[1]); clock is changed."""
    point = np.empty(bases.shape[2])
    for t in range(block.noise.size):
        basis = bases[0] if clock[0] < switch else bases[1]
        clock[0] += 1
        span_points(rng, basis, point, block.arms[t])
        finish_round(rng, block, t, theta, link)


@kernel
def fill_gap(rng: Generator, block: Block, unit: Array, top: float, gap: float, theta: Array, link: Code) -> None:
    """Unit arms: one, at a random place, with <x, unit> = top, the others uniform where |<x, unit>| <= top and
    <x, unit> <= top - gap, by rejection."""
    d = theta.size
    for t in range(block.noise.size):
        best = int(rng.random() * block.arms.shape[1])
        for a in range(block.arms.shape[1]):
            x = block.arms[t, a]
            while True:
                direction(rng, x)
                c = 0.0
                for i in range(d):
                    c += x[i] * unit[i]
                if a == best or (-top <= c and c <= top - gap):
                    break
            if a == best:  # keep the part across unit, set the part along it
                across = np.sqrt((1.0 - top * top) / (1.0 - c * c))
                for i in range(d):
                    x[i] = top * unit[i] + across * (x[i] - c * unit[i])
        finish_round(rng, block, t, theta, link)


@kernel
def fill_rare(rng: Generator, block: Block, basis: Array, good: Array, chance: float, theta: Array, link: Code) -> None:
    """Arms from the unit ball of span(basis), which is all that is across `good`; with probability `chance` one of
    them, at a random place, is `good` itself."""
    point = np.empty(basis.shape[1])
    for t in range(block.noise.size):
        span_points(rng, basis, point, block.arms[t])
        if rng.random() < chance:
            block.arms[t, int(rng.random() * block.arms.shape[1])] = good
        finish_round(rng, block, t, theta, link)


@kernel
def fill_skewed(rng: Generator, block: Block, axes: Array, constant: float, theta: Array, link: Code) -> None:
    """Two kinds of rounds, by a coin: x = (constant, axes_1 U_1, axes_2 U_2, ...), where the constant saturates the
    link, or (0, ..., axes_2 U_{d-2}, axes_1 U_{d-1}), where it does not; U uniform in [-1, 1]."""
    last = axes.size - 1
    for t in range(block.noise.size):
        high = rng.random() < 0.5
        for a in range(block.arms.shape[1]):
            block.arms[t, a, 0] = constant if high else 0.0
            for i in range(axes.size):
                block.arms[t, a, i + 1] = (axes[i] if high else axes[last - i]) * (2.0 * rng.random() - 1.0)
        finish_round(rng, block, t, theta, link)


@kernel
def fill_tail(rng: Generator, block: Block, theta: Array, link: Code) -> None:
    """x = (w / sqrt 2, 1 / sqrt 2), w uniform on the unit sphere of d - 1 dimensions."""
    d = theta.size
    half = np.sqrt(0.5)
    for t in range(block.noise.size):
        for a in range(block.arms.shape[1]):
            x = block.arms[t, a]
            direction(rng, x[: d - 1])
            for i in range(d - 1):
                x[i] *= half
            x[d - 1] = half
        finish_round(rng, block, t, theta, link)


@inlined
def place(z: Array, disjoint: bool, arms: Array) -> None:
    """arms[a] = the row (z, a), or the vector with z in block a and zeros elsewhere."""
    for a in range(arms.shape[0]):
        start = 0 if disjoint else a * z.size
        for i in range(arms.shape[1]):
            arms[a, i] = 0.0
        for i in range(z.size):
            arms[a, start + i] = z[i]
        if disjoint:
            arms[a, z.size] = a


@kernel
def fill_disjoint(rng: Generator, block: Block, theta: Array, disjoint: bool, link: Code) -> None:
    """A person's features z, a constant and numbers that are uniform between -1 and 1, as a schema makes them, are
    worth mu(<z, theta[a]>) with arm a."""
    z = np.zeros(theta.shape[1])
    z[0] = weight = math.sqrt(2.0 / (z.size + 1))
    for t in range(block.noise.size):
        for i in range(1, z.size, 2):
            z[i] = weight * (2.0 * rng.random() - 1.0)
        place(z, disjoint, block.arms[t])
        for a in range(theta.shape[0]):
            value = 0.0
            for i in range(z.size):
                value += z[i] * theta[a, i]
            block.means[t, a] = link_mean(link, value)
        block.noise[t] = rng.standard_normal() if block.kind[0] == GAUSSIAN_REWARD else rng.random()
