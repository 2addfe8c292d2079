"""The worst that one person can move, by trying all placements: slow, and as mechanisms.together says it."""

import itertools

import numpy as np


def week_of(leaf, spacing):
    """Weeks of exactly `spacing` leaves: those closest to each other."""
    return leaf // spacing


def placements(leaves, weeks, spacing):
    """All ways to be in one leaf of each of at most `weeks` weeks."""
    choices = [[None, *group] for _, group in itertools.groupby(range(leaves), lambda leaf: week_of(leaf, spacing))]
    for chosen in itertools.product(*choices):
        if 0 < sum(leaf is not None for leaf in chosen) <= weeks:
            yield chosen


def largest_sum(C, weeks, spacing):
    """max |sum of columns| over all placements: what a person attains who is as different as can be in all of them."""
    found = (placed for placed in placements(len(C), weeks, spacing))
    return max(np.linalg.norm(C[:, [s for s in placed if s is not None]].sum(axis=1)) for placed in found)
