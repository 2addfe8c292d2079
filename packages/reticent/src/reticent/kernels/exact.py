"""Exact discrete Gaussians from random words, by comparisons of whole numbers alone.

Law. The discrete Gaussian of parameter s = m / 2^q, m and q whole, 1 <= s <= 2^62, gives y the probability
exp(-y^2 / (2 s^2)) / (sum of that over all whole y). Every y >= 0 is in one way y / s = j + f, j whole, f = b / m in
[0, 1), b = 2^q y - j m. One draw:

    1. j with probability proportional to exp(-j^2 / 2): count successes of Bernoulli(exp(-1/2)) up to the first
       failure, and keep the count j if j (j - 1) more of them are successes; else count again.
    2. y = ceil(j s) + i, i uniform in [0, ceil(s)). Start again unless b < m, that is unless y < (j + 1) s.
    3. Start again with probability 1 - exp(-j f - f^2 / 2): j trials of Bernoulli(exp(-f)), one of exp(-f^2 / 2).
    4. A random sign; start again for a zero with a minus.

Proof. Step 1 gives j the weight exp(-j / 2) exp(-j (j - 1) / 2) = exp(-j^2 / 2), step 2 each y with floor(y / s) = j
the same 1 / ceil(s), and no other y survives it; with step 3 the weight of y is exp(-j^2 / 2 - j f - f^2 / 2) =
exp(-(j + f)^2 / 2) = exp(-y^2 / (2 s^2)), and step 4 halves that for y and -y, and for 0 once. To start again from the
beginning whenever something fails leaves the law proportional to these weights. No probability is rounded anywhere.

Bernoulli(exp(-x)) for x in [0, 1]: the first k >= 1 at which a trial of probability x / k fails is odd with probability
exp(-x), since it is above k with probability x^k / k!. Trials: for x = 1/2, a uniform number below 2 k is 0; for x = f,
one below k is 0 and one below m is less than b; for x = f^2 / 2, one below 2 k is 0 and two below m are less than b.

Uniform below n: as many bits as n - 1 has, and again as many if they are n or more.

Room. All numbers are whole and below 2^63. Where (j + 1) m is more than 2^62 the answer is 2^62, which stands for "no
room", as an error: probability below 2 exp(-j^2 / 2) for the smallest such j. Else y < (j + 1) s + 1, so that 2^q y <
(j + 1) m + 2^q <= 2^62 + 2^53: q > 0 only where s is no whole number, and then m < 2^53 (it is a float's significand)
and 2^q <= m, since s >= 1.

Bits. A draw takes bits one after the other, each once, from the low end of each word to its high end. If they end
within a draw, that draw is not counted, and the bits that it took belong to the one that is made when there are more:
dropping them would favour short draws.

Time. How many bits a draw takes depends on what it gives (on j, mostly): larger numbers take longer.

Reference: Karney 2016, arXiv:1303.6257 (steps 1 to 3, and the discrete Gaussian of rational s); Canonne, Kamath &
Steinke 2020, arXiv:2004.00010 (Bernoulli(exp(-x)) of rational x, after von Neumann).
"""

import numpy as np

from reticent.data import Integers, Words
from reticent.kernels.compile import inlined, kernel

NO_ROOM = 1 << 62
ENDED = -1  # the bits have


@inlined
def below(words: Words, at: Integers, n: int, bits: int) -> int:
    """Uniform in [0, n), n <= 2^bits, or ENDED; `at` moves past the bits that it took. bits: 1 to 62."""
    while at[0] + bits <= 64 * words.size:
        word, shift = at[0] >> 6, at[0] & 63
        drawn = words[word] >> np.uint64(shift)
        if shift + bits > 64:
            drawn |= words[word + 1] << np.uint64(64 - shift)
        at[0] += bits
        number = np.int64(drawn & np.uint64((1 << bits) - 1))
        if number < n:
            return int(number)
    return ENDED


@kernel
def one_in(words: Words, at: Integers, n: int) -> int:
    """1 with probability 1 / n, else 0; or ENDED."""
    if n == 1:
        return 1
    bits = 1
    while 1 << bits < n:
        bits += 1
    drawn = below(words, at, n, bits)
    return ENDED if drawn == ENDED else int(drawn == 0)


@kernel
def survives(words: Words, at: Integers, b: int, m: int, bits: int, power: int) -> int:
    """1 with probability exp(-x), x = 1/2, b / m or (b / m)^2 / 2 where power is 0, 1 or 2; else 0; or ENDED."""
    k = 1
    while True:
        going = one_in(words, at, k if power == 1 else 2 * k)
        for _ in range(power):
            if going == 1:
                drawn = below(words, at, m, bits)
                going = ENDED if drawn == ENDED else int(drawn < b)
        if going == ENDED:
            return ENDED
        if going == 0:
            return k & 1
        k += 1


@kernel
def level(words: Words, at: Integers) -> int:
    """Step 1: j; or ENDED."""
    while True:
        j, passed = 0, survives(words, at, 0, 1, 0, 0)
        while passed == 1:
            j += 1
            passed = survives(words, at, 0, 1, 0, 0)
        if passed == ENDED:
            return ENDED
        kept = 1
        for _ in range(j * (j - 1)):
            if kept == 1:
                kept = survives(words, at, 0, 1, 0, 0)
        if kept == ENDED:
            return ENDED
        if kept == 1:
            return j


@kernel
def one_gaussian(words: Words, at: Integers, m: int, q: int, bits: int, span: int, span_bits: int) -> int:
    """A draw with s = m / 2^q and span = ceil(s), or NO_ROOM; ENDED is told by `at` beyond the words. bits, span_bits:
    of m - 1 and span - 1, and at least 1."""
    while True:
        j = level(words, at)
        if j == ENDED:
            break
        if j >= NO_ROOM // m:
            return NO_ROOM
        i = below(words, at, span, span_bits)
        if i == ENDED:
            break
        y = -((-j * m) >> q) + i
        b = (y << q) - j * m
        if b >= m:
            continue
        kept = survives(words, at, b, m, bits, 2)
        for _ in range(j):
            if kept == 1:
                kept = survives(words, at, b, m, bits, 1)
        if kept == 1:
            minus = one_in(words, at, 2)
            if minus == ENDED:
                break
            if minus == 0 or y > 0:
                return -y if minus == 1 else y
        elif kept == ENDED:
            break
    at[0] = 64 * words.size + 1
    return 0


@kernel
def one_laplace(words: Words, at: Integers, scale: int, bits: int) -> int:
    """A draw with a probability proportional to exp(-|y| / scale), or NO_ROOM; ENDED is told by `at` beyond the words.

    y = i + scale j, i uniform below scale and kept with probability exp(-i / scale), j the successes of
    Bernoulli(exp(-1)), each two of Bernoulli(exp(-1/2)), up to the first failure: weight exp(-y / scale). A random
    sign; start again for a zero with a minus (Canonne, Kamath & Steinke 2020, Algorithm 2). bits: of scale - 1."""
    while True:
        i = below(words, at, scale, bits)
        if i == ENDED:
            break
        kept = survives(words, at, i, scale, bits, 1)
        if kept == 0:
            continue
        j, passed = 0, kept
        while passed == 1:
            passed = survives(words, at, 0, 1, 0, 0)
            if passed == 1:
                passed = survives(words, at, 0, 1, 0, 0)
            j += passed == 1
        if passed == ENDED:
            break
        if j >= NO_ROOM // scale - 1:
            return NO_ROOM
        y = i + scale * j
        minus = one_in(words, at, 2)
        if minus == ENDED:
            break
        if minus == 0 or y > 0:
            return -y if minus == 1 else y
    at[0] = 64 * words.size + 1
    return 0


@kernel
def laplaces(words: Words, start: int, scale: int, bits: int, out: Integers) -> tuple[int, int]:
    """As `gaussians`."""
    at = np.array([start])
    for done in range(out.size):
        before = at[0]
        drawn = one_laplace(words, at, scale, bits)
        if at[0] > 64 * words.size:
            return done, before
        out[done] = drawn
    return out.size, at[0]


@kernel
def gaussians(
    words: Words, start: int, m: int, q: int, bits: int, span: int, span_bits: int, out: Integers
) -> tuple[int, int]:
    """Fill `out` with independent draws as far as the bits go, from bit `start` on. Returns how many there are, and
    the first bit that none of them took. Changes out."""
    at = np.array([start])
    for done in range(out.size):
        before = at[0]
        drawn = one_gaussian(words, at, m, q, bits, span, span_bits)
        if at[0] > 64 * words.size:
            return done, before
        out[done] = drawn
    return out.size, at[0]
