"""Shuffled sums of bits, each of which its device replaces by a fair coin with probability p: what a device sends, and
what the sums of a batch cost one of its users, computed, with a proof of what is computed. Numpy and the standard
library alone: devices work it out as well as servers.

The mechanism. A user holds numbers v in [0, 1]. Number v has m bits, bit k of which (k = 0, ..., m - 1) is 1 with
probability t = clip(m v - k, 0, 1); the device sends 1 with probability p / 2 + (1 - p) t, which is that bit, replaced
by a fair coin with probability p. All bits of all users are drawn independently, given the data. The analyzer sees, for
each number, how many ones the batch has: a sum over its users and over k.

1. Bits. Given the data, what the analyzer sees is a mixture over the bits before they are replaced. The hockey-stick
   divergence is jointly convex: fix the bits of all others, the same in both worlds, and take the worst pair of bit
   vectors of the replaced user. Show the analyzer the count of each of the B bits (numbers times m) by itself: adding
   counts up is post-processing. A bit on which both worlds agree tells nothing, so at worst all B differ. This allows
   for more than bounded vectors can do, and needs no bound on them.
2. One bit. Among the n honest others, tell the analyzer who was replaced, and the bits of who was not. Then it sees
   N ~ Bin(n, p), the same in both worlds, and c = b + Bin(N, 1/2), b = 1 with probability 1 - q in one world and q in
   the other, q = p / 2. With s = N + 1:
       P(c | N) = binom(s, c) 2^-N ((1 - q) c + q (s - c)) / s,   Q(c | N) = the same with c and s - c exchanged,
   for every bit of the others, so B independent copies of the pair (P, Q) dominate what the analyzer sees. (Q, P) is
   the same pair with c and s - c exchanged: one direction is enough. The loss ln(P / Q) is at most ln(2 / p - 1).
3. Fewer coins. Where N is replaced by a smaller number the rest of the coins is post-processing: values of N are put
   together in at most GROUPS groups, each counted as its smallest. What is left out of N and c, below TAIL each, is
   added to delta, B times.
4. A grid of losses. An outcome of masses (P, Q) is split in two, whose losses are the multiples of a step next to
   ln(P / Q) and whose masses add up to P and Q: merging them again is post-processing. So the grid costs more than the
   truth, never less; the step is a PART of the loss's standard deviation, which adds less than PART^2 to its variance.
5. Composition. The loss of B copies is the sum of theirs: a convolution. What exceeds the window counts as delta, what
   falls below it is moved up to its lower end; both only make delta larger. Then
       delta(epsilon) = sum over losses of P(loss) (1 - e^(epsilon - loss))+ + what was left out.
6. Arithmetic. Masses are right to a part in 10^8 (lgamma of at most MOST_USERS), so that delta is raised by B parts in
   10^8. A convolution by Fourier transforms of n numbers is wrong by less than 10^-14 sqrt(n) in all; ROUNDING is
   added for all of them, and no delta below 10 ROUNDING is shown.

Those who send nothing, or no noise, are missing from n and nothing else. More users than planned are post-processing.
That each report is B ln(2 / p - 1)-private by itself is never better: the losses above do not exceed it. Nor are the
bounds on shuffled reports as a whole (reticent_papers.shuffle.amplification), which need that number to be small."""

import functools
import math
from typing import NamedTuple

import numpy as np

from reticent import checks
from reticent.data import Array, Coded, Exact, Integers
from reticent.privacy import search
from reticent.privacy.budget import Budget
from reticent.privacy.randomness import Randomness
from reticent_devices.mechanisms.shuffle.nearness import smallest

SHARE = 1 << 32  # p is a whole number of parts of this size: p / 2 and 1 - p are exact
GROUPS = 256
PART = 1 / 16
WINDOW = 20.0  # standard deviations of the composed loss
LONGEST = 1 << 17  # steps of the window: what a billboard may ask a device to work out
TAIL = 1e-14
ROUNDING = 1e-10
MOST_USERS, MOST_BITS = 10**5, 10**5  # of a batch, and of a user
DIGITS = 1e-6  # of p


class Losses(NamedTuple):
    """Privacy losses of all bits together, under P."""

    values: Array
    masses: Array
    lost: float

    def delta(self, epsilon: float) -> float:
        above = self.values > epsilon
        return float(self.masses[above] @ -np.expm1(epsilon - self.values[above])) + self.lost


@functools.lru_cache(maxsize=64)
def losses(chance: int, others: int, bits: int) -> Losses:
    """Of `bits` bits, each replaced with probability chance / SHARE, among so many honest others."""
    up, down, left_out = outcomes(chance / SHARE, others)
    exact = np.log(up / down)
    spread = math.sqrt(float(up @ exact**2))
    step = max(spread, 1e-9) * PART
    masses, low = _on_grid(up, down, exact, step)
    width = bits * spread**2 / 2 + WINDOW * math.sqrt(bits) * max(spread, 1e-9)
    reach = min(math.ceil(min(width, bits * float(exact.max())) / step) + bits, LONGEST)
    composed, lost = _power(masses, low, bits, reach)
    raised = math.exp(bits * 1e-8)
    values = step * np.arange(-reach, reach + 1.0)
    return Losses(values, composed * raised, lost * raised + bits * left_out + ROUNDING)


def outcomes(p: float, others: int) -> tuple[Array, Array, float]:
    """(masses under P, masses under Q, mass left out) of one bit: steps 2 and 3."""
    counts, weights, left_out = _coins(p, others)
    up, down, logs = [], [], _log_factorials(others + 1)
    for count, weight in zip(counts, weights, strict=True):
        s = int(count) + 1
        half = math.ceil(4.2 * math.sqrt(s)) + 4  # Hoeffding: beyond lies less than 2 exp(-2 (4.2)^2) < 1e-15
        c = np.arange(max(0, s // 2 - half), min(s, (s + 1) // 2 + half) + 1, dtype=np.int64)
        both = weight * 2 * np.exp(_log_binomial(s, c, logs) - s * math.log(2)) / s
        up.append(both * ((1 - p / 2) * c + p / 2 * (s - c)))
        down.append(both * ((1 - p / 2) * (s - c) + p / 2 * c))
    return np.concatenate(up), np.concatenate(down), left_out + TAIL


def _coins(p: float, others: int) -> tuple[Integers, Array, float]:
    """(N, its probability, what is left out) for N ~ Bin(others, p), in groups that are counted as their smallest."""
    if p >= 1.0 or others == 0:
        return np.array([others], np.int64), np.ones(1), 0.0
    half = math.ceil(4.2 * math.sqrt(others)) + 1
    least, most = max(0, math.floor(others * p) - half), min(others, math.ceil(others * p) + half)
    n = np.arange(least, most + 1, dtype=np.int64)
    mass = np.exp(
        _log_binomial(others, n, _log_factorials(others + 1)) + n * math.log(p) + (others - n) * math.log1p(-p)
    )
    kept = np.flatnonzero(mass > TAIL / (2 * n.size))
    first, last = int(kept[0]), int(kept[-1]) + 1
    starts = np.unique(np.linspace(first, last - 1, GROUPS).astype(np.int64)) if last - first > GROUPS else kept
    return n[starts], np.add.reduceat(mass[:last], starts), TAIL + TAIL


def _log_binomial(n: int, k: Integers, logs: Array) -> Array:
    """ln binom(n, k), from ln 0!, ln 1!, ..."""
    out: Array = logs[n] - logs[k] - logs[n - k]
    return out


@functools.lru_cache(maxsize=4)
def _log_factorials(largest: int) -> Array:
    return np.array([math.lgamma(i + 1.0) for i in range(largest + 1)])


def _on_grid(up: Array, down: Array, exact: Array, step: float) -> tuple[Array, int]:
    """Masses under P of the losses low step, (low + 1) step, ...: step 4. An outcome of loss x between a = i step and
    a + step leaves (P - Q e^a) / (1 - e^-step) of P at a + step: then P and Q both add up."""
    cell = np.floor(exact / step).astype(np.int64)
    low = int(cell.min())
    upper = np.clip((1 - np.exp(cell * step - exact)) / -math.expm1(-step), 0.0, 1.0) * up
    size = int(cell.max()) - low + 2
    masses = np.zeros(size)
    np.add.at(masses, cell - low, up - upper)
    np.add.at(masses, cell - low + 1, upper)
    return masses, low


def _power(masses: Array, low: int, times: int, reach: int) -> tuple[Array, float]:
    """The sum of so many independent losses, on the grid from -reach to reach, and the mass above it: step 5."""
    base, lost_base = _window(masses, low, reach)
    out, lost = _window(np.ones(1), 0, reach)
    while times:
        if times % 2:
            out, lost = _sum(out, lost, base, lost_base, reach)
        times //= 2
        if times:
            base, lost_base = _sum(base, lost_base, base, lost_base, reach)
    return out, lost


def _sum(a: Array, lost_a: float, b: Array, lost_b: float, reach: int) -> tuple[Array, float]:
    size = 1 << (a.size + b.size - 2).bit_length()
    together = np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size), size)[: a.size + b.size - 1]
    out, lost = _window(np.maximum(together, 0.0), -2 * reach, reach)
    return out, lost + lost_a + lost_b


def _window(masses: Array, low: int, reach: int) -> tuple[Array, float]:
    """Masses of low, low + 1, ... on the grid from -reach to reach: those below are moved up, those above are lost."""
    out = np.zeros(2 * reach + 1)
    places = np.arange(low, low + masses.size)
    inside = places <= reach
    np.add.at(out, np.maximum(places[inside], -reach) + reach, masses[inside])
    return out, float(masses[~inside].sum())


def epsilon_of(chance: int, honest: int, bits: int, delta: float) -> float:
    """The least epsilon at delta, rounded up, of a batch with so many honest users, the replaced one among them; inf if
    none can be shown."""
    if not 0 < chance < SHARE or not 1 <= honest <= MOST_USERS or bits > MOST_BITS or delta < 10 * ROUNDING:
        return math.inf
    made = losses(chance, honest - 1, bits)
    return smallest(lambda at: made.delta(at) <= delta)


@functools.lru_cache(maxsize=256)
def calibrate_flips(budget: Budget, *, honest: int, bits: int) -> int:
    """The least chance, in parts of SHARE, that keeps the budget in a batch with so many honest users."""
    budget.needs_delta("a shuffled sum")
    checks.positive_int(honest=honest, bits=bits)

    def enough(chance: float) -> bool:
        return losses(math.ceil(chance), honest - 1, bits).delta(budget.epsilon) <= budget.delta

    if max(honest / MOST_USERS, bits / MOST_BITS) > 1 or budget.delta < 10 * ROUNDING or not enough(SHARE - 1):
        raise ValueError(
            f"Expected at most {MOST_USERS} users of a batch, {MOST_BITS} bits of a user and delta of at least "
            f"{10 * ROUNDING:g}, got {honest} users, {bits} bits and delta {budget.delta:g}."
        )
    return math.ceil(search.halved(enough, 0.0, float(SHARE - 1), digits=DIGITS)[1])


def flipped(values: Exact, noise: Randomness, *, chance: int, bits: int) -> Coded:
    """How many ones a device sends for each of its numbers in [0, 1]. p / 2 and 1 - p are exact in doubles, products
    and sums are rounded monotonically, and uniform numbers are multiples of 2^-53: so the probability of a 1 is in
    [p / 2, 1 - p / 2], as the proof needs."""
    p = chance / SHARE
    whole = np.clip(bits * np.clip(values, 0.0, 1.0)[:, None] - np.arange(bits), 0.0, 1.0)
    ones = noise.uniforms(whole.size).reshape(whole.shape) < p / 2 + (1 - p) * whole
    return Coded(ones.sum(axis=1, dtype=np.int64))
