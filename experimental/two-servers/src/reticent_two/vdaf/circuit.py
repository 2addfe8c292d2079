"""What a report may be: whole numbers of a public range and, for our own circuit, of bounded length.

`Bounded` is the circuit SumVec of the draft, and with `longest` our extension of it: the sum of squares is sent as bits
as well, and a second gadget computes it anew. All that an aggregator evaluates is linear in its share of the report but
for products, which the proof has for it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reticent import checks
from reticent.data import Words
from reticent_two.vdaf.circuit_kernel import decoded, range_wires, square_wires
from reticent_two.vdaf.field_kernel import P, Roots, roots, take_from

SUM_VEC_MULTIPROOF, BOUNDED = 0xFFFF_FFFF, 0xFFFF_7461  # codes: the draft's, and ours from its private range


@dataclass(frozen=True)
class Gadget:
    """Sums of products of pairs of wires, or of squares of wires, `calls` times."""

    arity: int
    calls: int
    squares: bool

    @property
    def values(self) -> int:
        """Of a wire's polynomial: a power of two with room for a seed and all calls."""
        return 1 << self.calls.bit_length()

    @cached_property
    def roots(self) -> Roots:
        return roots(self.values)

    @property
    def size(self) -> int:
        """Elements of a proof of it: seeds, and the values of a polynomial of twice the degree but the last."""
        return self.arity + 2 * self.values - 1


@dataclass(frozen=True, kw_only=True)
class Bounded:
    """`size` whole numbers from -`centre` to `top` - `centre`, with a sum of squares of at most `longest` where that is
    given. chunk, square_chunk: how many elements a gadget takes at once, by default so many that the proof is as
    short as can be."""

    size: int
    top: int
    centre: int = 0
    longest: int | None = None
    chunk: int = 0
    square_chunk: int = 0

    def __post_init__(self) -> None:
        checks.positive_int(size=self.size, top=self.top)
        if not 0 <= self.centre <= self.top:
            raise ValueError(f"Expected centre from 0 to {self.top}, got {self.centre}.")
        largest = max(self.centre, self.top - self.centre)
        if 1 << self.top.bit_length() >= P or self.size * largest**2 >= P:
            raise ValueError("Expected numbers whose squares add up to less than the field's size, got larger ones.")
        if self.longest is not None:
            checks.positive_int(longest=self.longest)
            if self.longest >= P >> 1:
                raise ValueError("Expected longest below half of the field's size, got more.")
        if not self.chunk:
            object.__setattr__(self, "chunk", _shortest(self.length, squares=False))
        if not self.square_chunk:
            object.__setattr__(self, "square_chunk", _shortest(self.size, squares=True))

    @property
    def code(self) -> int:
        return SUM_VEC_MULTIPROOF if self.longest is None else BOUNDED

    @property
    def bits(self) -> int:
        """Of each number."""
        return self.top.bit_length()

    @property
    def length(self) -> int:
        """Elements of an encoded report: bits of its numbers and of its sum of squares."""
        return self.size * self.bits + (0 if self.longest is None else self.longest.bit_length())

    @cached_property
    def gadgets(self) -> tuple[Gadget, ...]:
        ranges = _gadget(self.length, self.chunk, squares=False)
        return (ranges,) if self.longest is None else (ranges, _gadget(self.size, self.square_chunk, squares=True))

    @property
    def joint(self) -> int:
        """Elements of joint randomness: one for each call of the first gadget."""
        return self.gadgets[0].calls

    @property
    def seeds(self) -> int:
        """Elements of randomness of a proof."""
        return sum(gadget.arity for gadget in self.gadgets)

    @property
    def outputs(self) -> int:
        """Numbers that are 0 for an honest report."""
        return len(self.gadgets)

    @property
    def queries(self) -> int:
        """Elements of randomness of a query: what outputs are weighed by, where there are two, and a point each."""
        return len(self.gadgets) + (self.outputs if self.outputs > 1 else 0)

    @property
    def proof(self) -> int:
        return sum(gadget.size for gadget in self.gadgets)

    @property
    def verifier(self) -> int:
        return 1 + sum(gadget.arity + 1 for gadget in self.gadgets)

    @property
    def soundness(self) -> float:
        """Bits: one proof of a report outside of the circuit holds with a chance of at most 2^-bits. A wrong element
        makes the sum of its call's products a polynomial of degree `chunk` in that call's randomness; two wrong outputs
        cancel in one of P weights; a gadget's polynomial that is not that of its wires differs at all but 2 (n - 1)
        points, and roots are no points."""
        wrong = self.chunk + (self.outputs > 1) + sum(2 * (gadget.values - 1) for gadget in self.gadgets)
        return -math.log2(wrong / (P - max(gadget.values for gadget in self.gadgets)))

    def encoded(self, numbers: Sequence[int]) -> Words:
        """ValueError, which names no number, for what the proof would not hold for."""
        if len(numbers) != self.size or not all(0 <= x + self.centre <= self.top for x in numbers):
            raise ValueError(f"Expected {self.size} numbers within the bounds of the circuit, got others.")
        out = [bit for x in numbers for bit in _bits(x + self.centre, self.top)]
        if self.longest is not None:
            squares = sum(x * x for x in numbers)
            if squares > self.longest:
                raise ValueError("Expected numbers of bounded length, got longer ones.")
            out += _bits(squares, self.longest)
        return np.array(out, np.uint64)

    def truncated(self, share: Words) -> Words:
        """A share of the numbers, `centre` more each, from a share of the encoded report."""
        return decoded(share[: self.size * self.bits], self.bits, _weight(self.top))

    def wires(self, share: Words, joint: Words, shares: int, seeds: Words) -> list[Words]:
        """For each gadget what goes into it in each call, after a seed for each wire."""
        one = np.uint64(pow(shares, -1, P))  # a share of 1
        first, *rest = self.gadgets
        out = [range_wires(share, joint, one, self.chunk, seeds[: first.arity], first.values)]
        for gadget in rest:
            middle = np.uint64(pow(shares, -1, P) * self.centre % P)
            out.append(square_wires(self.truncated(share), middle, seeds[first.arity :], gadget.values))
        return out

    def outputs_of(self, share: Words, sums: Words) -> Words:
        """Shares of what is 0 for an honest report, from the sums of each gadget's results."""
        out = sums.copy()
        if self.longest is not None:
            claimed = share[self.size * self.bits :]
            take_from(out[1:], decoded(claimed, claimed.size, _weight(self.longest)))
        return out


def _gadget(elements: int, chunk: int, *, squares: bool) -> Gadget:
    return Gadget(chunk if squares else 2 * chunk, -(-elements // chunk), squares)


def _shortest(elements: int, *, squares: bool) -> int:
    """The chunk with the shortest proof."""
    return min(range(1, elements + 1), key=lambda chunk: _gadget(elements, chunk, squares=squares).size)


def _weight(top: int) -> np.uint64:
    """Of the last bit: all of them are powers of two but this one, so that all bits add up to `top`."""
    return np.uint64(top - ((1 << (top.bit_length() - 1)) - 1))


def _bits(value: int, top: int) -> list[int]:
    """value = sum of bits times weights. There is no branch by the value."""
    last = top.bit_length() - 1
    high = int(value > (1 << last) - 1)
    rest = value - high * int(_weight(top))
    return [rest >> bit & 1 for bit in range(last)] + [high]
