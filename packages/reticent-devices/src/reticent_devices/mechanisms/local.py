"""The randomisers of the local model, calibrated: which numbers make them as private as the budget says.

Every report is private by itself, so that there is nothing to compose: one user, one report. The curves are used by
servers, which calibrate by them, and by devices, which trust no claim of a server: numpy and the standard library
alone."""

import functools
import math
from statistics import NormalDist

import numpy as np

from reticent.errors import BudgetExceeded
from reticent.privacy import gaussian, randomness, search
from reticent.privacy.budget import Budget
from reticent_devices.mechanisms.randomizers import (
    CELLS,
    FINE,
    SHARE,
    SPREAD,
    UNIT,
    Cap,
    Coin,
    Lattice,
    Open,
    Randomizer,
    rarest,
)

MARGIN = 1e-6  # relative, of a claimed epsilon: for floating point
ETAS: tuple[float, ...] = tuple(np.logspace(-5, -1, 400).tolist())
HIGHEST, STEEPEST = 600.0, 1e3  # epsilon and mu beyond which nothing is computed
LOST = 2.0**-50  # of a delta: the difference of two probabilities in floating point


def tail(t: float) -> float:
    """P(N >= t) of a standard normal number."""
    return 0.5 * math.erfc(t / math.sqrt(2))


def cap_probability(threshold: int, size: int) -> float:
    """A lower bound of q_x = P(<z, x> >= threshold) over all x of `size` numbers that `lift` gives.

    Let g be normal and z its quantisation, e = z / UNIT - g. <z, x> >= threshold as soon as <g, x> >= t + eta and
    <e, x> >= -eta, both in units of |x|, for t = threshold / (UNIT |x|), |x| >= FINE - sqrt(size) / 2.
    e has mean 0 (the law is symmetric) and independent entries, so E <e, x>^2 = SPREAD |x|^2 at most, and by Chebyshev
        q_x >= P(N >= t + eta) - SPREAD / eta^2   for every eta > 0; the best of a grid is taken."""
    t = threshold / (UNIT * (FINE - math.sqrt(size) / 2 - 1e-3))
    return max(tail(t + eta) - SPREAD / eta**2 for eta in ETAS)


def cap_epsilon(cap: Cap, size: int) -> float:
    """The pure epsilon of `cap` on vectors of `size` numbers, from its integers: q <= q_x <= most, the latter by the
    argument of cap_probability on the other side and by symmetry. Every q_x must be below every p_x, and p_x at most
    one part in SHARE above the chance (Cap has the names). inf also for caps that are rarer than a server may ask
    for."""
    p, root = (cap.chance + 1) / SHARE, math.sqrt(size + 1) / 2 + 1e-3
    if not (p < 1 and cap.nominal >= rarest(size) * (1 - MARGIN) and root < FINE / 2):
        return math.inf
    q, t = cap_probability(cap.threshold, size + 1), cap.threshold / (UNIT * (FINE + root))
    most = min(0.5, *(tail(t - eta) + SPREAD / eta**2 for eta in ETAS))
    if q <= 0 or most**cap.others > 1 / SHARE or most > cap.chance / SHARE * (1 - (1 - 2 * q) ** cap.rows):
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
        gamma = -NormalDist().inv_cdf(float(q))
        threshold = max(1, math.ceil(gamma * UNIT * FINE))
        low = cap_probability(threshold, size + 1)
        if low <= 0:
            continue
        chance = math.floor(SHARE / (1 + math.exp(-epsilon) * (1 - low) / low)) - 1  # p / (1-p) = e^eps q / (1-q)
        p, exact = chance / SHARE, tail(gamma)
        gain = math.exp(-0.5 * gamma * gamma) / math.sqrt(2 * math.pi) * (p / exact - (1 - p) / (1 - exact))
        if gain > 0 and radius / gain < best and chance < SHARE:
            made = Cap(radius, chance, threshold, radius / gain)
            if cap_epsilon(made, size) <= epsilon:
                best, found = radius / gain, made
    if found is None:
        raise BudgetExceeded(f"Expected an epsilon that a report of {size} numbers can have, got {epsilon:g}.")
    return found


def lattice_delta(lattice: Lattice, sensitivity: float, size: int, epsilon: float) -> float:
    """delta at epsilon of `lattice` on vectors of `size` numbers that are at most `sensitivity` apart; 1 where none can
    be shown.

    Rounding the vector to the grid adds sqrt(size) cells to the sensitivity. Had the noise been a rounded Gaussian
    number, the exact curve would hold, rounding being post-processing. With a = k / CELLS^2, |k| <= 9 CELLS, the
    probabilities of rounded and discrete Gaussian differ by ln(rounded / discrete) in [-1 / (24 CELLS^2), a^2 / 24]
    (Jensen below, sinh(a / 2) / (a / 2) above; the normalisers differ by e^(-2 pi^2 CELLS^2)), and what is drawn
    differs from the discrete law by randomness.RATIO and randomness.STRAY. So, with r the sum of those ratios,
        delta = delta_Gauss(epsilon - 2 size r) e^(2 size r) + (2 + e^epsilon) size stray."""
    if not 0 < lattice.sigma < math.inf or not sensitivity < math.inf:
        return 1.0
    mu = sensitivity / lattice.sigma + math.sqrt(size) / CELLS
    slack = 2 * size * (randomness.RATIO + (randomness.FARTHEST / CELLS) ** 2 / 24)
    stray = randomness.STRAY + 2 * tail(float(randomness.FARTHEST))
    inner = epsilon - slack
    if inner < 0 or epsilon > HIGHEST or mu > STEEPEST:
        return 1.0
    gauss = tail(inner / mu - mu / 2) - math.exp(inner) * tail(inner / mu + mu / 2)
    return min(1.0, (max(0.0, gauss) + LOST) * math.exp(slack) + (2 + math.exp(epsilon)) * size * stray)


def lattice_epsilon(lattice: Lattice, sensitivity: float, size: int, delta: float) -> float:
    """The smallest epsilon at delta, rounded up; inf where none can be shown."""

    def enough(epsilon: float) -> bool:
        return lattice_delta(lattice, sensitivity, size, epsilon) <= delta

    low, high = search.doubled(enough, 0.0, 1.0, most=HIGHEST)
    return math.inf if high == math.inf else search.halved(enough, low, high, digits=gaussian.DIGITS)[1]


@functools.cache
def lattice(budget: Budget, sensitivity: float, size: int) -> Lattice:
    """The least noise that the budget allows, nearly."""
    sigma, growth = sensitivity / gaussian.mu(budget), 1 + 1e-6 + 2 * math.sqrt(size) / CELLS  # what the grid adds
    for tried in range(80):
        made = Lattice(sigma)
        if (found := lattice_delta(made, sensitivity, size, budget.epsilon)) <= budget.delta:
            return made
        sigma *= growth**2.0 ** max(0, tried - 59)
    raise BudgetExceeded(
        f"Expected a budget that a report of {size} numbers can have, got epsilon {budget.epsilon:g} and delta "
        f"{budget.delta:g}: at that epsilon the sampler of devices alone costs a delta of {found:.2g}."
    )


def coin(epsilon: float) -> Coin:
    """Randomised response at that epsilon."""
    return Coin(SHARE if epsilon == math.inf else min(SHARE - 1, math.floor(SHARE / (1 + math.exp(-epsilon)))))


def coin_epsilon(made: Coin) -> float:
    return abs(math.log(made.chance) - math.log(SHARE - made.chance)) if 0 < made.chance < SHARE else math.inf


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
