"""The wires of a circuit's gadgets, the polynomials that a proof consists of, and what is asked of them."""

import numpy as np

from reticent.data import Words
from reticent.kernels.compile import kernel
from reticent_two.vdaf.field_kernel import Roots, add, dot, doubled, multiply, subtract, weights_at

_ZERO, _ONE = np.uint64(0), np.uint64(1)


@kernel
def decoded(bits: Words, each: int, last: np.uint64) -> Words:
    """Numbers from `each` elements of them: weights are powers of two, and `last`."""
    out = np.empty(bits.size // each, np.uint64)
    for i in range(out.size):
        total, weight = _ZERO, _ONE
        for j in range(each - 1):
            total = add(total, multiply(weight, bits[i * each + j]))
            weight = add(weight, weight)
        out[i] = add(total, multiply(last, bits[(i + 1) * each - 1]))
    return out


@kernel
def range_wires(share: Words, joint: Words, one: np.uint64, chunk: int, seeds: Words, size: int) -> Words:
    """(2 chunk, size): wires 2 j and 2 j + 1 carry r^(j+1) x and x - 1, whose product is 0 if x is a bit; r is another
    random element in each call. Missing elements are 0."""
    out = np.zeros((seeds.size, size), np.uint64)
    out[:, 0] = seeds
    for call in range(joint.size):
        r = joint[call]
        for j in range(chunk):
            at = call * chunk + j
            x = share[at] if at < share.size else _ZERO
            out[2 * j, call + 1] = multiply(r, x)
            out[2 * j + 1, call + 1] = subtract(x, one)
            r = multiply(r, joint[call])
    return out


@kernel
def square_wires(numbers: Words, middle: np.uint64, seeds: Words, size: int) -> Words:
    """(chunk, size): the numbers, less `middle` each. Missing ones are 0."""
    chunk = seeds.size
    out = np.zeros((chunk, size), np.uint64)
    out[:, 0] = seeds
    for at in range(numbers.size):
        out[at % chunk, at // chunk + 1] = subtract(numbers[at], middle)
    return out


@kernel
def gadget_polynomial(wires: Words, squares: bool, of: Roots) -> Words:
    """Values at twice as many roots, but the last one, which follows from them: the degree is below their number."""
    n = wires.shape[1]
    out, left, right = np.zeros(2 * n, np.uint64), np.empty(2 * n, np.uint64), np.empty(2 * n, np.uint64)
    step = 1 if squares else 2
    for j in range(0, wires.shape[0], step):
        doubled(wires[j], of, left)
        if not squares:
            doubled(wires[j + 1], of, right)
        for i in range(2 * n):
            out[i] = add(out[i], multiply(left[i], left[i] if squares else right[i]))
    return out[: 2 * n - 1]


@kernel
def results(polynomial: Words, calls: int) -> np.uint64:
    """The sum of the gadget's results in all calls."""
    out = _ZERO
    for call in range(1, calls + 1):
        out = add(out, polynomial[2 * call])
    return out


@kernel
def asked(wires: Words, polynomial: Words, point: np.uint64, of: Roots) -> Words:
    """The values at a point of all wires' polynomials, then that of the gadget's. All 0 where the point is a root of
    unity, where values would tell what the wires carry."""
    n = wires.shape[1]
    out = np.zeros(wires.shape[0] + 1, np.uint64)
    weights = weights_at(point, of.powers, of.inverse)
    for j in range(wires.shape[0]):
        out[j] = dot(weights, wires[j])
    weights = weights_at(point, of.twice, of.inverse_twice)
    last = _ZERO  # sum of y_i v^i over all 2 n is 0: the coefficient of the degree 2 n - 1
    for i in range(2 * n - 1):
        last = add(last, multiply(polynomial[i], of.twice[i]))
    last = subtract(_ZERO, multiply(last, of.twice[1]))
    out[-1] = add(dot(weights[: 2 * n - 1], polynomial), multiply(weights[2 * n - 1], last))
    return out


@kernel
def agrees(answers: Words, squares: bool) -> bool:
    """Whether the gadget, applied to the values of the wires, has the value of its polynomial."""
    total = _ZERO
    if squares:
        for j in range(answers.size - 1):
            total = add(total, multiply(answers[j], answers[j]))
    else:
        for j in range(0, answers.size - 1, 2):
            total = add(total, multiply(answers[j], answers[j + 1]))
    return bool(total == answers[-1])
