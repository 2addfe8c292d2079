"""Whole numbers modulo P = 2^64 - 2^32 + 1 (Field64 of the draft), and polynomials by their values at roots of unity.

A polynomial of degree below n is kept as its values at 1, w, w^2, .., w^(n-1), where w is the n-th root of unity that
`roots` names. Work does not depend on values but for single subtractions that a compiler may turn into branches: this
is not constant-time code."""

from typing import NamedTuple

import numpy as np

from reticent.data import Words
from reticent.kernels.compile import kernel

P = 0xFFFF_FFFF_0000_0001
GENERATOR = pow(7, 0xFFFF_FFFF, P)  # of order 2^32
_P, _LOW, _32 = np.uint64(P), np.uint64(0xFFFF_FFFF), np.uint64(32)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Roots(NamedTuple):
    """Of order n and 2 n, by which polynomials of degree below n are computed with."""

    powers: Words  # (n,): w^i
    twice: Words  # (2 n,): v^i, v^2 = w
    inverse: np.uint64  # 1 / n
    inverse_twice: np.uint64  # 1 / (2 n)


def roots(n: int) -> Roots:
    """n: a power of two."""
    twice = np.array([pow(GENERATOR, (1 << 32) // (2 * n) * i, P) for i in range(2 * n)], np.uint64)
    return Roots(twice[::2].copy(), twice, np.uint64(pow(n, -1, P)), np.uint64(pow(2 * n, -1, P)))


@kernel
def add(a: np.uint64, b: np.uint64) -> np.uint64:
    s = a + b
    if s < a:  # 2^64 = 2^32 - 1
        s += _LOW
    return s - _P if s >= _P else s


@kernel
def subtract(a: np.uint64, b: np.uint64) -> np.uint64:
    return a - b if a >= b else a + (_P - b)


@kernel
def multiply(a: np.uint64, b: np.uint64) -> np.uint64:
    """By halves: a b = low + 2^64 (h + 2^32 g), and 2^64 = 2^32 - 1, 2^96 = -1."""
    a0, a1, b0, b1 = a & _LOW, a >> _32, b & _LOW, b >> _32
    least = a0 * b0
    middle = a0 * b1 + (least >> _32)
    other = a1 * b0 + (middle & _LOW)
    high = a1 * b1 + (middle >> _32) + (other >> _32)
    low = (other << _32) | (least & _LOW)
    g, h = high >> _32, high & _LOW
    r = low - g
    if low < g:
        r -= _LOW
    s = r + h * _LOW
    if s < r:
        s += _LOW
    return s - _P if s >= _P else s


@kernel
def power(a: np.uint64, exponent: int) -> np.uint64:
    out, square = _ONE, a
    while exponent > 0:
        if exponent & 1:
            out = multiply(out, square)
        square = multiply(square, square)
        exponent >>= 1
    return out


@kernel
def add_to(out: Words, other: Words) -> None:
    for i in range(out.size):
        out[i] = add(out[i], other[i])


@kernel
def take_from(out: Words, other: Words) -> None:
    for i in range(out.size):
        out[i] = subtract(out[i], other[i])


@kernel
def transform(values: Words, powers: Words, step: int, forwards: bool) -> None:
    """In place: from coefficients to values at powers of powers[step], whose order is the number of values, or, without
    the factor 1/n, back."""
    n = values.size
    j = 0
    for i in range(1, n):  # the order of reversed bits
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            values[i], values[j] = values[j], values[i]
    length = 2
    while length <= n:
        half, stride = length >> 1, n // length * step
        for start in range(0, n, length):
            for i in range(half):
                at = i * stride
                root = powers[at if forwards or at == 0 else powers.size - at]
                u, v = values[start + i], multiply(root, values[start + i + half])
                values[start + i] = add(u, v)
                values[start + i + half] = subtract(u, v)
        length <<= 1


@kernel
def doubled(values: Words, of: Roots, out: Words) -> None:
    """out <- the values at twice as many roots of the polynomial that has these values."""
    n = values.size
    odd = values.copy()
    transform(odd, of.twice, 2, False)
    for i in range(n):
        odd[i] = multiply(odd[i], multiply(of.inverse, of.twice[i]))
    transform(odd, of.twice, 2, True)
    for i in range(n):
        out[2 * i] = values[i]
        out[2 * i + 1] = odd[i]


@kernel
def weights_at(point: np.uint64, powers: Words, inverse: np.uint64) -> Words:
    """w with P(point) = sum of w_i P(root_i), for polynomials of degree below n: root_i (point^n - 1) / (n (point -
    root_i)). All zero where the point is a root: nothing may be asked there."""
    n = powers.size
    out = np.zeros(n, np.uint64)
    vanishing = subtract(power(point, n), _ONE)
    if vanishing == _ZERO:
        return out
    before = np.empty(n, np.uint64)  # products of differences: one inversion for all
    product = _ONE
    for i in range(n):
        before[i] = product
        product = multiply(product, subtract(point, powers[i]))
    rest = multiply(inverse_of(product), multiply(vanishing, inverse))
    for i in range(n - 1, -1, -1):
        out[i] = multiply(powers[i], multiply(rest, before[i]))
        rest = multiply(rest, subtract(point, powers[i]))
    return out


@kernel
def inverse_of(a: np.uint64) -> np.uint64:
    """1 / a = a^(P - 2); all of the 64 bits of P - 2 but bit 32 are ones."""
    out, square = _ONE, a
    for bit in range(64):
        if bit != 32:
            out = multiply(out, square)
        square = multiply(square, square)
    return out


@kernel
def dot(a: Words, b: Words) -> np.uint64:
    out = _ZERO
    for i in range(a.size):
        out = add(out, multiply(a[i], b[i]))
    return out
