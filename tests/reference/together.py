"""The worst that one person can move, by trying all placements: slow, and as mechanisms.together says it."""

import itertools

import numpy as np


def week_of(leaf, apart):
    """Weeks of exactly `apart` leaves: those closest to each other."""
    return leaf // apart


def placements(leaves, weeks, apart):
    """All ways to be in one leaf of each of at most `weeks` weeks."""
    groups = itertools.groupby(range(leaves), lambda leaf: week_of(leaf, apart))
    choices = [[None, *group] for _, group in groups]
    for chosen in itertools.product(*choices):
        if 0 < sum(leaf is not None for leaf in chosen) <= weeks:
            yield chosen


def largest_sum(C, weeks, apart):
    """max |sum of columns| over all placements: what a person attains who is as different as can be in all of them."""
    found = (placed for placed in placements(len(C), weeks, apart))
    return max(np.linalg.norm(C[:, [s for s in placed if s is not None]].sum(axis=1)) for placed in found)


def turns(leaves, most, apart):
    """All ways to be in at most so many leaves that are at least `apart` from each other, in nobody's too."""
    yield ()
    for count in range(1, most + 1):
        for chosen in itertools.combinations(range(leaves), count):
            if all(b - a >= apart for a, b in itertools.pairwise(chosen)):
                yield chosen


def largest_difference(C, most, apart):
    """max |C x - C x'|, D = 1, over all turns of either world: by people who contribute e and -e, of length 1/2, or e
    and f, of length 1 / sqrt 2 and orthogonal, or something and nothing."""
    sums = [C[:, list(chosen)].sum(axis=1) for chosen in turns(len(C), most, apart)]
    opposite = max(np.linalg.norm(a + b) / 2 for a in sums for b in sums)
    return max(opposite, max(map(np.linalg.norm, sums)))  # the squares of orthogonal ones add up: less than the last
