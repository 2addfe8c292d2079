"""Correlated noise for the continual release of prefix sums, one step at a time.

Every mechanism here releases (exact prefix + noise_t) where noise_t is linear in fresh independent vectors z:
    TREE        sum of the nodes that cover [1, t]
    PADDED      the same, plus a noise of its own, drawn once, for each level that covers nothing: the law of the
                sum is then the same at every t
    CONSISTENT  the same, each node's estimate averaged with its children's by inverse variance (all nodes noised)
    TABLE       row t of a table of noise drawn in advance (square-root Toeplitz)
    BUFFERED    sum_i weight_i s_i with s_i <- decay_i s_i + z
    HISTORY     sum_s weight_{t-s} z_s over the last leaves, as many as the table has rows: z_s is in row s modulo that
    BACKWARDS   s_0, with s_i <- decay_i s_i + x and x = (z - sum_i weight_i decay_i s_i) / (one more weight)
With a discount below 1 the sum of the closed steps, too, fades by that factor at each step.

A step closes within one kernel, `close_step` or on a grid `close_on_grid`: Python's signals wait for its end, so that
who is interrupted finds a step either open or closed, and nothing is summed twice.
"""

from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Exact, Integers, Released
from reticent.kernels.compile import inlined, kernel
from reticent.kernels.linalg import copy
from reticent.kernels.noise import NoiseLaw, draw
from reticent.kernels.rounds import Held, forget

P = TypeVar("P")
TREE, PADDED, CONSISTENT, TABLE, BUFFERED, HISTORY, BACKWARDS = 0, 1, 2, 3, 4, 5, 6


class ContinualState(NamedTuple):
    """Noise state only: no data. Arrays, changed in place."""

    kind: Integers  # (1,)
    step: Integers  # (1,): leaves so far
    levels: Array  # (levels, size): noise of the live node at each level, or the buffers
    pads: Array  # (levels, size): what a level that covers nothing holds (padded), or (0, size)
    weights: Array  # mixing weights (buffered), weight of a node's own noise (consistent), coefficients (history)
    decay: Array  # (levels,)
    table: Array  # (leaves or last leaves, size), or (0, size)


class PrefixState(NamedTuple):
    """Prefix sums under continual release. Arrays, changed in place: floats here; on a grid (mechanisms.grid), `open`
    and `closed` are whole numbers, and `closed` has a row for each leaf or level."""

    open: Exact  # (size,): sum of the contributions of the open step
    closed: Exact  # (size,): (discounted) sum of those of the closed steps
    discount: Array  # (1,)
    noise: ContinualState
    released: Released  # (size,): closed + noise


class JointState(NamedTuple, Generic[P]):
    """Of a bandit whose algorithm makes its estimate from released sums: arrays, changed in place by compiled loops.
    Loops are given a PrefixState; a bandit has it closed (mechanisms.prefix)."""

    counts: Integers  # (3,): choices, the number of entries at which the open step closes, entries (with `hold`)
    prefix: P
    estimate: Any  # a NamedTuple of arrays


class Closing(NamedTuple):
    """What changes when a step closes, beside its PrefixState."""

    boundary: Integers  # (1,): when the open step closes, changed in place; of size 0 where there is nothing
    following: int  # when the one after it does


class Entering(NamedTuple):
    """What changes when choices enter the open step, beside its sums."""

    entered: Integers  # (1,): how many have
    held: Held  # those that wait


NOTHING = Closing(np.zeros(0, np.int64), 0)


@kernel
def trailing_zeros(t: int) -> int:
    n = 0
    while (t >> n) & 1 == 0:
        n += 1
    return n


@kernel
def draws_needed(state: ContinualState) -> int:
    """How many fresh noise vectors the next step takes."""
    if state.kind[0] == TABLE:
        return 0
    if state.kind[0] == CONSISTENT:
        return trailing_zeros(state.step[0] + 1) + 1
    return 1


@kernel
def noise_step(state: ContinualState, z: Array, out: Array) -> None:
    """Close one leaf with the fresh vectors z[0], z[1], ...; out = the noise of the prefix that ends there."""
    t = state.step[0] + 1
    state.step[0] = t
    kind = state.kind[0]
    levels = state.levels
    size = out.size
    out[:] = 0.0
    if kind == TABLE:
        copy(state.table[t - 1], out)
        return
    if kind == HISTORY:
        rows = state.table.shape[0]
        copy(z[0], state.table[(t - 1) % rows])
        for s in range(max(0, t - rows), t):
            w = state.weights[t - 1 - s]
            for j in range(size):
                out[j] += w * state.table[s % rows, j]
        return
    if kind == BUFFERED:
        for i in range(levels.shape[0]):
            w, r = state.weights[i], state.decay[i]
            for j in range(size):
                levels[i, j] = r * levels[i, j] + z[0, j]
                out[j] += w * levels[i, j]
        return
    if kind == BACKWARDS:
        last = levels.shape[0]
        for j in range(size):
            x = z[0, j]
            for i in range(last):
                levels[i, j] *= state.decay[i]
                x -= state.weights[i] * levels[i, j]
            x /= state.weights[last]
            for i in range(last):
                levels[i, j] += x
            out[j] = levels[0, j]
        return
    top = trailing_zeros(t)  # this leaf completes the nodes at levels 0..top; the top one stays live
    for j in range(size):
        node = z[0, j]
        if kind == CONSISTENT:
            for level in range(1, top + 1):
                w = state.weights[level]
                node = w * z[level, j] + (1.0 - w) * (node + levels[level - 1, j])
        levels[top, j] = node
    if kind == PADDED:
        for level in range(top):
            copy(state.pads[level], levels[level])
    for level in range(levels.shape[0]):
        if (t >> level) & 1 or kind == PADDED:
            for j in range(size):
                out[j] += levels[level, j]


@kernel
def prefix_step(state: PrefixState, z: Array) -> None:
    """Close the open step of `state`: its sum joins the prefix, and the prefix is released with its noise."""
    noise = np.empty(state.open.size)
    noise_step(state.noise, z, noise)
    for i in range(noise.size):
        state.closed[i] = state.discount[0] * state.closed[i] + state.open[i]
        state.open[i] = 0.0
        state.released[i] = state.closed[i] + noise[i]


@kernel
def join(opened: Array, closed: Array, discount: float) -> None:
    """The sums of the open step join those of the closed ones, which fade. Changes both."""
    for i in range(opened.size):
        closed[i] = discount * closed[i] + opened[i]
        opened[i] = 0.0


@kernel
def close_step(state: PrefixState, z: Array, closing: Closing) -> None:
    """prefix_step, and what goes with it."""
    prefix_step(state, z)
    closing.boundary[:] = closing.following


@kernel
def close_on_grid(state: PrefixState, closed: Exact, z: Array, closing: Closing) -> None:
    """The same where the noisy leaf or nodes z have been computed: `closed` are the first rows of what is kept."""
    for i in range(closed.shape[0]):
        copy(closed[i], state.closed[i])
    state.open[:] = 0
    noise_step(state.noise, z, state.released)
    closing.boundary[:] = closing.following


@kernel
def enter(sums: Exact, opened: Exact, entering: Entering, count: int) -> None:
    """opened <- sums, which has so many entries more, and what goes with it: all of it changes, or nothing does."""
    copy(sums, opened)
    for _ in range(count):
        entering.entered[0] += 1
        forget(entering.held, entering.entered[0] % entering.held.rewards.size)


@inlined
def draw_rows(rng: Generator, law: NoiseLaw, out: Array) -> None:
    """out[i] = a fresh noise vector."""
    for i in range(out.shape[0]):
        draw(rng, law, out[i])


@kernel
def simulate_step(rng: Generator, state: PrefixState, law: NoiseLaw) -> None:
    """prefix_step with the noise drawn here."""
    z = np.empty((draws_needed(state.noise), state.open.size))
    draw_rows(rng, law, z)
    prefix_step(state, z)
