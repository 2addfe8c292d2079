"""Draws of Wishart noise from a generator, and whole blocks of rounds with it: simulation only, floats."""

import numpy as np
from numpy.random import Generator

from reticent.data import Array
from reticent.kernels.block import Block
from reticent.kernels.compile import kernel
from reticent.kernels.continual import JointState, PrefixState, prefix_step
from reticent.kernels.formulas import add_linear
from reticent.kernels.linalg import svec
from reticent.kernels.linear import Width, optimistic, radius, ridge
from reticent.kernels.rounds import BOUNDARY, CHOICES, Range, outcome


@kernel
def bartlett(rng: Generator, scale: float, dof: float, out: Array) -> None:
    """out ~ Wishart(scale^2 I, dof) = scale^2 A A', A lower triangular with A[i, i]^2 ~ chi^2(dof - i) and
    standard normals below: the cost does not depend on dof."""
    d = out.shape[0]
    lower = np.zeros((d, d))
    for i in range(d):
        lower[i, i] = np.sqrt(rng.chisquare(dof - i))
        for j in range(i):
            lower[i, j] = rng.standard_normal()
    for i in range(d):
        for j in range(i + 1):
            s = 0.0
            for k in range(j + 1):
                s += lower[i, k] * lower[j, k]
            out[i, j] = scale * scale * s
            out[j, i] = out[i, j]


@kernel
def wishart_rows(rng: Generator, scale: float, dof: float, out: Array) -> None:
    """out[r] = (svec(N[:d, :d]), N[:d, d]) for a fresh N ~ Wishart_{d+1}(scale^2 I, dof)."""
    d = int((np.sqrt(9.0 + 8.0 * out.shape[1]) - 3.0) / 2.0 + 0.5)  # a row has d (d + 1) / 2 + d numbers
    packed = d * (d + 1) // 2
    noise = np.empty((d + 1, d + 1))
    for r in range(out.shape[0]):
        bartlett(rng, scale, dof, noise)
        svec(noise[:d, :d], out[r, :packed])
        for i in range(d):
            out[r, packed + i] = noise[i, d]


@kernel
def simulate_wishart_step(rng: Generator, state: PrefixState, scale: float, dof: float) -> None:
    """prefix_step with the noise drawn here."""
    z = np.empty((1, state.open.size))
    wishart_rows(rng, scale, dof, z)
    prefix_step(state, z)


@kernel
def wishart_rounds(
    rng: Generator,
    block: Block,
    state: JointState[PrefixState],
    noise: tuple[float, float],
    rewards: Range,
    scale: float,
    shift: float,
    width: Width,
    drift: float,
) -> None:
    """ShariffLinUCB with Wishart noise of that scale and dof, a release a choice. Changes state and the block's out
    arrays."""
    counts, prefix, estimate = state
    w = radius(width, estimate.logdet[0])
    for t in range(block.noise.size):
        if counts[CHOICES] >= counts[BOUNDARY]:
            simulate_wishart_step(rng, prefix, noise[0], noise[1])
            ridge(prefix.released, scale, shift, estimate)
            counts[BOUNDARY] = counts[CHOICES] + 1
            w = radius(width, estimate.logdet[0])
        index = optimistic(block.arms[t], estimate, w, drift)
        if outcome(block, t, index):
            counts[CHOICES] += 1
            add_linear(block.arms[t, index], block.reward[t], scale, rewards.low, rewards.high, prefix.open)
