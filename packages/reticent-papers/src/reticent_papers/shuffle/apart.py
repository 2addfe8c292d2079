"""What a user contributes to a batch of several rounds: a weighted x x' once, and gradients along x; and how far apart
two users are in all of them together."""

import functools
import math

CLASSES = 128  # of pairs of users, by the angle between their arms


@functools.cache
def apart() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """(of matrices, of gradients): how far apart two users are at most, for each class of pairs.

    With unit vectors X, Y along their arms and c = |<X, Y>|, users contribute w X X' and w~ Y Y', 0 <= w, w~ <= 1 (in
    units of the largest weight; the arms' lengths are in w), and in each later round a X and b Y, |a|, |b| <= 1. Then
        |w X X' - w~ Y Y'|^2 = w^2 + w~^2 - 2 w w~ c^2 <= max(1, 2 (1 - c^2)), being convex in w and in w~,
        |a X - b Y|^2 <= 2 + 2 c,
    and a user without an arm or a reward contributes zeros, which is less. Class k holds the pairs with
    k / CLASSES <= c <= (k + 1) / CLASSES: matrices are farthest apart at its lower end, gradients at its upper one.
    No two users are farthest apart in both: sqrt 2 is at c = 0, and 2 at c = 1."""
    ends = [k / CLASSES for k in range(CLASSES + 1)]
    matrices = tuple(math.sqrt(max(1.0, 2 * (1 - c * c))) for c in ends[:-1])
    return matrices, tuple(math.sqrt(2 + 2 * c) for c in ends[1:])
