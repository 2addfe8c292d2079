"""Bandits from an online learner's predictions under local privacy, one or several at once: what the server does with a
report (x, y), each randomised, and whole blocks of rounds."""

import math
from typing import Any, NamedTuple

import numpy as np

from tacit.bandits.local.maler_kernel import Learner, learner_start, learner_step
from tacit.bandits.local.randomize_kernel import randomize
from tacit.kernels.compile import inlined, kernel
from tacit.kernels.linear import Estimate, optimistic, rank_one
from tacit.kernels.rounds import CHOICES, outcome


class Base(NamedTuple):
    """One base bandit. All of it was randomised before it came."""

    counts: Any  # int64[3]: reports, reports since its last start, at which of them it starts again (0: never)
    learner: Learner
    moment: Any  # (d,): sum of <theta_t, x> x
    estimate: Estimate  # of V = I + sum of x x', and V^-1 moment
    numbers: Any  # (8,): sigma, shake, lambda_min, the anytime power k (0: fixed), width_scale, D, T, failure
    tally: Any  # (4,): mean reward, sum of (mean before - reward), 1 if still in play, -


class OnlineState(NamedTuple):
    counts: Any  # int64[1]: users
    bases: Any  # a tuple of Base
    rates: Any  # (M, 3): L, alpha, R of each (combiner)


@kernel
def base_restart(base):
    """Start afresh, for as many rounds as will be played before the next start."""
    counts, learner, moment, estimate, numbers, _ = base
    d = moment.size
    if numbers[3] > 0.0:  # the doubling of Algorithm 9: rounds [2^m, 2^(m+1) - 1], threshold 2^(-m k)
        length = max(1, counts[2])
        threshold = float(length) ** -numbers[3]
        numbers[1] = math.sqrt(threshold) if numbers[2] <= threshold else 0.0
        learner.numbers[2] = 2.0 * (numbers[2] + numbers[1] ** 2)
        learner_start(learner, float(length))
    else:
        learner_start(learner, numbers[6])
    counts[1] = 0
    moment[:] = 0.0
    estimate.theta[:] = 0.0
    estimate.inverse[:] = 0.0
    estimate.logdet[0] = 0.0
    for i in range(d):
        estimate.inverse[i, i] = 1.0


@kernel
def base_ready(base):
    """Start again if the public schedule says so: before each choice."""
    counts = base.counts
    if base.numbers[3] > 0.0 and counts[1] >= counts[2]:
        counts[2] = 2 * counts[2] if counts[1] > 0 else 1
        base_restart(base)


@kernel
def base_width(base):
    """width_scale sqrt(M + K): Lemmas 3.3 and 3.5 with every hidden constant 1."""
    sigma, shake, _, _, scale, D, T, failure = base.numbers
    if scale == 0.0:
        return 0.0
    G, mu = base.learner.numbers[1], base.learner.numbers[2]
    n = base.counts[1] + 1.0
    log = math.log(max(T, n) / failure)
    drift = (G * G / (mu * mu) + G * D / mu) * math.log(n + 1.0) + G * G / (mu * mu) * math.log(1.0 / failure)
    M = (G * G / mu + G * D) * math.log(n + 1.0) + G * G / mu * math.log(1.0 / failure)
    K = D * shake * shake * log * math.sqrt(n * drift)
    K += (1.0 + D * sigma + D * shake) ** 2 * log + (sigma * sigma + shake * shake) * log * drift
    return scale * math.sqrt(M + K)


@kernel
def base_absorb(base, x, y):
    """Algorithm 1's server step: the gradient at theta_t of (<x, theta> - y)^2 - sigma^2 |theta|^2, then the learner,
    V and the moment, which takes the prediction <theta_t, x> for a reward."""
    counts, learner, moment, estimate, numbers, tally = base
    d = x.size
    predicted = 0.0
    for i in range(d):
        predicted += learner.theta[i] * x[i]
    gradient = np.empty(d)
    for i in range(d):
        gradient[i] = 2.0 * x[i] * (predicted - y) - 2.0 * numbers[0] ** 2 * learner.theta[i]
    rank_one(x, predicted, moment, estimate)
    learner_step(learner, gradient)
    counts[0] += 1
    counts[1] += 1
    tally[1] += tally[0] - y
    tally[0] += (y - tally[0]) / counts[0]


@kernel
def slack(n, sigma, T, failure, M):
    """p sqrt(n (1 + sigma^2) log(T^3 M log(n (1 + sigma^2)) / failure)) with p = 1."""
    v = n * (1.0 + sigma * sigma)
    return math.sqrt(v * max(0.0, math.log(T**3 * M * max(1.0, math.log(v)) / failure)))


@kernel
def base_bound(base, rates, M):
    """U(i, t - 1) of the combiner: infinite for a base that was never asked, -infinite for one out of play."""
    numbers = base.numbers
    if base.tally[2] == 0.0:
        return -np.inf
    n = float(base.counts[0])
    if n == 0.0:
        return np.inf
    spread = (rates[0] * n ** rates[1] + slack(n, numbers[0], numbers[6], numbers[7], M)) / n
    return base.tally[0] + min(1.0, spread) - rates[2] / numbers[6]


@kernel
def base_drop(base, rates, M):
    """Whether the base has fallen behind its own bound."""
    n = float(base.counts[0])
    numbers = base.numbers
    return base.tally[1] >= rates[0] * n ** rates[1] + slack(n, numbers[0], numbers[6], numbers[7], M)


@inlined
def base_round(rng, block, t, base, law, scale, vector, report):
    """One round by one base: True if its reward is known."""
    d = base.moment.size
    base_ready(base)
    index = optimistic(block.arms[t], base.estimate, base_width(base), 0.0)
    known = outcome(block, t, index)
    if known:
        for i in range(d):
            vector[i] = block.arms[t, index, i]
        vector[d] = scale * block.reward[t]
        if base.numbers[1] > 0.0:
            for i in range(d):
                vector[i] += base.numbers[1] * rng.standard_normal()
        randomize(rng, law, vector, report)
        base_absorb(base, report[:d], report[d] / scale)
    return known


@kernel
def best_base(bases, rates):
    """The base with the largest bound; the first one of equals."""
    best, index = -np.inf, 0
    for i in range(len(bases)):
        bound = base_bound(bases[i], rates[i], float(len(bases)))
        if bound > best:
            best, index = bound, i
    return index


@kernel
def base_review(bases, rates, index):
    """After a report to base `index`: out of play if it fell behind, unless it is the last one."""
    left = 0
    for i in range(len(bases)):
        left += int(bases[i].tally[2])
    if left > 1 and base_drop(bases[index], rates[index], float(len(bases))):
        bases[index].tally[2] = 0.0


@kernel
def online_rounds(rng, block, state, law, scale):
    """LocalOnlineUCB, LocalAnytimeUCB (one base) and LocalCombiner. Changes state and the block's out arrays."""
    counts, bases, rates = state
    d = bases[0].moment.size
    vector, report = np.empty(d + 1), np.empty(d + 1)
    index = 0
    for t in range(block.noise.size):
        if len(bases) > 1:
            index = best_base(bases, rates)
        if base_round(rng, block, t, bases[index], law, scale, vector, report):
            counts[CHOICES] += 1
            if len(bases) > 1:
                base_review(bases, rates, index)
