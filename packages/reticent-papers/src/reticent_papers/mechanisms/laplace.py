"""A sum of whole numbers with discrete Laplace noise that its users draw in shares: pure epsilon, without a delta.

The mechanism. n users hold numbers in [0, 1]. Each is rounded at random to a whole number x of g cells, 0 <= x <= g, a
share of noise is added, and the report is the result modulo m. Whoever adds up shows the sum of reports modulo m and
nothing else, that is (sum of x + sum of shares) mod m.

1. Shares. Polya(r, b) is the law on 0, 1, ... with probabilities proportional to Gamma(k + r) / k! b^k; independent
   ones add up to the sum of their r. A share is the difference of two of Polya(1 / h, b), h being the users who surely
   report honestly. So the shares of h of them are together the difference of two of Polya(1, b), which are geometric:
   exactly the discrete Laplace law, P(k) = (1 - b) / (1 + b) b^|k|. What further users add is independent of it.
2. Privacy. Another reward of one user, another rounding or none at all moves the sum of x by at most g, so that every
   probability of the noisy sum changes by a factor of at most b^-g: epsilon = g ln(1 / b), at delta = 0, by triangle
   inequality. Averaging over roundings, further users' noise and the modulus are convex or post-processing.
3. The draw. With G geometric, P(G >= k) = b^k, Polya(1 / h, b) is what a Polya urn gives in G turns: with s hits in i
   turns the next one is a hit with probability (1 / h + s) / (1 + i) = (1 + h s) / (h (1 + i)). For, if X and Y are
   independent, of Polya(1 / h, b) and Polya(1 - 1 / h, b), then X + Y is geometric and, given X + Y, X is
   beta-binomial, which is the urn. b is a multiple of 2^-48, so that all probabilities are rational, and `hit` draws
   from whole random words with exactly these: no floating point is in the noise. How many words a draw takes depends on
   the noise that is drawn, and not on the datum.
4. The modulus. m = n g + 2 t + 1: a sum of at most n reports whose noise is within [-t, t] is read without loss.

Reference: Balle, Bell, Gascon & Nissim 2020; Goryczka & Xiong 2015, Theorem 5.1; Chowdhury & Zhou 2022,
arXiv:2206.05772, Theorem 1.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Coded, Released
from reticent.privacy import randomness
from reticent.privacy.ledger import LAPLACE_ONE, laplace_epsilon
from reticent.privacy.randomness import Randomness
from reticent_devices.mechanisms.shuffle.encoding import nothing_coded

FINEST = 1 << 12  # cells of the range of rewards at most
LONGEST = 1 << 16  # turns of an urn on average at most: what a device can be asked to draw
SILENT = 1 << 10  # cells where no noise is asked for
LIMIT = 1 << 32  # numbers of a report are below
WORDS = 64  # read at a time


class LaplacePlan(NamedTuple):
    """Public: what each user of a batch does."""

    users: int  # n: whom the batch is planned for
    honest: int  # h: whose shares are the noise
    cells: int  # g
    chance: int  # b, in units of 1 / LAPLACE_ONE; 0: no noise
    reach: int  # t

    @property
    def modulus(self) -> int:
        return self.users * self.cells + 2 * self.reach + 1

    @property
    def epsilon(self) -> float:
        """Computed from the noise; inf where there is none."""
        return laplace_epsilon(self.cells, self.chance)


def calibrate(epsilon: float, *, users: int, honest: int, horizon: float) -> LaplacePlan:
    """The paper's: g = ceil(epsilon sqrt n), at most FINEST, and t = (g / epsilon) ln(2 T) for noise of n / h times the
    variance. b is rounded up, so that its epsilon is not above the one asked for. ValueError for an epsilon so small
    that reports would be too long, or their noise too long in the making."""
    if epsilon == math.inf:
        return LaplacePlan(users, honest, SILENT, 0, 0)
    cells = min(math.ceil(epsilon * math.sqrt(users)), FINEST)
    # within a unit in the last place of 2^-53, which is less than a unit of b: one more is above e^(-epsilon / g)
    chance = 1 + math.ceil(math.exp(-epsilon / cells) * LAPLACE_ONE)
    reach = math.ceil(users / honest * cells / epsilon * math.log(2 * horizon))
    made = LaplacePlan(users, honest, cells, chance, reach)
    if not drawable(chance) or made.modulus >= LIMIT:
        raise ValueError(f"Expected epsilon large enough for a batch of {users} users, got {epsilon:g}.")
    return made


def drawable(chance: int) -> bool:
    """Whether a share takes no more than LONGEST turns on average."""
    return 0 <= chance <= LAPLACE_ONE - LAPLACE_ONE // LONGEST


# what a user does


def rounded(value: float, uniform: float, cells: int) -> int:
    """floor(g value + U), never outside of [0, g]: floating point rounds 1 + U to 2 for the largest U."""
    return min(max(math.floor(value * cells + uniform), 0), cells)


def coded(value: float, noise: Randomness, plan: LaplacePlan) -> Coded:
    """The number of a report, in [0, m)."""
    cells = rounded(value, float(noise.uniforms(1)[0]), plan.cells)
    return Coded(np.array([(cells + share(noise, plan)) % plan.modulus]))


def share(noise: Randomness, plan: LaplacePlan) -> int:
    """One user's share of the noise: the difference of two of Polya(1 / h, b)."""
    words = _words(noise)
    return polya(words, plan.honest, plan.chance) - polya(words, plan.honest, plan.chance)


def polya(words: Iterator[int], parts: int, chance: int) -> int:
    """One of Polya(1 / parts, b), exactly: step 3 above."""
    hits = turns = 0
    while hit(words, chance, LAPLACE_ONE):
        hits += hit(words, 1 + parts * hits, parts * (1 + turns))
        turns += 1
    return hits


def hit(words: Iterator[int], of: int, out_of: int) -> bool:
    """True with probability of / out_of, exactly, from uniform 64-bit words: the first word that is not that of the
    quotient's binary digits decides."""
    while True:
        digits, of = divmod(of << 64, out_of)
        if (word := next(words)) != digits:
            return word < digits


def _words(noise: Randomness) -> Iterator[int]:
    """The operating system's, whatever a private source calls itself; in simulation, of 53 bits."""
    while True:
        if noise.private:
            yield from randomness.words(WORDS).tolist()
        else:
            yield from (int(u * 2.0**53) << 11 for u in noise.uniforms(WORDS))


# what is done with sums


def reduced(sums: Coded, modulus: int) -> Coded:
    return Coded(sums % modulus)


def with_shares(rng: Generator, sums: Coded, plan: LaplacePlan) -> Coded:
    """A sum of n roundings with the shares of all n, modulo m, as they are in distribution: simulation only."""
    out = nothing_coded(1)
    out[:] = sums
    if plan.chance:
        up, down = rng.negative_binomial(plan.users / plan.honest, 1 - plan.chance / LAPLACE_ONE, 2)
        out[:] += up - down
    return reduced(out, plan.modulus)


def decoded(sums: Coded, plan: LaplacePlan) -> Released:
    """The noisy sum, in units of the range of rewards: what is above n g + t was negative."""
    whole = sums.astype(np.float64)
    return Released(np.where(whole > plan.users * plan.cells + plan.reach, whole - plan.modulus, whole) / plan.cells)
