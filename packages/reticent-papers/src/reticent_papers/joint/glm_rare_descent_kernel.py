"""Noisy projected gradient descent on the users' losses, ours and that of Lemma U.4."""

import math
from typing import NamedTuple

import numpy as np

from reticent.data import Array, Exact, Integers, Released
from reticent.kernels.compile import kernel
from reticent.kernels.formulas import link_mean
from reticent.kernels.linalg import copy
from reticent.model.links import Code
from reticent_papers.kernels.matrices import HALVINGS
from reticent_papers.mechanisms.noisy_kernel import with_noise


class Rule(NamedTuple):
    """Public numbers."""

    link: Code
    published: bool  # recompute when raw contexts say so
    determinant: bool  # Criterion II compares determinants
    low: float  # rewards
    high: float
    radius: float  # S
    explore: float  # Criterion I is |x|^2_{V^-1} >= 1 / explore^2
    eliminate: float  # gamma sqrt(kappa): width of UCB_o and LCB_o; but in the code, the same
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
    printed: bool = False  # the optimiser of Lemma U.4, whose length and noise follow from the number of users
    rho_o: float = 0.0  # its zCDP of a call
    rho_tau: float = 0.0
    log_failure: float = 0.0  # its log(1 / zeta)
    coded: bool = False  # as the paper's code has it (glm_rare_code)
    share: float = 0.0  # of theta_o in the estimate that is played by
    floor: float = 0.5  # of eigenvalues of V and H, over the ridge
    growth: float = 2.0  # of a matrix in some direction, at which estimates are due


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

    x: Exact  # (horizon, d), norms at most 1
    r: Exact  # (horizon,), in [0, 1]
    explored: Exact  # (horizon,) whole numbers: 1 in T_o, else 0


@kernel
def gradients(data: Data, count: int, explored: int, theta: Array, link: Code, cell: float) -> Exact:
    """The sum of (mu(<x, theta>) - r) x over the data in T_o (explored = 1) or outside it (0). With cell > 0 each
    gradient is rounded to whole cells: sums of floats that are whole numbers below 2^53 are exact, in any order."""
    d = theta.size
    out = Exact(np.zeros(d))
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
def descend_as_printed(
    data: Data, count: int, explored: int, noise: Array, rule: Rule, design: Design, out: Array
) -> None:
    """Lemma U.4 from 0, as many steps as rows of noise: theta <- project(theta - D / (L sqrt steps) (gradient sum +
    noise + lambda_max theta) / n), D = 2 S, L = 1 + S, on |theta| <= S (explored) or |theta - theta_o|_V <= explore;
    out <- the average of the iterates at which gradients were taken. n, the users concerned, is raw."""
    d, steps, n = out.size, noise.shape[0], members(data, count, explored)
    rate = 2.0 * rule.radius / ((1.0 + rule.radius) * math.sqrt(steps) * max(n, 1))
    values, vectors = np.linalg.eigh(design.gram)
    theta, average = np.zeros(d), np.zeros(d)
    for k in range(steps):
        average += theta / steps
        released = with_noise(gradients(data, count, explored, theta, rule.link, 0.0), noise[k], 0.0)
        theta -= rate * (released + (rule.shrink_o if explored else rule.shrink_tau) * theta)
        if explored:
            into_ball(theta, rule.radius)
        else:
            into_ellipsoid(theta, design.theta_o, values, vectors, rule.explore)
    copy(average, out)


@kernel
def descend_as_coded(
    data: Data, mine: Integers, start: Array, noise: Array, batches: Integers, burn_in: int, clip: float, rule: Rule
) -> Array:
    """batches: (epochs, steps of an epoch, users of a step), places in `mine`. Step k: theta <- theta - rate / sqrt k
    (mean of the gradients, each cut to `clip`, + noise + 2 shrink theta). The average of theta after each epoch but the
    first burn_in; where none is left, the last."""
    epochs, parts, size = batches.shape
    d, theta, average, k = start.size, start.copy(), np.zeros(start.size), 0
    for e in range(epochs):
        for b in range(parts):
            total = Exact(np.zeros(d))
            for u in range(size):
                s = mine[batches[e, b, u]]
                z, norm = 0.0, 0.0
                for i in range(d):
                    z += data.x[s, i] * theta[i]
                    norm += data.x[s, i] ** 2
                residual = link_mean(rule.link, z) - data.r[s]
                norm = math.sqrt(norm) * abs(residual)
                scale = residual * (clip / norm if norm > clip else 1.0)
                for i in range(d):
                    total[i] += scale * data.x[s, i]
            released = with_noise(total, noise[k], 0.0)
            k += 1
            for i in range(d):
                theta[i] -= rule.step / math.sqrt(k) * (released[i] / size + 2.0 * rule.shrink_o * theta[i])
        if e >= burn_in:
            average += theta / (epochs - burn_in)
    return average if epochs > burn_in else theta


@kernel
def members(data: Data, count: int, explored: int) -> int:
    """How many of the data are in T_o (explored = 1) or outside it (0): raw."""
    out = 0
    for s in range(count):
        out += int(data.explored[s] == explored)
    return out


@kernel
def printed_length(n: int, dim: int, explored: int, rule: Rule) -> tuple[int, float]:
    """Steps (n^2 rho + ln(1 / zeta)) / d of Lemma U.4, and the std L sqrt(2 steps / rho) of a gradient sum's noise."""
    rho = rule.rho_o if explored else rule.rho_tau
    steps = math.ceil((float(n) * n * rho + rule.log_failure) / dim)
    return steps, (1.0 + rule.radius) * math.sqrt(2.0 * steps / rho)


@kernel
def descend(data: Data, count: int, explored: int, noise: Array, rule: Rule, design: Design, out: Array) -> None:
    """out <- the average of the iterates of projected gradient descent from `out`, as many as rows of noise:
    rate = step / (shrink + L), with L the largest eigenvalue of the released matrix that stands for the curvature:
    slope V for T_o, e H for the others."""
    if rule.coded:
        return  # fitted already: glm_rare_code
    if rule.printed:
        descend_as_printed(data, count, explored, noise, rule, design, out)
        return
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
