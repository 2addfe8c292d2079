"""The discrete Gaussian of kernels.exact with fractions and a stream of bits: slow, and as its docstring says it."""

import math
from fractions import Fraction


class Bits:
    """Of words, from the low end of each to its high end; StopIteration at the end."""

    def __init__(self, words):
        self._bits = (int(word) >> place & 1 for word in words for place in range(64))
        self.taken = 0

    def below(self, n):
        """Uniform in [0, n)."""
        bits = max(1, (n - 1).bit_length())
        while True:
            number = sum(next(self._bits) << place for place in range(bits))
            self.taken += bits
            if number < n:
                return number

    def chance(self, p):
        """Bernoulli(p), p a fraction."""
        return p == 1 or self.below(p.denominator) < p.numerator


def survives(bits, *factors):
    """Bernoulli(exp(-x)), x the product of the factors: each trial of probability x / k asks for 1 / k first."""
    first, *rest = factors
    k = 1
    while bits.chance(first / k) and all(bits.below(m) < b for b, m in rest):
        k += 1
    return k % 2 == 1


def draw(bits, scale):
    half = Fraction(1, 2)
    m, span = scale.numerator, math.ceil(scale)
    while True:
        j = 0
        while survives(bits, half):
            j += 1
        if not all(survives(bits, half) for _ in range(j * (j - 1))):
            continue
        y = math.ceil(j * scale) + bits.below(span)
        f = y / scale - j
        if f >= 1:
            continue
        f = int(f * m), m
        if not survives(bits, half, f, f) or not all(survives(bits, Fraction(1), f) for _ in range(j)):
            continue
        minus = bits.below(2) == 0
        if y or not minus:
            return -y if minus else y
