"""The randomisers of the local model, calibrated: which numbers make them as private as the budget says.

Every report is private by itself, so that there is nothing to compose: one user, one report."""

import functools
import math

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from tacit.errors import BudgetExceeded
from tacit.mechanisms.randomizers import CELLS, FINE, SHARE, SPREAD, UNIT, Cap, Coin, Lattice, Open, Randomizer, rarest
from tacit.privacy import entropy, gaussian
from tacit.privacy.budget import Budget


def cap_probability(threshold: int, size: int) -> float:
    """A lower bound of q_x = P(<z, x> >= threshold) over all x of `size` numbers that `lift` gives.

    Let g be normal and z its quantisation, e = z / UNIT - g. <z, x> >= threshold as soon as <g, x> >= t + eta and
    <e, x> >= -eta, both in units of |x|, for t = threshold / (UNIT |x|), |x| >= FINE - sqrt(size) / 2.
    e has mean 0 (the law is symmetric) and independent entries, so E <e, x>^2 = SPREAD |x|^2 at most, and by Chebyshev
        q_x >= P(N >= t + eta) - SPREAD / eta^2   for every eta > 0; the best of a grid is taken."""
    t = threshold / (UNIT * (FINE - math.sqrt(size) / 2 - 1e-3))
    eta = np.logspace(-5, -1, 400)
    return float(np.max(ndtr(-(t + eta)) - SPREAD / eta**2))


def cap_epsilon(cap: Cap, size: int) -> float:
    """The pure epsilon of `cap` on vectors of `size` numbers, from its integers: q <= q_x <= most, the latter by the
    argument of cap_probability on the other side and by symmetry. Every q_x must be below every p_x, and p_x at most
    one part in SHARE above the chance (Cap has the names)."""
    q = cap_probability(cap.threshold, size + 1)
    p = (cap.chance + 1) / SHARE
    t = cap.threshold / (UNIT * (FINE + math.sqrt(size + 1) / 2 + 1e-3))
    most = min(0.5, float(np.min(ndtr(-(t - (eta := np.logspace(-5, -1, 400)))) + SPREAD / eta**2)))
    if q <= 0 or p >= 1 or most**cap.others > 1 / SHARE:
        return math.inf
    if most > cap.chance / SHARE * (1 - (1 - 2 * q) ** cap.rows):
        return math.inf
    return math.log(p) - math.log1p(-p) + math.log1p(-q) - math.log(q)


@functools.cache
def cap(epsilon: float, radius: float, size: int, quantile: float | None = None) -> Cap:
    """The `Cap` of least variance at that epsilon: over thresholds, the largest chance that epsilon allows. Thresholds
    beyond which a candidate would be found in more than 2^15 numbers are left out: devices are slow.

    quantile: the probability of the cap, if given (1/2: Duchi, Jordan & Wainwright 2018)."""
    least = math.log10(rarest(size))
    qs = np.array([quantile]) if quantile is not None else np.logspace(least, math.log10(0.5), 400)
    best, found = math.inf, None
    for q in qs:
        gamma = float(-ndtri(q))
        threshold = max(1, math.ceil(gamma * UNIT * FINE))
        low = cap_probability(threshold, size + 1)
        if low <= 0:
            continue
        chance = math.floor(SHARE / (1 + math.exp(-epsilon) * (1 - low) / low)) - 1  # p / (1-p) = e^eps q / (1-q)
        p, exact = chance / SHARE, float(ndtr(-gamma))
        gain = math.exp(-0.5 * gamma * gamma) / math.sqrt(2 * math.pi) * (p / exact - (1 - p) / (1 - exact))
        if gain > 0 and radius / gain < best and chance < SHARE:
            made = Cap(radius, chance, threshold, radius / gain)
            if cap_epsilon(made, size) <= epsilon:
                best, found = radius / gain, made
    if found is None:
        raise BudgetExceeded(f"Expected an epsilon that a report of {size} numbers can have, got {epsilon:g}.")
    return found


def lattice_epsilon(lattice: Lattice, sensitivity: float, size: int, delta: float) -> float:
    """epsilon at delta of `lattice` on vectors of `size` numbers that are at most `sensitivity` apart.

    Rounding the vector to the grid adds sqrt(size) cells to the sensitivity. Had the noise been a rounded Gaussian
    number, the exact curve would hold, rounding being post-processing. With a = k / CELLS^2, |k| <= 9 CELLS, the
    probabilities of rounded and discrete Gaussian differ by ln(rounded / discrete) in [-1 / (24 CELLS^2), a^2 / 24]
    (Jensen below, sinh(a / 2) / (a / 2) above; the normalisers differ by e^(-2 pi^2 CELLS^2)), and what is drawn
    differs from the discrete law by entropy.RATIO and entropy.STRAY. So, with r the sum of those ratios,
        epsilon = epsilon_Gauss(delta') + 2 size r,   delta' = (delta - (2 + e^epsilon) size stray) e^(-2 size r)."""
    cell = lattice.sigma / CELLS
    mu = (sensitivity + math.sqrt(size) * cell) / lattice.sigma
    ratio = entropy.RATIO + (entropy.REACH / CELLS) ** 2 / 24
    stray = entropy.STRAY + 2 * math.exp(float(log_ndtr(-entropy.REACH)))
    slack = 2 * size * ratio
    guess = gaussian.epsilon(mu, delta) + 1
    for _ in range(3):
        left = (delta - (2 + math.exp(min(guess, 30))) * size * stray) * math.exp(-slack)
        if left <= 0:
            return math.inf
        guess = gaussian.epsilon(mu, left) + slack
    return guess


@functools.cache
def lattice(budget: Budget, sensitivity: float, size: int) -> Lattice:
    """The least noise that the budget allows."""
    sigma = sensitivity / gaussian.mu(budget)
    for _ in range(60):
        made = Lattice(sigma)
        if lattice_epsilon(made, sensitivity, size, budget.delta) <= budget.epsilon:
            return made
        sigma *= 1 + 1e-6 + 2 * math.sqrt(size) / CELLS
    raise BudgetExceeded(f"Expected a delta above what the grid adds, got {budget.delta:g}.")


def coin(epsilon: float) -> Coin:
    """Randomised response at that epsilon."""
    return Coin(SHARE if epsilon == math.inf else min(SHARE - 1, math.floor(SHARE / (1 + math.exp(-epsilon)))))


def coin_epsilon(made: Coin) -> float:
    return math.inf if made.chance == SHARE else math.log(made.chance) - math.log(SHARE - made.chance)


def best(budget: Budget, *, sensitivity: float, radius: float, size: int, kind: str = "best") -> Randomizer:
    """The randomiser with the smaller standard deviation per number at that budget; `kind` names one outright."""
    if budget.epsilon == math.inf:
        return Open()
    if kind == "gaussian":
        return lattice(budget, sensitivity, size)
    if kind == "hemisphere":
        return cap(budget.epsilon, radius, size, 0.5)
    first = cap(budget.epsilon, radius, size)
    if kind == "cap" or budget.delta == 0:
        return first
    second = lattice(budget, sensitivity, size)
    return first if first.scale <= second.sigma else second


def epsilon_of(made: Randomizer | Coin, *, sensitivity: float, size: int, delta: float) -> float:
    """Recomputed from what is used."""
    if isinstance(made, Cap):
        return cap_epsilon(made, size)
    if isinstance(made, Lattice):
        return lattice_epsilon(made, sensitivity, size, delta)
    return coin_epsilon(made) if isinstance(made, Coin) else math.inf
