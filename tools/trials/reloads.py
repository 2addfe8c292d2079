"""The world in which people react to groups before: half of those whom the holdout gets reload the page at once. What
they had counts as nothing, and the next number is theirs, which says yes more often than others. Number by number."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from reticent.data import Array, Booleans

RELOAD, USUAL, KEEN = 0.5, 0.2, 0.9


class Numbers(NamedTuple):
    """For each number (rows) and run: whether it is the holdout's, its reward, and what is true of it: its expected
    reward with the bandit less that with the holdout, given all before it."""

    holdout: Booleans
    reward: Booleans
    truth: Array


def play(rng: Generator, people: int, runs: int, block: int, *, coins: bool) -> Numbers:
    shape = people, runs
    holdout = np.zeros(shape, bool)
    if coins:
        holdout[:] = rng.random(shape, dtype=np.float32) < 1 / block
    else:
        places = rng.integers(0, block, (people // block, runs)) + block * np.arange(people // block)[:, None]
        holdout[places, np.arange(runs)] = True
    reloads = holdout & (rng.random(shape, dtype=np.float32) < RELOAD)
    keen = np.zeros(shape, bool)
    keen[1:] = reloads[:-1]
    chance = np.where(keen, np.float32(KEEN), np.float32(USUAL))
    reward = (rng.random(shape, dtype=np.float32) < chance) & ~reloads
    return Numbers(holdout, reward, np.asarray(chance * RELOAD, np.float64))
