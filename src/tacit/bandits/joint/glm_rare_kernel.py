"""Rarely switching generalised linear bandits: two design matrices, noisy projected gradient descent, elimination.

First the steps, as the algorithm calls them, then whole blocks of rounds made of them."""

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from tacit.data import Array, Integers, Raw, Released
from tacit.kernels.block import Block
from tacit.kernels.compile import inlined, kernel
from tacit.kernels.continual import PrefixState, draw_rows, simulate_step
from tacit.kernels.formulas import link_mean
from tacit.kernels.linalg import HALVINGS, cholesky, copy, invert, smat, square_norm
from tacit.kernels.noise import NoiseLaw
from tacit.kernels.rounds import BOUNDARY, CHOICES, outcome
from tacit.mechanisms.noisy_kernel import with_noise
from tacit.model import rare
from tacit.model.links import Code
from tacit.model.vectors import shortened

CALLS_O, CALLS_TAU, DATA, LAST_O, LAST_TAU = 2, 3, 4, 5, 6  # after CHOICES and BOUNDARY
COUNTS = 7

add_design = kernel(rare.add_design)


class Rule(NamedTuple):
    """Public numbers."""

    link: Code
    published: bool  # recompute when raw contexts say so
    low: float  # rewards
    high: float
    radius: float  # S
    explore: float  # gamma sqrt(kappa): width of UCB_o and LCB_o; Criterion I is |x|^2_{V^-1} >= 1 / explore^2
    width: float  # beta
    ridge: float  # lambda of V
    ridge_hessian: float  # lambda of H
    slope: float  # weights mu' are clipped to it
    shrink_o: float  # lambda of the loss under Criterion I
    shrink_tau: float  # and under Criterion II
    step: float  # times 1 / (smoothness by the released matrix)
    most_o: int  # calls of the optimiser under Criterion I, at most
    most_tau: int  # and under Criterion II
    pace: float  # a call waits until so many times the choices before the last one have been made
    cell: float  # gradients are rounded to whole cells and noise is in cells; 0: floats, for experiments


class Design(NamedTuple):
    """Functions of what was released. Arrays, changed in place."""

    gram: Array  # (d, d): V
    inverse: Array  # (d, d): V^-1
    hessian: Array  # (d, d): H
    gram_o: Array  # (d, d): V when theta_o was computed
    theta_o: Array  # (d,)
    hessian_tau: Array  # (d, d): H when theta_tau was computed
    inverse_tau: Array  # (d, d): its inverse
    theta_tau: Array  # (d,)


class Axes(NamedTuple):
    """Eigenvalues of V, and its eigenvectors in columns."""

    values: Array
    vectors: Array


class Data(NamedTuple):
    """What came in, in order of arrival."""

    x: Raw  # (horizon, d), norms at most 1
    r: Raw  # (horizon,), in [0, 1]
    explored: Raw  # (horizon,) whole numbers: 1 in T_o, else 0


class RareState(NamedTuple):
    """Algorithm 2 between two rounds."""

    counts: Integers  # (7,): choices, when the open step closes, calls for theta_o and theta_tau, data, choices before
    # the last call for each
    prefix: PrefixState  # of (svec(sum of x x') over T_o, svec(sum of min(mu', slope) / slope x x') over the others)
    design: Design
    data: Data


@kernel
def uncertain(arms: Array, design: Design, rule: Rule) -> int:
    """Criterion I: argmax over arms of |x|_{V^-1} if its square is at least 1 / explore^2, else -1."""
    best, index = -1.0, -1
    for a in range(arms.shape[0]):
        value = square_norm(arms[a], design.inverse)
        if value > best:
            best, index = value, a
    return index if best * rule.explore * rule.explore >= 1.0 else -1


@kernel
def explores(x: Array, design: Design, rule: Rule) -> bool:
    """Whether a chosen arm was chosen under Criterion I: only then can it be that uncertain itself."""
    return square_norm(x, design.inverse) * rule.explore * rule.explore >= 1.0


@kernel
def exploit(arms: Array, design: Design, rule: Rule) -> int:
    """Among arms with UCB_o(x) >= max LCB_o, argmax of <x, theta_tau> + width |x|_{H_tau^-1}."""
    count, d = arms.shape
    upper = np.empty(count)
    lower = -np.inf
    for a in range(count):
        mean = 0.0
        for i in range(d):
            mean += arms[a, i] * design.theta_o[i]
        half = rule.explore * math.sqrt(max(square_norm(arms[a], design.inverse), 0.0))
        upper[a] = mean + half
        lower = max(lower, mean - half)
    best, index = -np.inf, 0
    for a in range(count):
        if upper[a] >= lower:
            value = rule.width * math.sqrt(max(square_norm(arms[a], design.inverse_tau), 0.0))
            for i in range(d):
                value += arms[a, i] * design.theta_tau[i]
            if value > best:
                best, index = value, a
    return index


@kernel
def keep(x: Array, y: float, explored: bool, low: float, high: float, counts: Integers, data: Data) -> None:
    """Append one user's datum: |x| clipped to 1, r = (y - low) / (high - low) clipped to [0, 1]."""
    n = counts[DATA]
    data.x[n] = shortened(x)
    data.r[n] = (min(max(y, low), high) - low) / (high - low)
    data.explored[n] = 1 if explored else 0
    counts[DATA] = n + 1


@kernel
def raised(packed: Array, scale: float, ridge: float, out: Array) -> None:
    """out = scale smat(packed) + ridge I, with eigenvalues raised to ridge / 2 where noise has pushed them lower."""
    d = out.shape[0]
    smat(packed, out)
    for i in range(d):
        for j in range(d):
            out[i, j] *= scale
        out[i, i] += 0.5 * ridge
    lower = np.empty((d, d))
    if cholesky(out, lower):
        for i in range(d):
            out[i, i] += 0.5 * ridge
    else:
        values, axes = np.linalg.eigh(out)
        for i in range(d):
            for j in range(d):
                total = 0.5 * ridge if i == j else 0.0
                for k in range(d):
                    total += axes[i, k] * max(values[k], 0.0) * axes[j, k]
                out[i, j] = total


@kernel
def redesign(released: Released, rule: Rule, design: Design) -> None:
    """V, V^-1 and H from what was released."""
    packed = released.size // 2
    raised(released[:packed], 1.0, rule.ridge, design.gram)
    raised(released[packed:], rule.slope / math.e, rule.ridge_hessian, design.hessian)
    invert(design.gram, design.inverse)


@kernel
def grown(new: Array, old: Array) -> bool:
    """Not new <= 2 old in the order of matrices."""
    d = new.shape[0]
    return not cholesky(2.0 * old - new, np.empty((d, d)))


@kernel
def due_o(counts: Integers, design: Design, rule: Rule) -> bool:
    """V has grown since theta_o was computed, and so has the number of choices, and a call is left."""
    if counts[CALLS_O] >= rule.most_o or counts[CHOICES] < rule.pace * counts[LAST_O]:
        return False
    return grown(design.gram, design.gram_o)


@kernel
def due_tau(counts: Integers, design: Design, rule: Rule) -> bool:
    """Criterion II, the number of choices has grown, and a call is left."""
    if counts[CALLS_TAU] >= rule.most_tau or counts[CHOICES] < rule.pace * counts[LAST_TAU]:
        return False
    return grown(design.hessian, design.hessian_tau)


@kernel
def gradients(data: Data, count: int, explored: int, theta: Array, link: Code, cell: float) -> Raw:
    """The sum of (mu(<x, theta>) - r) x over the data in T_o (explored = 1) or outside it (0). With cell > 0 each
    gradient is rounded to whole cells: sums of floats that are whole numbers below 2^53 are exact, in any order."""
    d = theta.size
    out = Raw(np.zeros(d))
    for s in range(count):
        if data.explored[s] == explored:
            z = 0.0
            for i in range(d):
                z += data.x[s, i] * theta[i]
            residual = link_mean(link, z) - data.r[s]
            if cell > 0.0:
                for i in range(d):
                    out[i] += np.rint(residual * data.x[s, i] / cell)
            else:
                for i in range(d):
                    out[i] += residual * data.x[s, i]
    return out


@kernel
def descent_step(
    theta: Array, released: Released, rate: float, shrink: float, explored: int, rule: Rule, design: Design, axes: Axes
) -> None:
    """theta <- project(theta - rate (released + shrink theta)). T_o (explored = 1): on |theta| <= S. Others: on
    |theta - theta_o|_V <= explore, then on |theta| <= S."""
    for i in range(theta.size):
        theta[i] -= rate * (released[i] + shrink * theta[i])
    if explored == 0:
        into_ellipsoid(theta, design.theta_o, axes.values, axes.vectors, rule.explore)
    into_ball(theta, rule.radius)


@kernel
def into_ball(theta: Array, radius: float) -> None:
    """The nearest point with |theta| <= radius, in place."""
    norm = math.sqrt(np.dot(theta, theta))
    if norm > radius:
        theta *= radius / norm


@kernel
def into_ellipsoid(theta: Array, centre: Array, values: Array, axes: Array, radius: float) -> None:
    """The nearest point with |theta - centre|_V <= radius, V = axes diag(values) axes', in place: along axis k the
    offset y_k becomes y_k / (1 + m values_k), where m >= 0 makes the norm equal to the radius (by bisection)."""
    offset = np.dot(axes.T, theta - centre)
    if np.sum(values * offset**2) <= radius * radius:
        return
    low, high = 0.0, math.sqrt(np.sum(offset**2 / values)) / radius  # there each term is below its share
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if np.sum(values * (offset / (1.0 + middle * values)) ** 2) > radius * radius:
            low = middle
        else:
            high = middle
    copy(centre + np.dot(axes, offset / (1.0 + high * values)), theta)


@kernel
def descend(data: Data, count: int, explored: int, noise: Array, rule: Rule, design: Design, out: Array) -> None:
    """out <- the average of the iterates of projected gradient descent from `out`, as many as rows of noise:
    rate = step / (shrink + L), with L the largest eigenvalue of the released matrix that stands for the curvature:
    slope V for T_o, e H for the others."""
    d = out.size
    theta, average = out.copy(), np.zeros(d)
    values, vectors = np.linalg.eigh(design.gram)
    shrink, smooth = rule.shrink_o, rule.slope * values[d - 1]
    if explored == 0:
        shrink, smooth = rule.shrink_tau, math.e * np.linalg.eigvalsh(design.hessian)[d - 1]
    rate = rule.step / (shrink + smooth)
    into_ball(theta, rule.radius)
    for n in range(noise.shape[0]):
        total = gradients(data, count, explored, theta, rule.link, rule.cell)
        released = with_noise(total, noise[n], rule.cell)
        descent_step(theta, released, rate, shrink, explored, rule, design, Axes(values, vectors))
        average += theta / noise.shape[0]
    copy(average, out)


@kernel
def compute_o(state: RareState, noise: Array, rule: Rule) -> None:
    """theta_o from the users in T_o."""
    counts, _, design, data = state
    descend(data, counts[DATA], 1, noise, rule, design, design.theta_o)
    copy(design.gram, design.gram_o)
    counts[CALLS_O] += 1
    counts[LAST_O] = counts[CHOICES]


@kernel
def compute_tau(state: RareState, noise: Array, rule: Rule) -> None:
    """theta_tau from the others."""
    counts, _, design, data = state
    descend(data, counts[DATA], 0, noise, rule, design, design.theta_tau)
    copy(design.hessian, design.hessian_tau)
    invert(design.hessian_tau, design.inverse_tau)
    counts[CALLS_TAU] += 1
    counts[LAST_TAU] = counts[CHOICES]


@inlined
def drawn(rng: Generator, law: NoiseLaw, iterations: int, d: int) -> Array:
    """Fresh noise for one call of the optimiser."""
    noise = np.empty((iterations, d))
    draw_rows(rng, law, noise)
    return noise


@kernel
def rare_rounds(
    rng: Generator,
    block: Block,
    state: RareState,
    rule: Rule,
    law: NoiseLaw,
    law_o: NoiseLaw,
    law_tau: NoiseLaw,
    iterations: int,
) -> None:
    """JointGLMRare: law, law_o, law_tau of the noise of the matrices and of the gradients for theta_o and theta_tau.
    Changes state and the block's out arrays."""
    counts, prefix, design, data = state
    collected = prefix.open
    d = block.arms.shape[2]
    for t in range(block.noise.size):
        if counts[CHOICES] >= counts[BOUNDARY]:
            simulate_step(rng, prefix, law)
            counts[BOUNDARY] = counts[CHOICES] + 1
            redesign(prefix.released, rule, design)
            if not rule.published:
                if due_o(counts, design, rule):
                    compute_o(state, drawn(rng, law_o, iterations, d), rule)
                if due_tau(counts, design, rule):
                    compute_tau(state, drawn(rng, law_tau, iterations, d), rule)
        arms = block.arms[t]
        index = uncertain(arms, design, rule)
        explored = index >= 0
        if not explored:
            if rule.published and due_tau(counts, design, rule):
                compute_tau(state, drawn(rng, law_tau, iterations, d), rule)
            index = exploit(arms, design, rule)
        if outcome(block, t, index):
            counts[CHOICES] += 1
            x = arms[index]
            add_design(x, explored, design.theta_o, rule.link, rule.slope, collected)
            keep(x, block.reward[t], explored, rule.low, rule.high, counts, data)
            if rule.published and explored and counts[CALLS_O] < rule.most_o:
                compute_o(state, drawn(rng, law_o, iterations, d), rule)
