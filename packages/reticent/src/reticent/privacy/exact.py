"""Exact discrete Gaussians, and Laplaces, from the operating system's entropy."""

from collections.abc import Callable

import numpy as np

from reticent.data import Integers, Words
from reticent.errors import NotSecure
from reticent.kernels import exact
from reticent.kernels.exact import gaussians, laplaces
from reticent.privacy import randomness

NO_ROOM = exact.NO_ROOM  # noise is smaller, so that with a sum of at most 62 bits it has room in 64
MOST_WORDS = 1 << 15  # read at a time: a quarter of a megabyte


def draw(count: int, cells: float, stir: Callable[[int], Words] | None = None) -> Integers:
    """So many independent discrete Gaussians of parameter `cells`, a float, taken as the rational that it is. A number
    that has no room is NO_ROOM. Words are wiped once they are used; bits that are left over are never used.
    stir: gives so many more words, which the kernel's are added to bit by bit: uniform if either of both are."""
    if not 1 <= cells <= NO_ROOM:
        raise NotSecure(f"Expected a scale of noise in [1, 2^62] cells of its grid, got {cells!r}.")
    m, power = float(cells).as_integer_ratio()  # power = 2^q
    span = -(-m // power)
    bits, span_bits = (max(1, (n - 1).bit_length()) for n in (m, span))
    each = 1 + (24 + 3 * bits + span_bits) // 64  # words that a number takes, on average, or some more

    def fill(words: Words, start: int, out: Integers) -> tuple[int, int]:
        return gaussians(words, start, m, power.bit_length() - 1, bits, span, span_bits, out)

    return _drawn(count, each, fill, stir)


def laplace(count: int, scale: int) -> Integers:
    """So many independent draws with a probability proportional to exp(-|k| / scale), as `draw`."""
    if not 1 <= scale <= NO_ROOM >> 8:
        raise NotSecure(f"Expected a scale of noise in [1, 2^54] cells of its grid, got {scale!r}.")
    bits = max(1, (scale - 1).bit_length())

    def fill(words: Words, start: int, out: Integers) -> tuple[int, int]:
        return laplaces(words, start, scale, bits, out)

    return _drawn(count, 1 + (24 + 3 * bits) // 64, fill)


def _drawn(
    count: int,
    each: int,
    fill: Callable[[Words, int, Integers], tuple[int, int]],
    stir: Callable[[int], Words] | None = None,
) -> Integers:
    """By a kernel that fills what it is given as far as the words go, some `each` a number."""
    out = np.empty(count, np.int64)
    done, left, start = 0, np.zeros(0, np.uint64), 0
    while done < count:
        words = np.empty(left.size + min(MOST_WORDS, each * (count - done) + 16), np.uint64)
        words[: left.size] = left
        randomness.fill(words[left.size :])
        if stir is not None:
            words[left.size :] ^= stir(words.size - left.size)
        left[:] = 0
        more, end = fill(words, start, out[done:])
        done, start, left = done + more, end & 63, words[end >> 6 :].copy()
        words[:] = 0
    left[:] = 0
    return out
