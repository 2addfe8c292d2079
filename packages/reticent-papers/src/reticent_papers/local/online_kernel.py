"""Bandits from an online learner's predictions under local privacy, one or several at once: what the server does with a
report (x, y), each randomised, and whole blocks of rounds."""

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Exact, Integers, Released
from reticent.kernels.block import Block
from reticent.kernels.compile import inlined, kernel
from reticent.kernels.linear import RidgeEstimate, optimistic, rank_one
from reticent.kernels.rounds import CHOICES, outcome
from reticent_devices.mechanisms.randomize_kernel import empty_report, randomize
from reticent_devices.mechanisms.randomizers import Law
from reticent_papers.local.maler_kernel import Learner, learner_start, learner_step

REPORTS, SINCE, UNTIL = 0, 1, 2  # of Base.counts
MEAN, BEHIND, IN_PLAY = 0, 1, 2  # of Base.tally


class BaseSettings(NamedTuple):
    sigma: float  # of a report's numbers
    eigenvalue: float  # lambda_min of E[x x']
    power: float  # k of the anytime threshold 2^(-m k); 0: the threshold is fixed
    width_scale: float
    radius: float
    horizon: float
    failure: float


class Base(NamedTuple):
    """One base bandit. All of it was randomised before it came."""

    counts: Integers  # (3,): reports, reports since its last start, at which of them it starts again (0: never)
    learner: Learner
    moment: Array  # (d,): sum of <theta_t, x> x
    estimate: RidgeEstimate  # of V = I + sum of x x', and V^-1 moment
    shake: Array  # (1,): std of what devices add to x that is not for privacy
    tally: Array  # (3,): mean reward, sum of (mean before - reward), 1 if still in play
    settings: BaseSettings


class Rates(NamedTuple):
    """L, alpha and what is taken off the bound of each base (LocalCombiner); p of its concentration bound."""

    scale: Array
    power: Array
    price: Array
    spread: float
    capped: bool  # whether 1 bounds the whole distance from the mean, or the learner's part alone


class OnlineState(NamedTuple):
    counts: Integers  # (1,): users
    bases: tuple[Base, ...]
    rates: Rates


@kernel
def base_restart(base: Base) -> None:
    """Start afresh, for as many rounds as will be played before the next start."""
    counts, learner, moment, estimate, shake, _, settings = base
    if settings.power > 0.0:  # the doubling of Algorithm 9: rounds [2^m, 2^(m+1) - 1], threshold 2^(-m k)
        length = max(1, counts[UNTIL])
        threshold = float(length) ** -settings.power
        shake[0] = math.sqrt(threshold) if settings.eigenvalue <= threshold else 0.0
        learner.strength[0] = 2.0 * (settings.eigenvalue + shake[0] ** 2)
        learner_start(learner, float(length))
    else:
        learner_start(learner, settings.horizon)
    counts[SINCE] = 0
    moment[:] = 0.0
    estimate.theta[:] = 0.0
    estimate.inverse[:] = 0.0
    estimate.logdet[0] = 0.0
    for i in range(moment.size):
        estimate.inverse[i, i] = 1.0


@kernel
def base_ready(base: Base) -> None:
    """Start again if the public schedule says so: before each choice."""
    counts = base.counts
    if base.settings.power > 0.0 and counts[SINCE] >= counts[UNTIL]:
        counts[UNTIL] = 2 * counts[UNTIL] if counts[SINCE] > 0 else 1
        base_restart(base)


@kernel
def base_width(base: Base) -> float:
    """width_scale sqrt(M + K): Lemmas 3.3 and 3.5 with every hidden constant 1."""
    settings, shake = base.settings, base.shake[0]
    if settings.width_scale == 0.0:
        return 0.0
    sigma, D, failure = settings.sigma, settings.radius, settings.failure
    G, mu = base.learner.settings.clip, base.learner.strength[0]
    n = base.counts[SINCE] + 1.0
    log = math.log(max(settings.horizon, n) / failure)
    drift = (G * G / (mu * mu) + G * D / mu) * math.log(n + 1.0) + G * G / (mu * mu) * math.log(1.0 / failure)
    M = (G * G / mu + G * D) * math.log(n + 1.0) + G * G / mu * math.log(1.0 / failure)
    K = D * shake * shake * log * math.sqrt(n * drift)
    K += (1.0 + D * sigma + D * shake) ** 2 * log + (sigma * sigma + shake * shake) * log * drift
    return settings.width_scale * math.sqrt(M + K)


@kernel
def base_absorb(base: Base, report: Released, scale: float) -> None:
    """Algorithm 1's server step with a report (x, scale y): the gradient at theta_t of (<x, theta> - y)^2 - sigma^2
    |theta|^2, then the learner, V and the moment, which takes the prediction <theta_t, x> for a reward."""
    counts, learner, moment, estimate, _, tally, settings = base
    d = moment.size
    x, y = report[:d], report[d] / scale
    predicted = 0.0
    for i in range(d):
        predicted += learner.theta[i] * x[i]
    gradient = np.empty(d)
    for i in range(d):
        gradient[i] = 2.0 * x[i] * (predicted - y) - 2.0 * settings.sigma**2 * learner.theta[i]
    rank_one(x, predicted, moment, estimate)
    learner_step(learner, gradient)
    counts[REPORTS] += 1
    counts[SINCE] += 1
    tally[BEHIND] += tally[MEAN] - y
    tally[MEAN] += (y - tally[MEAN]) / counts[REPORTS]


@inlined
def noise_bound(base: Base, rates: Rates, count: int) -> float:
    """p sqrt(n (1 + sigma^2) log(T^3 M log(n (1 + sigma^2)) / failure)): how far n noisy rewards may be off in sum."""
    settings = base.settings
    v = float(base.counts[REPORTS]) * (1.0 + settings.sigma * settings.sigma)
    log = math.log(settings.horizon**3 * float(count) * max(1.0, math.log(v)) / settings.failure)
    return float(rates.spread * math.sqrt(v * max(0.0, log)))


@kernel
def regret_bound(base: Base, rates: Rates, index: int, count: int) -> float:
    """L n^alpha and the noise's bound: how far a base may fall behind in its n reports."""
    n = float(base.counts[REPORTS])
    return float(rates.scale[index] * n ** rates.power[index]) + noise_bound(base, rates, count)


@kernel
def upper_bound(base: Base, rates: Rates, index: int, count: int) -> float:
    """U(i, t - 1) of the combiner: infinite for a base that was never asked, -infinite for one out of play."""
    if base.tally[IN_PLAY] == 0.0:
        return -np.inf
    n = float(base.counts[REPORTS])
    if n == 0.0:
        return np.inf
    noise = 0.0 if rates.capped else noise_bound(base, rates, count)
    spread = min(1.0, (regret_bound(base, rates, index, count) - noise) / n) + noise / n
    return float(base.tally[MEAN] + spread - rates.price[index])


@inlined
def base_round(
    rng: Generator, block: Block, t: int, base: Base, law: Law, scale: float, vector: Exact, report: Released
) -> bool:
    """One round by one base: True if its reward is known."""
    d = base.moment.size
    base_ready(base)
    index = optimistic(block.arms[t], base.estimate, base_width(base), 0.0)
    known = outcome(block, t, index)
    if known:
        for i in range(d):
            vector[i] = block.arms[t, index, i]
        vector[d] = scale * block.reward[t]
        if base.shake[0] > 0.0:
            for i in range(d):
                vector[i] += base.shake[0] * rng.standard_normal()
        randomize(rng, law, vector, report)
        base_absorb(base, report, scale)
    return known


@kernel
def best_base(bases: tuple[Base, ...], rates: Rates) -> int:
    """The base with the largest bound; the first one of equals."""
    best, index = -np.inf, 0
    for i in range(len(bases)):
        bound = upper_bound(bases[i], rates, i, len(bases))
        if bound > best:
            best, index = bound, i
    return index


@kernel
def base_review(bases: tuple[Base, ...], rates: Rates, index: int) -> None:
    """After a report to base `index`: out of play if it fell behind its own bound, unless it is the last one."""
    left = 0
    for i in range(len(bases)):
        left += int(bases[i].tally[IN_PLAY])
    base = bases[index]
    if left > 1 and base.tally[BEHIND] >= regret_bound(base, rates, index, len(bases)):
        base.tally[IN_PLAY] = 0.0


@kernel
def online_rounds(rng: Generator, block: Block, state: OnlineState, law: Law, scale: float) -> None:
    """LocalOnlineUCB, LocalAnytimeUCB (one base) and LocalCombiner. Changes state and the block's out arrays."""
    counts, bases, rates = state
    d = bases[0].moment.size
    vector, report = Exact(np.empty(d + 1)), empty_report(d + 1)
    index = 0
    for t in range(block.noise.size):
        if len(bases) > 1:
            index = best_base(bases, rates)
        if base_round(rng, block, t, bases[index], law, scale, vector, report):
            counts[CHOICES] += 1
            if len(bases) > 1:
                base_review(bases, rates, index)
