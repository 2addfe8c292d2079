"""Rarely switching generalised linear bandits: two design matrices, noisy projected gradient descent, elimination.

First the steps, as the algorithm calls them, then whole blocks of rounds made of them."""

import math
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Integers, Released
from reticent.kernels.block import Block
from reticent.kernels.compile import inlined, kernel
from reticent.kernels.continual import PrefixState, draw_rows, simulate_step
from reticent.kernels.linalg import cholesky, copy, invert, smat, square_norm
from reticent.kernels.noise import NoiseLaw
from reticent.kernels.rounds import BOUNDARY, CHOICES, outcome
from reticent.model.vectors import shortened
from reticent_papers.joint import glm_rare_model as rare
from reticent_papers.joint.glm_rare_descent_kernel import Data, Design, Rule, descend, members, printed_length

CALLS_O, CALLS_TAU, DATA, LAST_O, LAST_TAU = 2, 3, 4, 5, 6  # after CHOICES and BOUNDARY
COUNTS = 7

P = TypeVar("P")
add_design = kernel(rare.add_design)


class RareState(NamedTuple, Generic[P]):
    """Algorithm 2 between two rounds. Kernels are given a PrefixState; a bandit has it closed (mechanisms.prefix)."""

    counts: Integers  # (7,): choices, when the open step closes, calls for theta_o and theta_tau, data, choices before
    # the last call for each
    prefix: P  # of (svec(sum of x x') over T_o, svec(sum of min(mu', slope) / slope x x') over the others)
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
    """Among arms with UCB_o(x) >= max LCB_o, argmax of <x, share theta_o + (1 - share) theta_tau> + width
    |x|_{H_tau^-1}."""
    count, d = arms.shape
    upper = np.empty(count)
    lower = -np.inf
    for a in range(count):
        mean = 0.0
        for i in range(d):
            mean += arms[a, i] * design.theta_o[i]
        half = rule.eliminate * math.sqrt(max(square_norm(arms[a], design.inverse), 0.0))
        upper[a] = mean + half
        lower = max(lower, mean - half)
    best, index = -np.inf, 0
    for a in range(count):
        if upper[a] >= lower:
            value = rule.width * math.sqrt(max(square_norm(arms[a], design.inverse_tau), 0.0))
            for i in range(d):
                value += arms[a, i] * (rule.share * design.theta_o[i] + (1.0 - rule.share) * design.theta_tau[i])
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
def raised(packed: Array, scale: float, ridge: float, floor: float, out: Array) -> None:
    """out = scale smat(packed) + ridge I, with eigenvalues raised to floor ridge where noise has pushed them lower."""
    d = out.shape[0]
    smat(packed, out)
    for i in range(d):
        for j in range(d):
            out[i, j] *= scale
        out[i, i] += (1.0 - floor) * ridge
    lower = np.empty((d, d))
    if cholesky(out, lower):
        for i in range(d):
            out[i, i] += floor * ridge
    else:
        values, axes = np.linalg.eigh(out)
        for i in range(d):
            for j in range(d):
                total = floor * ridge if i == j else 0.0
                for k in range(d):
                    total += axes[i, k] * max(values[k], 0.0) * axes[j, k]
                out[i, j] = total


@kernel
def redesign(released: Released, rule: Rule, design: Design) -> None:
    """V, V^-1 and H from what was released."""
    packed = released.size // 2
    raised(released[:packed], 1.0, rule.ridge, rule.floor, design.gram)
    raised(released[packed:], rule.slope / math.e, rule.ridge_hessian, rule.floor, design.hessian)
    invert(design.gram, design.inverse)


@kernel
def grown(new: Array, old: Array, factor: float) -> bool:
    """Not new <= factor old in the order of matrices."""
    d = new.shape[0]
    return not cholesky(factor * old - new, np.empty((d, d)))


@kernel
def doubled(new: Array, old: Array) -> bool:
    """det new > 2 det old."""
    return bool(np.linalg.slogdet(new)[1] > math.log(2.0) + np.linalg.slogdet(old)[1])


@kernel
def due_o(counts: Integers, design: Design, rule: Rule) -> bool:
    """V has grown since theta_o was computed, and so has the number of choices, and a call is left."""
    if counts[CALLS_O] >= rule.most_o or counts[CHOICES] < rule.pace * counts[LAST_O]:
        return False
    return grown(design.gram, design.gram_o, rule.growth)


@kernel
def due_tau(counts: Integers, design: Design, rule: Rule) -> bool:
    """Criterion II, the number of choices has grown, and a call is left."""
    if counts[CALLS_TAU] >= rule.most_tau or counts[CHOICES] < rule.pace * counts[LAST_TAU]:
        return False
    if rule.determinant:
        return doubled(design.hessian, design.hessian_tau)
    return grown(design.hessian, design.hessian_tau, rule.growth)


@kernel
def compute_o(state: RareState[PrefixState], noise: Array, rule: Rule) -> None:
    """theta_o from the users in T_o."""
    counts, _, design, data = state
    descend(data, counts[DATA], 1, noise, rule, design, design.theta_o)
    copy(design.gram, design.gram_o)
    counts[CALLS_O] += 1
    counts[LAST_O] = counts[CHOICES]


@kernel
def compute_tau(state: RareState[PrefixState], noise: Array, rule: Rule) -> None:
    """theta_tau from the others."""
    counts, _, design, data = state
    descend(data, counts[DATA], 0, noise, rule, design, design.theta_tau)
    copy(design.hessian, design.hessian_tau)
    invert(design.hessian_tau, design.inverse_tau)
    counts[CALLS_TAU] += 1
    counts[LAST_TAU] = counts[CHOICES]


@inlined
def drawn(
    rng: Generator, law: NoiseLaw, iterations: int, state: RareState[PrefixState], explored: int, rule: Rule
) -> Array:
    """Fresh noise for one call of the optimiser."""
    d = state.design.theta_o.size
    if rule.printed:
        n = members(state.data, state.counts[DATA], explored)
        iterations, sigma = printed_length(n, d, explored, rule)
        law = NoiseLaw(law.kind, sigma)
    noise = np.empty((iterations, d))
    draw_rows(rng, law, noise)
    return noise


@kernel
def rare_rounds(
    rng: Generator,
    block: Block,
    state: RareState[PrefixState],
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
    for t in range(block.noise.size):
        if counts[CHOICES] >= counts[BOUNDARY]:
            simulate_step(rng, prefix, law)
            counts[BOUNDARY] = counts[CHOICES] + 1
            redesign(prefix.released, rule, design)
            if not rule.published:
                if due_o(counts, design, rule):
                    compute_o(state, drawn(rng, law_o, iterations, state, 1, rule), rule)
                if due_tau(counts, design, rule):
                    compute_tau(state, drawn(rng, law_tau, iterations, state, 0, rule), rule)
        arms = block.arms[t]
        index = uncertain(arms, design, rule)
        explored = index >= 0
        if not explored:
            if rule.published and due_tau(counts, design, rule):
                compute_tau(state, drawn(rng, law_tau, iterations, state, 0, rule), rule)
            index = exploit(arms, design, rule)
        if outcome(block, t, index):
            counts[CHOICES] += 1
            x = arms[index]
            add_design(x, explored, design.theta_o, rule.link, rule.slope, collected)
            keep(x, block.reward[t], explored, rule.low, rule.high, counts, data)
            if rule.published and explored and counts[CALLS_O] < rule.most_o:
                compute_o(state, drawn(rng, law_o, iterations, state, 1, rule), rule)
